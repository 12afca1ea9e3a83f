"""The workflows on Step Functions (Standard): start, describe, stop.

Starting is idempotent by name and input, so a start that may have been lost is simply made again. A refusal counts as
one only if it came to the first try: after a retry, an earlier try may have been heard.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError, ConnectionError, HTTPClientError  # noqa: A004 - botocore's, not Python's

from stepwire.errors import StartRefused, StartRefusedForNow, StartUnclear, WorkflowsUnavailable
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

_PASSING: Final = frozenset({"ExecutionLimitExceeded", "ThrottlingException"})


@dataclass(frozen=True)
class StepFunctionsWorkflows:
    """State machines on Step Functions. The client is built when the first call needs it."""

    build_client: "Callable[[], SFNClient]"

    @cached_property
    def _client(self) -> "SFNClient":
        return self.build_client()

    def start(self, execution: Execution, input_text: str) -> None:
        """Begin an execution."""
        try:
            self._client.start_execution(
                stateMachineArn=execution.state_machine_arn, name=execution.name, input=input_text
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
            raise WorkflowsUnavailable from error
        except BotoCoreError as error:
            raise WorkflowsUnavailable from error
        return state_of(response)

    def stop(self, execution: Execution, cause: str) -> None:
        """End an execution."""
        try:
            self._client.stop_execution(
                executionArn=execution_arn_of(execution), error="Stepwire.Cancelled", cause=cause
            )
        except ClientError as error:
            if _code(error) != "ExecutionDoesNotExist":
                raise


def execution_arn_of(execution: Execution) -> str:
    """Write the ARN of an execution: its state machine's, with another kind and the name behind."""
    return f"{execution.state_machine_arn.replace(':stateMachine:', ':execution:', 1)}:{execution.name}"


def state_of(report: Any) -> ExecutionState:
    """Read what DescribeExecution, or the detail of a status event, says; both use the same names."""
    match report["status"]:
        case "SUCCEEDED":
            return Succeeded(report.get("output"))
        case "FAILED":
            return Broke(report.get("error") or "", report.get("cause") or "")
        case "TIMED_OUT":
            return TimedOut()
        case "ABORTED":
            return Aborted()
        case _:  # RUNNING, PENDING_REDRIVE
            return Running()


def _start_error(error: ClientError) -> StartRefused | StartUnclear:
    metadata = error.response.get("ResponseMetadata")
    heard_once = metadata is not None and metadata.get("RetryAttempts", 0) == 0 and metadata["HTTPStatusCode"] < 500  # noqa: PLR2004 - HTTP's own
    if not heard_once:
        return StartUnclear()
    refused = StartRefusedForNow if _code(error) in _PASSING else StartRefused
    return refused(_REASONS.get(_code(error), f"Step Functions refused it ({_code(error)})"))


def _code(error: ClientError) -> str:
    return error.response.get("Error", {}).get("Code", "unknown")
