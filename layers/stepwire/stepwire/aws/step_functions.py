"""The workflows on Step Functions (Standard): start, follow, answer, stop.

Starting is idempotent by name and input, so a start that may have been lost is simply made again. A refusal counts as
one only if it came to the first try: after a retry, an earlier try may have been heard.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError, ConnectionError, HTTPClientError  # noqa: A004 - botocore's, not Python's

from stepwire.aws.throttling import THROTTLED
from stepwire.errors import (
    StartRefused,
    StartRefusedForNow,
    StartThrottled,
    StartUnclear,
    StopThrottled,
    WorkflowsThrottled,
    WorkflowsUnavailable,
)
from stepwire.tasks.outcomes import Aborted, Broke, ExecutionState, Missing, Running, Succeeded, TimedOut
from stepwire.tasks.task import Execution

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

# Reasons fit for a caller; an operator finds the rest in CloudTrail.
_REASONS: Final = {
    "StateMachineDoesNotExist": "its state machine does not exist any more",
    "StateMachineDeleting": "its state machine is being deleted",
    "InvalidExecutionInput": "Step Functions does not take the arguments as input",
    "ExecutionLimitExceeded": "too many workflows are running; try again later",
    "ThrottlingException": "too many workflows are being started; try again in a few seconds",
    "AccessDeniedException": "this server may not start its state machine",
}

# The newest events of an execution that may name a state: one page of the smallest cost.
_NEWEST_EVENTS: Final = 25
# Of executions that run: 100,000, and 15 MB.
_MOST_PAGES: Final = 100
_LAST_EVENTS: Final = frozenset({"ExecutionSucceeded", "ExecutionFailed", "ExecutionAborted", "ExecutionTimedOut"})
_WAITS_NO_MORE: Final = frozenset({"TaskTimedOut", "TaskDoesNotExist", "InvalidToken"})
_PASSING: Final = THROTTLED | {"ExecutionLimitExceeded"}


@dataclass(frozen=True)
class StepFunctionsWorkflows:
    """State machines on Step Functions. The client is built when the first call needs it."""

    build_client: "Callable[[], SFNClient]"

    @cached_property
    def _client(self) -> "SFNClient":
        return self.build_client()

    def start(self, execution: Execution, input_text: str, trace_header: str | None = None) -> None:
        """Begin an execution."""
        trace: dict[str, Any] = {} if trace_header is None else {"traceHeader": trace_header}
        try:
            self._client.start_execution(
                stateMachineArn=execution.state_machine_arn, name=execution.name, input=input_text, **trace
            )
        except ClientError as error:
            if _code(error) != "ExecutionAlreadyExists":
                raise _start_error(error) from error
        except (ConnectionError, HTTPClientError) as error:
            raise StartUnclear from error
        except BotoCoreError as error:  # nothing was sent
            raise StartRefused("this server is not set up to call Step Functions") from error

    def describe(self, execution: Execution) -> ExecutionState:
        """Tell how an execution stands."""
        try:
            response = self._client.describe_execution(executionArn=execution_arn_of(execution))
        except ClientError as error:
            if _code(error) == "ExecutionDoesNotExist":
                return Missing()
            raise _unavailable(error) from error
        except BotoCoreError as error:
            raise WorkflowsUnavailable from error
        return state_of(response)

    def current_state(self, execution: Execution) -> str | None:
        """Name the state that an execution entered last, if that is among its newest events."""
        try:
            history = self._client.get_execution_history(
                executionArn=execution_arn_of(execution),
                reverseOrder=True,
                maxResults=_NEWEST_EVENTS,
                includeExecutionData=False,
            )
        except ClientError as error:
            if _code(error) == "ExecutionDoesNotExist":
                return None
            raise _unavailable(error) from error
        except BotoCoreError as error:
            raise WorkflowsUnavailable from error
        return _state_in(history["events"])

    def list_running(self, state_machine_arn: str) -> frozenset[str]:
        """Name the executions that run, a thousand a call."""
        names = set[str]()
        asked: dict[str, Any] = {"stateMachineArn": state_machine_arn, "statusFilter": "RUNNING", "maxResults": 1000}
        try:
            for _ in range(_MOST_PAGES):
                page = self._client.list_executions(**asked)
                names.update(one["name"] for one in page["executions"])
                if "nextToken" not in page:
                    break
                asked["nextToken"] = page["nextToken"]
        except ClientError as error:
            raise _unavailable(error) from error
        except BotoCoreError as error:
            raise WorkflowsUnavailable from error
        return frozenset(names)

    def resume(self, token: str, output: str) -> None:
        """Give a state its answer."""
        with _waiting_state():
            self._client.send_task_success(taskToken=token, output=output)

    def break_off(self, token: str, error: str, cause: str) -> None:
        """Let a state fail."""
        with _waiting_state():
            self._client.send_task_failure(taskToken=token, error=error, cause=cause)

    def stop(self, execution: Execution, cause: str) -> bool:
        """End an execution, and tell whether there is one."""
        try:
            self._client.stop_execution(
                executionArn=execution_arn_of(execution), error="Stepwire.Cancelled", cause=cause
            )
        except ClientError as error:
            if _code(error) in THROTTLED:
                raise StopThrottled from error
            if _code(error) != "ExecutionDoesNotExist":
                raise
            return False
        return True


@contextmanager
def _waiting_state() -> Generator[None]:
    """Answer a state; that it waits no more is no error, and everything else may pass."""
    try:
        yield
    except ClientError as error:
        if _code(error) not in _WAITS_NO_MORE:
            raise _unavailable(error) from error
    except BotoCoreError as error:
        raise WorkflowsUnavailable from error


def _state_in(events: Any) -> str | None:
    """Find the state that was entered last in events, the newest first."""
    if events and events[0]["type"] in _LAST_EVENTS:
        return None
    entered = (event["stateEnteredEventDetails"] for event in events if "stateEnteredEventDetails" in event)
    return next((details["name"] for details in entered), None)


def execution_arn_of(execution: Execution) -> str:
    """Write the ARN of an execution: its state machine's, with another kind and the name behind."""
    return f"{execution.state_machine_arn.replace(':stateMachine:', ':execution:', 1)}:{execution.name}"


