"""Read EventBridge's events about executions: status changes from Step Functions, and progress from workflows."""

from typing import Any, Final, TypeGuard

from stepwire.aws.workflows.step_functions import execution_of, state_of
from stepwire.background.execution_events import ExecutionProgress, ExecutionStatusChange
from stepwire.errors import StepwireError
from stepwire.json_text import LARGEST_INTEGER, Json, as_object
from stepwire.tasks.task import Execution, Progress

PROGRESS: Final = "Stepwire Task Progress"
STATUS_CHANGE: Final = "Step Functions Execution Status Change"


class ForeignEvent(StepwireError):
    """The event is not of a type that the stack's rules match."""


class MalformedProgress(StepwireError):
    """A progress event is not valid; the message says what is wrong."""


def execution_event_of(event: dict[str, Any]) -> ExecutionStatusChange | ExecutionProgress:
    """Return the execution's status change, or its progress.

    Raises:
        ForeignEvent: the event is of another type.
        MalformedProgress: the event is about progress, but not valid.
    """
    if event.get("detail-type") == PROGRESS:
        return _progress_of(event)
    if event.get("detail-type") != STATUS_CHANGE:
        raise ForeignEvent
    # An output too large for the event is omitted (`outputDetails.included` is false).
    detail = event["detail"]
    return ExecutionStatusChange(Execution(detail["stateMachineArn"], detail["name"]), state_of(detail))


def _progress_of(event: dict[str, Any]) -> ExecutionProgress:
    """Return the progress of {"progress": 40, "total"?: 100, "message"?: "...", "execution_arn"?: "..."}.

    The execution is the one that put the event, whose ARN Step Functions adds to the event's resources, or the one that
    the detail names, for a workflow that reports on behalf of another.
    """
    detail = as_object(event["detail"])
    done, total, message = detail.get("progress"), detail.get("total"), detail.get("message")
    if not (_is_amount(done) and (total is None or _is_amount(total))):
        raise MalformedProgress("progress must be a number from 0 to 2^53 - 1, and so must total if present")
    if message is not None and not (isinstance(message, str) and _is_whole(message)):
        raise MalformedProgress("message must be a string without lone surrogates")
    named = detail.get("execution_arn") or next((arn for arn in event["resources"] if ":execution:" in arn), None)
    if not isinstance(named, str):
        raise MalformedProgress("the event names no execution")
    return ExecutionProgress(execution_of(named), Progress(done, total), message)


def _is_whole(text: str) -> bool:
    """Tell whether a text can be stored: JSON may contain lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _is_amount(value: Json) -> TypeGuard[int | float]:
    # At most what every JSON reader holds exactly: the number is sent to clients in event ids.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LARGEST_INTEGER
