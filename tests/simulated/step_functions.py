"""Step Functions' HTTP API, with workflows that a test controls.

The engine of the local stack runs each execution in its own threads, so no two runs of a test would be the same.
`tests/contracts/test_workflows.py` holds this simulation, that engine and the fake to one contract.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, cast

from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from stepwire.engine.ports import Clock
from tests.simulated.wire import answered

RUNNING: Final = "RUNNING"
LISTED_AT_ONCE: Final = 3
Json = dict[str, Any]


class Refused(Exception):
    """The call gets the error with this name."""


@dataclass
class Execution:
    """One execution."""

    input: str
    changed_at: datetime
    status: str = RUNNING
    end: Json = field(default_factory=dict[str, Any])
    """The output, or the error and the cause."""
    before: Json | None = None
    """What DescribeExecution returned before the latest change; None: it was not there."""
    tokens: list[str] = field(default_factory=list[str])
    """The tokens of its redrives."""

    @property
    def described(self) -> Json:
        """What DescribeExecution returns."""
        return {"status": self.status, **self.end, "redriveCount": len(self.tokens)}


@dataclass
class Waiting:
    """A state that waits, or has waited, for an answer."""

    arn: str
    until: datetime | None
    waits: bool = True
    answers: list[Json] = field(default_factory=list[Json])
    """The answers that were sent to it, while it waited and afterwards."""


@dataclass
class StepFunctions:
    """The executions of an account, by ARN, and the waiting states, by token."""

    clock: Clock
    executions: dict[str, Execution] = field(default_factory=dict[str, Execution])
    states: dict[str, Waiting] = field(default_factory=dict[str, Waiting])
    refusal: str | None = None
    """The error of the next start."""
    refused: set[str] = field(default_factory=set[str])
    """The executions whose start was refused."""
    ended: list[str] = field(default_factory=list[str])
    """The executions whose status change was not delivered yet."""
    is_old: bool = False
    """Whether all executions are too old to be redriven."""
    lags: bool = False
    """Whether DescribeExecution returns the status before the latest change."""

    def answer(self, operation: str, request: AWSPreparedRequest) -> AWSResponse:
        """Answer a call to the API."""
        body: Json = json.loads(cast(Any, request.body))
        try:
            return answered(request, 200, self._operations[operation](body))
        except Refused as error:
            return answered(request, 400, {"__type": str(error), "message": "a test's Step Functions refuses"})

    @property
    def _operations(self) -> dict[str, Callable[[Json], Json]]:
        return {
            "StartExecution": self._start,
            "DescribeExecution": self._describe,
            "RedriveExecution": self._redrive,
            "ListExecutions": self._list,
            "StopExecution": self._stop,
            "SendTaskHeartbeat": self._hear,
            "SendTaskSuccess": self._take,
            "SendTaskFailure": self._take,
        }

    def _start(self, body: Json) -> Json:
        arn = f"{body['stateMachineArn'].replace(':stateMachine:', ':execution:')}:{body['name']}"
        if self.refusal is not None:
            error, self.refusal = self.refusal, None
            self.refused.add(arn)
            raise Refused(error)
        known = self.executions.get(arn)
        if known is not None and (known.status != RUNNING or known.input != body["input"]):
            raise Refused("ExecutionAlreadyExists")
        if known is None:
            self.executions[arn] = Execution(body["input"], self.clock.now())
            self._begin(arn)
        return {"executionArn": arn, "startDate": 0}

    def _describe(self, body: Json) -> Json:
        known = self._known(body)
        is_new = self.lags and known.changed_at == self.clock.now()
        told = known.before if is_new else known.described
        if told is None:
            raise Refused("ExecutionDoesNotExist")
        return {"executionArn": body["executionArn"], "stateMachineArn": "", "startDate": 0, **told}

    def _redrive(self, body: Json) -> Json:
        known = self._known(body)
        if body["clientToken"] in known.tokens:
            return {"redriveDate": 0}
        if known.status in {RUNNING, "SUCCEEDED"} or self.is_old:
            raise Refused("ExecutionNotRedrivable")
        known.before, known.changed_at = known.described, self.clock.now()
        known.tokens.append(body["clientToken"])
        known.status, known.end = RUNNING, {}
        self._begin(body["executionArn"])
        return {"redriveDate": 0}

    def _list(self, body: Json) -> Json:
        """List the running executions, a few per page."""
        prefix = body["stateMachineArn"].replace(":stateMachine:", ":execution:") + ":"
        found = sorted(arn for arn in self.running() if arn.startswith(prefix))
        page = [arn for arn in found if arn > body.get("nextToken", "")][:LISTED_AT_ONCE]
        more = {"nextToken": page[-1]} if page and page[-1] != found[-1] else {}
        listed = [{"executionArn": arn, "name": arn.removeprefix(prefix), "status": RUNNING} for arn in page]
        return {
            "executions": [{**one, "stateMachineArn": body["stateMachineArn"], "startDate": 0} for one in listed],
            **more,
        }

    def _stop(self, body: Json) -> Json:
        if self._known(body).status == RUNNING:
            self.end(body["executionArn"], "ABORTED", {})
        return {"stopDate": 0}

    def _take(self, body: Json) -> Json:
        state = self.states.get(body.pop("taskToken"))
        if state is None:
            raise Refused("InvalidToken")
        state.answers.append(body)
        if not state.waits:
            raise Refused("TaskTimedOut")
        state.waits = False
        self._go_on(state, body)
        return {}

    def _hear(self, body: Json) -> Json:
        state = self.states.get(body["taskToken"])
        if state is None:
            raise Refused("InvalidToken")
        if not state.waits:
            raise Refused("TaskTimedOut")
        return {}

    def _begin(self, arn: str) -> None:
        """Do the first step of a new execution: nothing, by default."""

    def _go_on(self, state: Waiting, answer: Json) -> None:
        """Continue after an answer: nothing, by default."""

    def _known(self, body: Json) -> Execution:
        known = self.executions.get(body["executionArn"])
        if known is None:
            raise Refused("ExecutionDoesNotExist")
        return known

    # What a test makes happen.

    def running(self) -> list[str]:
        """List the running executions, the oldest first."""
        return [arn for arn, one in self.executions.items() if one.status == RUNNING]

    def end(self, arn: str, status: str, end: Json) -> None:
        """End an execution and all its waiting states."""
        known = self.executions[arn]
        known.before = known.described
        known.status, known.end, known.changed_at = status, end, self.clock.now()
        self.ended.append(arn)
        for state in self.states.values():
            state.waits = state.waits and state.arn != arn

    def redrive(self, arn: str) -> None:
        """Redrive an execution as an operator does in the console."""
        self._redrive({"executionArn": arn, "clientToken": f"console {len(self.executions[arn].tokens)}"})

    def time_out_states(self) -> None:
        """Time out the states whose time is over; their workflows catch that."""
        now = self.clock.now()
        for state in self.states.values():
            state.waits = state.waits and (state.until is None or state.until > now)


class OneStateThatWaits(StepFunctions):
    """Executions whose only state waits for an answer, and which end with that answer."""

    def _begin(self, arn: str) -> None:
        self.states[f"token of {arn}"] = Waiting(arn, None)

    def _go_on(self, state: Waiting, answer: Json) -> None:
        self.end(state.arn, "SUCCEEDED" if "output" in answer else "FAILED", answer)