def execution_of(execution_arn: str) -> Execution:
    """Read the ARN of an execution, as Step Functions writes it."""
    state_machine_arn, _, name = execution_arn.rpartition(":")
    return Execution(state_machine_arn.replace(":execution:", ":stateMachine:", 1), name)


def state_of(report: Any) -> ExecutionState:
    """Read what DescribeExecution, or the detail of a status event, says; both use the same names."""
    match report["status"]:
        case "SUCCEEDED":
            return Succeeded(_whole(report.get("output")))
        case "FAILED":
            return Broke(_whole(report.get("error")) or "", _whole(report.get("cause")) or "")
        case "TIMED_OUT":
            return TimedOut()
        case "ABORTED":
            return Aborted()
        case _:  # RUNNING, PENDING_REDRIVE
            return Running()


def _whole(text: str | None) -> str | None:
    """Put a ? for half a character: JSON may bring it, and neither DynamoDB nor a client could be told of it."""
    return text and text.encode(errors="replace").decode()


def _start_error(error: ClientError) -> StartRefused | StartUnclear:
    metadata = error.response.get("ResponseMetadata")
    heard_once = metadata is not None and metadata.get("RetryAttempts", 0) == 0 and metadata["HTTPStatusCode"] < 500  # noqa: PLR2004 - HTTP's own
    if not heard_once:
        return StartThrottled() if _code(error) in THROTTLED else StartUnclear()
    refused = StartRefusedForNow if _code(error) in _PASSING else StartRefused
    return refused(_REASONS.get(_code(error), f"Step Functions refused it ({_code(error)})"))


def _unavailable(error: ClientError) -> WorkflowsUnavailable:
    return WorkflowsThrottled() if _code(error) in THROTTLED else WorkflowsUnavailable()


def _code(error: ClientError) -> str:
    return error.response.get("Error", {}).get("Code", "unknown")
