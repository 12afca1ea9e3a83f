"""Patches of state machines of type EXPRESS, and of what an execution knows of itself."""

import time
import uuid
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ReadTimeoutError
from moto.core.exceptions import AWSError
from moto.core.responses import ActionResult
from moto.stepfunctions import responses
from moto.stepfunctions.parser import models as running
from moto.stepfunctions.parser.asl.component.state import state
from moto.stepfunctions.parser.asl.eval.evaluation_details import ExecutionDetails
from moto.stepfunctions.parser.backend import execution as backend
from moto.stepfunctions.parser.backend import execution_worker

from stepwire_local.account.moto_patches.executions import lock, output_of
from stepwire_local.account.status_events import started_by

_Replace = Callable[[object, str, object], None]

_LONGEST = 300.0  # seconds that AWS lets such an execution run
_LOOK = 0.005  # seconds
_patience: ContextVar[float] = ContextVar("patience", default=_LONGEST)


class _WrongType(AWSError):
    """The state machine is not of type EXPRESS."""


def to_one_host(params: dict[str, Any], context: Mapping[str, Any], **_: object) -> None:
    """Send a call to the host of all others, and note how long its client waits; for botocore's event before-call."""
    params["url"] = params["url"].replace("//sync-states.", "//states.", 1)
    _patience.set(float(context["client_config"].read_timeout))


def express_executions_are_their_own(replace: _Replace) -> None:
    """Patch: Give executions of EXPRESS state machines ARNs of their own, under which nothing finds them.

    Defect: They are described, stopped and started once per name, like those of STANDARD ones.
    """
    original: Any = running.StepFunctionsParserBackend.start_execution
    original_start: Any = backend.Execution.start

    def start_execution(self: Any, state_machine_arn: str, *arguments: Any, **named: Any) -> Any:
        execution = original(self, state_machine_arn, *arguments, **named)
        if ":express:" in execution.execution_arn:
            for one in self.state_machines:
                one.executions = [kept for kept in one.executions if kept is not execution]
        return execution

    def start(self: Any) -> None:
        if self.state_machine.type == "EXPRESS":
            self.execution_arn = f"{self.execution_arn.replace(':execution:', ':express:', 1)}:{uuid.uuid4()}"
        original_start(self)

    replace(backend.Execution, "start", start)
    replace(running.StepFunctionsParserBackend, "start_execution", start_execution)


def the_context_tells_of_the_execution(replace: _Replace) -> None:
    """Patch: Give the ARN of the execution, times as text of ISO 8601 in UTC, and how often it was tried again.

    Defect: `$$.Execution.StartTime` is no text, so that what reads it fails, `$$.State.EnteredTime` has no Z,
    `$$.Execution.Id` of an EXPRESS state machine lacks the last part of its ARN, and there are no
    `$$.Execution.RedriveCount` and, but in tasks, no `$$.State.RetryCount`.
    """

    def get_start_execution_details(self: Any) -> Any:
        return ExecutionDetails(
            arn=self.execution_arn,
            name=self.name,
            role_arn=self.role_arn,
            inpt=self.input_data,
            start_time=_written(self.start_date),
        )

    def of_execution(**known: Any) -> dict[str, Any]:
        return {**known, "RedriveCount": 0}

    def of_state(**known: Any) -> dict[str, Any]:
        return {**known, "EnteredTime": _written(datetime.fromisoformat(known["EnteredTime"])), "RetryCount": 0}

    replace(backend.Execution, "get_start_execution_details", get_start_execution_details)
    replace(execution_worker, "ExecutionData", of_execution)
    replace(state, "StateData", of_state)


def _written(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def express_executions_can_be_waited_for(replace: _Replace) -> None:
    """Patch: Serve StartSyncExecution, for as long as the client waits.

    Defect: It is not implemented.
    """

    def start_sync_execution(self: Any) -> ActionResult:
        arn: str = self._get_param("stateMachineArn")
        described = self.stepfunction_backend.describe_state_machine(":".join(arn.split(":")[:7]))
        if described.type != "EXPRESS":
            raise _WrongType("This operation is not supported by this type of state machine", _CODE, 400)
        name, text = self._get_param("name") or str(uuid.uuid4()), self._get_param("input", if_none="{}")
        execution = self.stepfunction_backend.start_execution(arn, name, text)
        _wait_for(execution)
        return ActionResult(_described(execution))

    replace(responses.StepFunctionResponse, "start_sync_execution", start_sync_execution)


_CODE = "StateMachineTypeNotSupported"


def _wait_for(execution: Any) -> None:
    until = time.monotonic() + min(_patience.get(), _LONGEST)
    while not _has_ended(execution):
        if time.monotonic() > until:
            raise ReadTimeoutError(endpoint_url="https://sync-states")  # the execution goes on, as in AWS
        time.sleep(_LOOK)


def _has_ended(execution: Any) -> bool:
    with lock:  # moto sets the status before it sets the output
        return execution.status != "RUNNING"


def _described(execution: Any) -> dict[str, Any]:
    described: dict[str, Any] = {
        "executionArn": execution.execution_arn,
        "stateMachineArn": started_by(execution)["stateMachineVersionArn"] or execution.state_machine_arn,
        "name": execution.name,
        "startDate": execution.start_date,
        "stopDate": execution.stop_date,
        "status": execution.status,
        "input": execution.execution_input,
        "inputDetails": {"included": True},
        "billingDetails": {"billedMemoryUsedInMB": 64, "billedDurationInMilliseconds": 100},
    }
    if execution.status == "SUCCEEDED":
        return described | {"output": output_of(execution), "outputDetails": {"included": True}}
    endings = {"error": execution.error, "cause": execution.cause}
    return described | {name: value for name, value in endings.items() if value is not None}


PATCHES = (express_executions_are_their_own, the_context_tells_of_the_execution, express_executions_can_be_waited_for)
