"""The "Step Functions Execution Status Change" events of EventBridge: their shape and their delivery.

AWS delivers them at least once, late and in any order. Here each arrives once and without delay, unless the stack's
policy says otherwise. A policy maps an event to its delivery delays in seconds: `()` loses the event, `(0, 1)` delivers
it twice, and different delays for different statuses reorder them.
"""

import heapq
import itertools
import json
import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from moto.events.models import events_backends
from moto.stepfunctions.parser.asl.utils.encoding import to_json_str

from stepwire_local.activity import Activity, tell
from stepwire_local.stubs.owners import name_of

logger = logging.getLogger(__name__)

_DETAIL_TYPE = "Step Functions Execution Status Change"
ENDS = ("SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")
# Bytes that an event has for input and output, both as JSON strings inside JSON.
_ROOM = 248 * 1024


@dataclass(frozen=True)
class StatusEvent:
    """A change of an execution's status, as its event describes it."""

    state_machine_arn: str
    execution_arn: str
    status: str
    detail: dict[str, Any]


EventPolicy = Callable[[StatusEvent], Iterable[float]]


# Policies that ignore their argument also serve for other delays: see `local.streams.expiry`.
def at_once(event: object) -> Iterable[float]:  # noqa: ARG001
    """Deliver once, without delay."""
    return (0.0,)


def never(event: object) -> Iterable[float]:  # noqa: ARG001
    """Lose every event."""
    return ()


def twice(event: object) -> Iterable[float]:  # noqa: ARG001
    """Deliver every event twice."""
    return (0.0, 0.05)


def after(seconds: float) -> Callable[[object], Iterable[float]]:
    """Return a policy that delivers every event after so many seconds."""
    return lambda _: (seconds,)


@dataclass(order=True, frozen=True)
class _Parcel:
    due: float
    number: int
    event: StatusEvent = field(compare=False)
    account: str = field(compare=False)
    region: str = field(compare=False)


class Courier:
    """Delivers the events to EventBridge in its own thread, so that no caller waits for a rule's targets."""

    def __init__(self) -> None:
        self._policies: dict[str, Callable[[], EventPolicy]] = {}
        self._parcels: list[_Parcel] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_delivering = False

    def has_delivered(self) -> bool:
        """Return whether EventBridge has got every event that is due."""
        with self._changed:
            return not self._is_delivering and not self._is_due()

    def follow(self, state_machine_arn: str, policy: Callable[[], EventPolicy]) -> None:
        """Set the function that returns the policy for a state machine; it is called for each event."""
        self._policies[state_machine_arn] = policy

    def forget(self, state_machine_arns: Iterable[str]) -> None:
        """Drop the pending events of these state machines: their stack is stopping."""
        gone = set(state_machine_arns)
        with self._changed:
            for arn in gone:
                self._policies.pop(arn, None)
            self._parcels = [parcel for parcel in self._parcels if parcel.event.state_machine_arn not in gone]
            heapq.heapify(self._parcels)

    def report(self, execution: Any) -> None:
        """Send the event for an execution's current status; Express executions have none."""
        tell(_activity(execution))
        if getattr(execution.state_machine, "type", "STANDARD") != "STANDARD":
            return
        event = status_event(execution)
        policy = self._policies.get(event.state_machine_arn, lambda: at_once)()
        now = time.monotonic()
        with self._changed:
            for delay in policy(event):
                parcel = _Parcel(now + delay, next(self._numbers), event, execution.account_id, execution.region_name)
                heapq.heappush(self._parcels, parcel)
            self._start()
            self._changed.notify()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="status-events", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            parcel = self._next()
            try:
                _put(parcel)
            except Exception:
                logger.exception("A status event of %s could not be delivered.", parcel.event.execution_arn)
            self._is_delivering = False

    def _next(self) -> _Parcel:
        with self._changed:
            while not self._is_due():
                self._changed.wait(self._parcels[0].due - time.monotonic() if self._parcels else None)
            self._is_delivering = True
            return heapq.heappop(self._parcels)

    def _is_due(self) -> bool:
        return bool(self._parcels) and self._parcels[0].due <= time.monotonic()


