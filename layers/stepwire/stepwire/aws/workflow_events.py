"""What workflows tell the background functions: ends, progress, questions; and which execution has started another.

Status changes come from Step Functions and progress from workflows, by EventBridge; questions, by invocation. The rule:
an execution's input may say anything, so what it says of its starter counts only if the starter's own history says the
same.
"""

import re
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from msgspec import Struct

from stepwire.aws.step_functions import execution_arn_of, execution_of, state_of, unless_missing
from stepwire.background.execution_events import ExecutionProgress, ExecutionStatusChange
from stepwire.background.input_requests import Question
from stepwire.errors import StarterUnproven, StepwireError
from stepwire.json_text import LARGEST_INTEGER, Json, JsonTextError, as_object, parse
from stepwire.tasks.task import Execution, Progress

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

PROGRESS: Final = "Stepwire Task Progress"
STATUS_CHANGE: Final = "Step Functions Execution Status Change"
STARTER: Final = "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID"
"""Member of an execution's input with the ARN of its starter: what AWS asks workflows to pass on."""
_EXECUTION: Final = re.compile(r"arn:[a-z-]+:states:[a-z0-9-]+:\d{12}:execution:[^:/]+:[^:/]+")
_ANY_EXECUTION: Final = re.compile(r"arn:[a-z-]+:states:[a-z0-9-]+:\d{12}:execution:[^:]+:[^:]+")
_ACCOUNT_PARTS: Final = 5  # of an ARN, up to its account
_PAGE: Final = 100  # events
_MOST_PAGES: Final = 5
# Nobody asks in the task of an execution that cannot be read: it is as if it were not there.
_NO_STARTER: Final = frozenset(
    {
        "AccessDeniedException",
        "ExecutionDoesNotExist",
        "InvalidArn",
        "KmsAccessDeniedException",
        "KmsInvalidStateException",
        "ValidationException",
    }
)


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


def question_of(event: dict[str, Any]) -> Question:
    """Return the question that a state asks.

    {"execution_arn": "...", "task_token": "...", "key": "amount", "elicitation": {...}, "timeout_seconds"?: 86400,
     "state_entered"?: "2026-...", "audience"?: {...}}

    Instead of `elicitation`: `sampling` with the params of `sampling/createMessage`, or `roots` with an empty object.

    Raises:
        KeyError: the token or the execution is missing, so the state cannot be answered.
    """
    return Question(
        execution=execution_of(str(event["execution_arn"])),
        token=str(event["task_token"]),
        key=event.get("key"),
        elicitation=event.get("elicitation"),
        timeout_seconds=event.get("timeout_seconds"),
        sampling=event.get("sampling"),
        roots=event.get("roots"),
        state_entered=event.get("state_entered"),
        audience=event.get("audience"),
    )


class NestedExecutions(Struct, frozen=True, dict=True):
    """`Starters` on Step Functions. The client is built on the first call."""

    build_client: "Callable[[], SFNClient]"

    @cached_property
    def _client(self) -> "SFNClient":
        return self.build_client()

    def starter_of(self, execution: Execution) -> Execution | None:
        arn = execution_arn_of(execution)
        if not _ANY_EXECUTION.fullmatch(arn):
            return None
        described = unless_missing(lambda: self._client.describe_execution(executionArn=arn), _NO_STARTER)
        starter = None if described is None else _member(described.get("input"), STARTER)
        if starter is None or not _EXECUTION.fullmatch(starter):
            return None
        if starter.split(":")[:_ACCOUNT_PARTS] != arn.split(":")[:_ACCOUNT_PARTS]:
            return None
        if not self._has_started(starter, arn):
            raise StarterUnproven
        return execution_of(starter)

    def _has_started(self, starter: str, arn: str) -> bool:
        """Tell whether the newest events of a history contain the start of an execution."""
        asked: dict[str, Any] = {"executionArn": starter, "reverseOrder": True, "maxResults": _PAGE}
        for _ in range(_MOST_PAGES):
            page = unless_missing(lambda: self._client.get_execution_history(**asked), _NO_STARTER)
            if page is None:
                return False
            if any(_started_in(event) == arn for event in page["events"]):
                return True
            if "nextToken" not in page:
                return False
            asked["nextToken"] = page["nextToken"]
        return False


def _started_in(event: Any) -> str | None:
    """Return the ARN of the execution that an event says was started."""
    details = event.get("taskSubmittedEventDetails", {})
    return _member(details.get("output"), "ExecutionArn") if details.get("resourceType") == "states" else None


def _member(text: str | None, name: str) -> str | None:
    try:
        value = as_object(parse(text or "{}")).get(name)
    except JsonTextError:
        return None
    return value if isinstance(value, str) else None
