"""The stack as CloudFormation describes it: which state it is in, and what may be done then.

The rule: a decision is made by a status, never by the words beside it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final

from stepwire_cli.account.calls import Calls
from stepwire_cli.account.errors import AccountError, NotThere

VERSION: Final = "Version"
ENDPOINT: Final = "McpEndpoint"
EXTRAS: Final = "Extras"
TABLE: Final = "TasksTable"
"""The resource that every endpoint has, and that a takeover imports before the rest."""
NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,127}")
NAMES: Final = "up to 128 letters, digits and -, with a letter first"
"""What CloudFormation takes as the name of a stack."""


class Readiness(Enum):
    """What may be done with a stack."""

    ABSENT = "there is none"
    """It can be created."""
    STANDS = "it stands"
    """It can be changed."""
    BUSY = "it is being changed"
    BROKEN = "its creation or its deletion failed"
    """It can only be deleted."""
    STUCK = "its change failed, and so did the way back"


_CORE: Final = "core"
"""What the output of the extras names first, so that it is never empty."""
_READINESS: Final[Mapping[str, Readiness]] = {
    "REVIEW_IN_PROGRESS": Readiness.ABSENT,  # a change set was made, and nothing else
    "DELETE_COMPLETE": Readiness.ABSENT,
    "CREATE_COMPLETE": Readiness.STANDS,
    "UPDATE_COMPLETE": Readiness.STANDS,
    "UPDATE_FAILED": Readiness.STANDS,
    "UPDATE_ROLLBACK_COMPLETE": Readiness.STANDS,
    "IMPORT_COMPLETE": Readiness.STANDS,
    "IMPORT_ROLLBACK_COMPLETE": Readiness.STANDS,
    "CREATE_FAILED": Readiness.BROKEN,
    "ROLLBACK_COMPLETE": Readiness.BROKEN,
    "ROLLBACK_FAILED": Readiness.BROKEN,
    "DELETE_FAILED": Readiness.BROKEN,
    "UPDATE_ROLLBACK_FAILED": Readiness.STUCK,
    "IMPORT_ROLLBACK_FAILED": Readiness.STUCK,
}
"""By status; every other is a change that goes on."""
SUCCEEDED: Final = frozenset({"CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"})
"""The statuses with which a deployment has ended well."""


@dataclass(frozen=True)
class Stack:
    """A stack, or the name of one that does not exist."""

    name: str
    status: str = "DELETE_COMPLETE"
    stack_id: str = ""
    outputs: Mapping[str, str] = field(default_factory=dict[str, str])
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    has_table: bool = False
    """Whether it owns a table of tasks, which is looked up where its outputs do not tell whose stack it is."""

    @property
    def readiness(self) -> Readiness:
        """What may be done with it."""
        return _READINESS.get(self.status, Readiness.BUSY)

    @property
    def is_ours(self) -> bool:
        """Tell whether it is an endpoint, or an imported table for one (docs/restoring.md), which has no output."""
        return ENDPOINT in self.outputs or self.has_table

    @property
    def version(self) -> str | None:
        """The release that it was deployed from; None: it was deployed from its sources."""
        return self.outputs.get(VERSION)

    @property
    def extras(self) -> tuple[str, ...] | None:
        """The names of its extras, in alphabetical order; None: it does not say, or there is none."""
        said = self.outputs.get(EXTRAS)
        return None if said is None else tuple(sorted({*said.split(",")} - {_CORE, ""}))


def described(calls: Calls, name: str) -> Stack:
    """Return a stack by its name or id, also one that does not exist.

    Raises:
        AccountError: CloudFormation cannot be asked.
    """
    try:
        (found,) = calls.call("cloudformation", "DescribeStacks", StackName=name)["Stacks"]
    except NotThere:
        return Stack(name)
    stack = Stack(
        found["StackName"],
        found["StackStatus"],
        found["StackId"],
        {one["OutputKey"]: one["OutputValue"] for one in found.get("Outputs", ())},
        {one["ParameterKey"]: one["ParameterValue"] for one in found.get("Parameters", ())},
    )
    if stack.readiness is Readiness.STANDS and not stack.outputs:
        return replace(stack, has_table=TABLE in resources_of(calls, stack))
    return stack


def last_deleted(calls: Calls, name: str) -> Stack | None:
    """Return the stack of this name that was deleted last, as it was; CloudFormation remembers one for 90 days."""
    pages = calls.pages("cloudformation", "ListStacks", "NextToken", StackStatusFilter=["DELETE_COMPLETE"])
    found: list[Any] = [one for page in pages for one in page["StackSummaries"] if one["StackName"] == name]
    if not found:
        return None
    newest = max(found, key=lambda one: one.get("DeletionTime") or one["CreationTime"])
    return described(calls, newest["StackId"])


def check_ours(stack: Stack) -> None:
    """Do nothing if a stack is an endpoint, or if its outputs cannot tell: it never stood, or is being changed.

    Raises:
        AccountError: it is a stack of something else.
    """
    if stack.readiness in (Readiness.STANDS, Readiness.STUCK) and not stack.is_ours:
        raise AccountError(f"{stack.name} is a stack of something else: choose another name")


def check_free(stack: Stack) -> None:
    """Do nothing if a stack can be created or changed.

    Raises:
        AccountError: not now, with what to do first.
    """
    match stack.readiness:
        case Readiness.BUSY:
            raise AccountError(
                f"{stack.name} is being changed ({stack.status}): `stepwire status {stack.name} --watch` follows it; "
                "then repeat this command"
            )
        case Readiness.BROKEN:
            raise AccountError(
                f"{stack.name} is not whole ({stack.status}), and nothing of it serves: remove it with "
                f"`stepwire destroy {stack.name}`, then repeat this command"
            )
        case Readiness.STUCK:
            raise AccountError(
                f"{stack.name} is between two versions ({stack.status}): mend what `stepwire status {stack.name}` "
                f"names, and run `aws cloudformation continue-update-rollback --stack-name {stack.name}`; then repeat "
                "this command"
            )
        case _:
            return


def resources_of(calls: Calls, stack: Stack) -> dict[str, tuple[str, str]]:
    """Return the type and the physical id of each resource, by its name in the template."""
    pages = calls.pages("cloudformation", "ListStackResources", "NextToken", StackName=stack.stack_id or stack.name)
    found: list[Any] = [one for page in pages for one in page["StackResourceSummaries"]]
    return {
        one["LogicalResourceId"]: (one["ResourceType"], one.get("PhysicalResourceId", ""))
        for one in found
        if one.get("ResourceStatus") != "DELETE_COMPLETE"
    }
