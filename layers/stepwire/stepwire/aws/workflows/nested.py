"""Which execution has started another one, by the word of Step Functions. Loaded with the first nested question.

The rule: an execution's input may say anything, so what it says of its starter counts only if the starter's own history
says the same.
"""

import re
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError
from msgspec import Struct

from stepwire.aws.throttling import THROTTLED
from stepwire.aws.workflows.step_functions import code_of, execution_arn_of, execution_of
from stepwire.errors import StarterUnproven, WorkflowsThrottled, WorkflowsUnavailable
from stepwire.json_text import JsonTextError, as_object, parse
from stepwire.tasks.task import Execution

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

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
        described = self._read(lambda: self._client.describe_execution(executionArn=arn))
        starter = None if described is None else _named_in(described.get("input"))
        if starter is None or starter.split(":")[:_ACCOUNT_PARTS] != arn.split(":")[:_ACCOUNT_PARTS]:
            return None
        if not self._has_started(starter, arn):
            raise StarterUnproven
        return execution_of(starter)

    def _has_started(self, starter: str, arn: str) -> bool:
        """Tell whether the newest events of a history contain the start of an execution."""
        asked: dict[str, Any] = {"executionArn": starter, "reverseOrder": True, "maxResults": _PAGE}
        for _ in range(_MOST_PAGES):
            page = self._read(lambda: self._client.get_execution_history(**asked))
            if page is None:
                return False
            if any(_started_in(event) == arn for event in page["events"]):
                return True
            if "nextToken" not in page:
                return False
            asked["nextToken"] = page["nextToken"]
        return False

    def _read(self, call: Callable[[], Any]) -> Any:
        """Return what Step Functions says; None where nobody may know it."""
        try:
            return call()
        except ClientError as error:
            if code_of(error) in _NO_STARTER:
                return None
            raise WorkflowsThrottled if code_of(error) in THROTTLED else WorkflowsUnavailable from error
        except BotoCoreError as error:
            raise WorkflowsUnavailable from error


def _named_in(input_text: str | None) -> str | None:
    named = _member(input_text, STARTER)
    return named if named is not None and _EXECUTION.fullmatch(named) else None


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
