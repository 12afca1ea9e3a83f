"""A change set: what CloudFormation would do to a stack, before it does anything.

The rule: nothing of the stack changes before its change set was shown and agreed to.
"""

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from stepwire_cli.account.calls import Calls
from stepwire_cli.account.errors import AccountError
from stepwire_cli.deployment.following import PAUSE, Sleep
from stepwire_cli.deployment.stack import Readiness, Stack

_CAPABILITIES: Final = ("CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND")
_READY: Final = "CREATE_COMPLETE"
_FAILED: Final = frozenset({"FAILED", "DELETE_COMPLETE", "DELETE_FAILED"})


class Action(StrEnum):
    """What becomes of a resource."""

    CREATED = "created"
    CHANGED = "changed"
    MAY_BE_REPLACED = "changed, perhaps replaced"
    REPLACED = "replaced"
    DELETED = "deleted"
    LEFT = "left behind"
    """It is no longer in the stack, and goes on to exist."""


@dataclass(frozen=True)
class Change:
    """What becomes of one resource."""

    action: Action
    name: str
    kind: str


@dataclass(frozen=True)
class ChangeSet:
    """A change set of a stack that CloudFormation has computed."""

    calls: Calls
    arn: str
    stack_id: str
    changes: tuple[Change, ...]

    def run(self) -> None:
        """Begin to change the stack."""
        self.calls.call("cloudformation", "ExecuteChangeSet", ChangeSetName=self.arn)

    def drop(self, stack: Stack) -> None:
        """Delete the change set, and the empty stack if it was made with it.

        Whatever these credentials may not delete stays, and changes nothing: the reason to drop it is what matters.
        """
        with suppress(AccountError):
            self.calls.call("cloudformation", "DeleteChangeSet", ChangeSetName=self.arn)
            if not stack.stack_id:  # else it is of somebody who reviews a change set, perhaps of an earlier run
                self.calls.call("cloudformation", "DeleteStack", StackName=self.stack_id)


def make(
    calls: Calls, stack: Stack, template_url: str, parameters: Mapping[str, str | None], sleep: Sleep
) -> ChangeSet:
    """Let CloudFormation compute what would change. A parameter of None keeps the value that the stack has.

    Raises:
        AccountError: CloudFormation refuses the template or the parameters.
    """
    created = calls.call(
        "cloudformation",
        "CreateChangeSet",
        StackName=stack.name,
        ChangeSetName=f"stepwire-{uuid.uuid4()}",
        ChangeSetType="CREATE" if stack.readiness is Readiness.ABSENT else "UPDATE",
        TemplateURL=template_url,
        Parameters=[_parameter(name, value) for name, value in parameters.items()],
        Capabilities=list(_CAPABILITIES),
    )
    made = ChangeSet(calls, created["Id"], created["StackId"], ())
    try:
        return replace(made, changes=_computed(made, stack, sleep))
    except BaseException:
        made.drop(stack)
        raise


def _computed(made: ChangeSet, stack: Stack, sleep: Sleep) -> tuple[Change, ...]:
    """Wait until CloudFormation has computed what would change.

    Raises:
        AccountError: it cannot make this change.
    """
    while True:
        pages = list(made.calls.pages("cloudformation", "DescribeChangeSet", "NextToken", ChangeSetName=made.arn))
        if pages[0]["Status"] == _READY:
            return tuple(_change(one["ResourceChange"]) for page in pages for one in page.get("Changes", ()))
        if pages[0]["Status"] in _FAILED:
            why = " ".join(str(pages[0].get("StatusReason", "no reason was given")).split())
            raise AccountError(f"{stack.name}: CloudFormation cannot make this change: {why}")
        sleep(PAUSE)


def counted(changes: Iterable[Change]) -> Counter[Action]:
    """Return how many resources share each fate."""
    return Counter(change.action for change in changes)


def _parameter(name: str, value: str | None) -> dict[str, Any]:
    kept = {"UsePreviousValue": True} if value is None else {"ParameterValue": value}
    return {"ParameterKey": name, **kept}


def _change(change: Mapping[str, Any]) -> Change:
    return Change(_action(change), change["LogicalResourceId"], change["ResourceType"])


def _action(change: Mapping[str, Any]) -> Action:
    match change["Action"], change.get("Replacement"), change.get("PolicyAction"):
        case "Add" | "Import", _, _:
            return Action.CREATED
        case "Remove", _, "Retain":
            return Action.LEFT
        case "Remove", _, _:
            return Action.DELETED
        case _, "True", _:
            return Action.REPLACED
        case _, "Conditional", _:
            return Action.MAY_BE_REPLACED
        case _:
            return Action.CHANGED