def status_event(execution: Any) -> StatusEvent:
    """Describe the present status of one of moto's executions."""
    status: str = execution.status
    written = execution.execution_input
    output = to_json_str(execution.output, separators=(",", ":")) if status == "SUCCEEDED" else None
    # Like AWS, leave out the input first; leave out the output only if it alone is too long.
    room_for_output = _length(output) <= _ROOM
    room_for_input = _length(written) + (_length(output) if room_for_output else 0) <= _ROOM
    detail: dict[str, Any] = {
        "executionArn": execution.exec_arn,
        "stateMachineArn": execution.state_machine.arn,
        **started_by(execution),
        "name": execution.name,
        "status": status,
        "startDate": _milliseconds(execution.start_date),
        "stopDate": _milliseconds(execution.stop_date) if status != "RUNNING" else None,
        "input": written if room_for_input else None,
        "inputDetails": {"included": room_for_input},
        "output": output if room_for_output else None,
        "outputDetails": {"included": room_for_output} if output is not None else None,
        "error": execution.error,
        "cause": execution.cause,
        **_redrive(status),
    }
    if _has_key(execution.state_machine):
        detail |= dict.fromkeys(("input", "output", "error", "cause"))
        detail |= {name: {"included": False} for name in ("inputDetails", "outputDetails") if detail[name]}
    return StatusEvent(execution.state_machine.arn, execution.exec_arn, status, detail)


def _activity(execution: Any) -> Activity:
    why = f" {execution.error or ''}: {execution.cause or ''}".rstrip(" :") if execution.status == "FAILED" else ""
    return Activity("execution", name_of(execution.state_machine.arn), execution.status, f"{execution.name}{why}")


def _has_key(machine: Any) -> bool:
    """Tell whether a key of its owner encrypts a state machine: its events have no data then."""
    configuration: dict[str, Any] = machine.encryptionConfiguration or {}
    return configuration.get("type") == "CUSTOMER_MANAGED_KMS_KEY"


class StartedBy(NamedTuple):
    """The ARNs with which an execution was started; a patch of moto notes them on the state machine."""

    version: str | None = None
    alias: str | None = None


def started_by(execution: Any) -> dict[str, str | None]:
    """Return the version and the alias of an execution, as events and descriptions write them."""
    found: StartedBy = getattr(execution.state_machine, "started_by", StartedBy())
    return {"stateMachineVersionArn": found.version, "stateMachineAliasArn": found.alias}


def _length(text: str | None) -> int:
    return 0 if text is None else len(json.dumps(text, ensure_ascii=False).encode())


def _milliseconds(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1000)


def _redrive(status: str) -> dict[str, Any]:
    possible = status in ("FAILED", "TIMED_OUT", "ABORTED")
    return {
        "redriveCount": 0,
        "redriveDate": None,
        "redriveStatus": "REDRIVABLE" if possible else "NOT_REDRIVABLE",
        "redriveStatusReason": None if possible else f"Execution is {status} and cannot be redriven",
    }


def unreported(state_machine_arn: str, execution: str) -> list[str]:
    """Return the ends of an execution with this name that no rule of its account and Region takes to a target."""
    region, account = state_machine_arn.split(":")[3:5]
    try:
        rules: list[Any] = list(events_backends[account][region].event_buses["default"].rules.values())
    except KeyError:
        return list(ENDS)
    detail = {"stateMachineArn": state_machine_arn, "name": execution}
    event = {"source": "aws.states", "detail-type": _DETAIL_TYPE, "account": account, "region": region}
    served = [rule for rule in rules if rule.state == "ENABLED" and rule.targets]
    return [
        end
        for end in ENDS
        if not any(rule.event_pattern.matches_event({**event, "detail": {**detail, "status": end}}) for rule in served)
    ]


def _put(parcel: _Parcel) -> None:
    entry = {
        "Source": "aws.states",
        "DetailType": _DETAIL_TYPE,
        "Resources": [parcel.event.execution_arn],
        "Detail": json.dumps(parcel.event.detail),
    }
    events_backends[parcel.account][parcel.region].put_events([entry])


courier = Courier()
