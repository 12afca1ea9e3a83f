"""The tasks of the endpoint that this stack has seen, and the executions behind them."""

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from stepwire.tasks.ids import task_id_of
from stepwire_local.account import tasks as machines
from stepwire_local.console.visits import Course, course_of
from stepwire_local.streams.task_changes import TaskChange

MOST: Final = 1_000
MOST_EVENTS: Final = 5_000  # of a history
_PAGE: Final = 1_000


class Tasks:
    """The last tasks, from the changes of their table. Thread-safe."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kept: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._turn = threading.Lock()

    def changed(self, change: TaskChange) -> None:
        """Note a change of a task's status."""
        task_id = task_id_of(change.task_id)
        if task_id is None:
            return
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        known = self._kept.get(task_id, {})
        with self._turn:
            self._kept[task_id] = {
                "taskId": task_id,
                "caller": change.owner,
                "tool": change.tool or known.get("tool", ""),
                "status": change.status,
                "createdAt": known.get("createdAt", at),
                "lastUpdatedAt": at,
            }
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def newest_first(self) -> Sequence[Mapping[str, Any]]:
        """Return them by when each was first seen. Its id would not do: that of a confirmed call has a later time."""
        with self._turn:
            return list(reversed(self._kept.values()))


@dataclass(frozen=True)
class Execution:
    """An execution of a task."""

    arn: str
    name: str
    machine: str
    definition: str
    """JSON text."""
    status: str
    started: str
    stopped: str
    error: str
    cause: str


def executions_of(task_id: str, arns: Iterable[str]) -> Sequence[Execution]:
    """Return the executions of a task among those of some state machines: its attempts, oldest first."""
    found = [
        execution
        for arn in arns
        if (machine := machines.found(arn)) is not None
        for execution in list(machine.executions)
        if task_id in str(execution.name)
    ]
    return [execution_of(one) for one in sorted(found, key=lambda one: (one.start_date, str(one.name)))]


def execution_of(execution: Any) -> Execution:
    """Return an execution of the simulated Step Functions."""
    return Execution(
        arn=str(execution.execution_arn),
        name=str(execution.name),
        machine=machines.names_of_target(str(execution.state_machine.arn))[0],
        definition=str(execution.state_machine.definition),
        status=str(execution.status),
        started=_time(execution.start_date),
        stopped=_time(execution.stop_date) if execution.status != "RUNNING" else "",
        error=str(execution.error or ""),
        cause=str(execution.cause or ""),
    )


def _time(at: Any) -> str:
    return at.isoformat(timespec="milliseconds") if isinstance(at, datetime) else ""


def course_in(client: Any, execution: Execution) -> Course:
    """Return what happened in an execution so far; of a long history, its first `MOST_EVENTS` events."""
    events, token = list[Any](), None
    while len(events) < MOST_EVENTS:
        more = {"nextToken": token} if token else {}
        page = client.get_execution_history(executionArn=execution.arn, maxResults=_PAGE, **more)
        events += page["events"]
        token = page.get("nextToken")
        if token is None:
            break
    start = str(json.loads(execution.definition).get("StartAt", ""))
    return course_of(events, start=start, ended=execution.stopped)
