"""Remove what a journal names, the newest first.

The rule: what cannot be removed stops nothing; it is returned with the command that removes it by hand. Removing what
is not there succeeds.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from stepwire_cli.account.calls import Calls
from stepwire_cli.account.errors import AccountError, NotThere
from stepwire_cli.deployment import removing
from stepwire_cli.deployment.stack import Readiness, Stack, described
from stepwire_cli.exits import Exit
from stepwire_cli.screen import Screen
from tools.first_run.clock import Clock
from tools.first_run.journal import Journal, Made

_LONGEST: Final = 60.0
"""Minutes for one removal: that of a replaced API or of a key's users takes long."""
_CHANGES: Final = frozenset({"CREATING", "UPDATING", "DELETING"})


@dataclass(frozen=True)
class Removal:
    """With what something is removed."""

    calls: Calls
    clock: Clock
    screen: Screen
    """Gets what the commands say."""
    say: Callable[[str], object]
    """Gets what a person should read."""


Remove = Callable[[Removal, str], None]


@dataclass(frozen=True)
class Remover:
    """How one kind of thing is removed."""

    remove: Remove
    by_hand: str
    """The command for it, with {name} and {region}."""


@dataclass(frozen=True)
class Left:
    """What could not be removed."""

    made: Made
    why: str
    command: str


def remove_all(journal: Journal, removal: Removal, removers: Mapping[str, Remover] | None = None) -> list[Left]:
    """Remove what the journal names, and return what is left."""
    found, known = list[Left](), removers or REMOVERS
    for made in journal.left():
        remover = known[made.kind]
        removal.say(f"removing {made.kind} {made.name}")
        try:
            with removal.clock.limit(_LONGEST):
                remover.remove(removal, made.name)
        except Exception as error:  # noqa: BLE001 - the rest is removed whatever is wrong with this one
            command = remover.by_hand.format(name=made.name, region=journal.head["region"])
            found.append(Left(made, " ".join(str(error).split()) or type(error).__name__, command))
        else:
            journal.removed(made)
    return found


def _endpoint(removal: Removal, name: str) -> None:
    settled(removal.calls, removal.clock, name)
    options = removing.Removal(name, with_data=True, agree=lambda _question: True, sleep=removal.clock.sleep)
    with suppress(NotThere):
        if removing.destroy(options, removal.calls, removal.screen) != Exit.DONE:
            raise AccountError(f"CloudFormation could not delete {name}")


def _stack(removal: Removal, name: str) -> None:
    stack = settled(removal.calls, removal.clock, name).stack_id
    if not stack:
        return
    removal.calls.call("cloudformation", "DeleteStack", StackName=stack)
    if (after := settled(removal.calls, removal.clock, stack)).status != "DELETE_COMPLETE":
        raise AccountError(f"the stack is {after.status}")


def settled(calls: Calls, clock: Clock, name: str) -> Stack:
    """Return a stack once CloudFormation does not change it."""
    while (stack := described(calls, name)).readiness is Readiness.BUSY:
        clock.sleep(2)
    return stack


def _bucket(removal: Removal, name: str) -> None:
    with suppress(NotThere):
        removing.delete_bucket(removal.calls, name, removal.clock.sleep)


def _table(removal: Removal, name: str) -> None:
    with suppress(NotThere):
        while removal.calls.call("dynamodb", "DescribeTable", TableName=name)["Table"]["TableStatus"] in _CHANGES:
            removal.clock.sleep(2)
        removing.delete_table(removal.calls, name, removal.clock.sleep)


REMOVERS: Final[Mapping[str, Remover]] = {
    "endpoint": Remover(_endpoint, "stepwire destroy {name} --with-data --region {region}"),
    "stack": Remover(_stack, "aws cloudformation delete-stack --stack-name {name} --region {region}"),
    "table": Remover(_table, "aws dynamodb delete-table --table-name {name} --region {region}"),
    "bucket": Remover(_bucket, "aws s3 rb s3://{name} --force --region {region}"),
}
