"""The events of EventBridge, to what the kit understands: how executions stand, and what they say of their progress."""

from typing import Any, Final, TypeGuard

from stepwire.aws.step_functions import execution_of, state_of
from stepwire.errors import StepwireError
from stepwire.execution_events import ProgressMade, StatusChange
from stepwire.json_text import LARGEST_INTEGER, Json, as_object
from stepwire.tasks.task import Execution, Progress

PROGRESS: Final = "Stepwire Task Progress"
STATUS_CHANGE: Final = "Step Functions Execution Status Change"


class ForeignEvent(StepwireError):
    """An event is none of those that our rules send."""


class MalformedProgress(StepwireError):
    """A workflow reports its progress in a way that nobody understands; the message says what is wrong."""


def news_of(event: dict[str, Any]) -> StatusChange | ProgressMade:
    """Read an event.

    Raises:
        ForeignEvent: it is about something else.
        MalformedProgress: it is about progress, and not as it must be.
    """
    if event.get("detail-type") == PROGRESS:
        return _progress_of(event)
    if event.get("detail-type") != STATUS_CHANGE:
        raise ForeignEvent
    # An output that is too large for the event is left out (`outputDetails.included` is false).
    detail = event["detail"]
    return StatusChange(Execution(detail["stateMachineArn"], detail["name"]), state_of(detail))


def _progress_of(event: dict[str, Any]) -> ProgressMade:
    """Read {"progress": 40, "total"?: 100, "message"?: "...", "execution_arn"?: "..."}.

    The execution is the one that put the event, whose ARN Step Functions adds to the event's resources; or the one that
    the detail names, for workflows that work for another.
    """
    detail = as_object(event["detail"])
    done, total, message = detail.get("progress"), detail.get("total"), detail.get("message")
    if not (_is_amount(done) and (total is None or _is_amount(total))):
        raise MalformedProgress("progress must be a number from 0 to 2^53 - 1, and so must total where it is given")
    if message is not None and not (isinstance(message, str) and _is_whole(message)):
        raise MalformedProgress("message must be a text")
    named = detail.get("execution_arn") or next((arn for arn in event["resources"] if ":execution:" in arn), None)
    if not isinstance(named, str):
        raise MalformedProgress("the event names no execution")
    return ProgressMade(execution_of(named), Progress(done, total), message)


def _is_whole(text: str) -> bool:
    """Tell whether a text can be kept: JSON may bring half a character."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _is_amount(value: Json) -> TypeGuard[int | float]:
    # No more than what every JSON reader holds exactly: it travels in event ids.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LARGEST_INTEGER
