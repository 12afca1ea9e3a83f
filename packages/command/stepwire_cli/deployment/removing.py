"""`stepwire destroy`: remove an endpoint, and say what is lost and what is left.

The rule: the tasks, the large results and the users outlive the stack unless the command line says otherwise, and
nothing is deleted before its name was shown and agreed to.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from stepwire_cli.account.calls import Calls
from stepwire_cli.account.errors import AccountError, NotThere
from stepwire_cli.deployment.following import Event, Follower, Sleep
from stepwire_cli.deployment.stack import ENDPOINT, Readiness, Stack, check_free, described, last_deleted, resources_of
from stepwire_cli.exits import Exit
from stepwire_cli.screen import Screen

_TABLE: Final = "AWS::DynamoDB::Table"
_BUCKET: Final = "AWS::S3::Bucket"
_POOL: Final = "AWS::Cognito::UserPool"
_HOLDS: Final[Mapping[str, str]] = {
    _TABLE: "the tasks",
    _BUCKET: "the results above 400,000 bytes",
    _POOL: "the users who sign in",
}
"""What each type of resource that outlives the stack holds."""
_OF_EVERY_ENDPOINT: Final = "TasksTable"
_NAMES: Final = frozenset({_OF_EVERY_ENDPOINT, "LargeResults", "UserPool"})
"""Names, in the template, of what outlives the stack."""


@dataclass(frozen=True)
class Removal:
    """The options of `stepwire destroy`."""

    name: str
    with_data: bool = False
    """Whether what outlives the stack is deleted too."""
    agree: Callable[[str], bool] = lambda _question: False
    """Asks whether to go on."""
    sleep: Sleep = time.sleep


@dataclass(frozen=True)
class _Kept:
    """A resource that outlives the stack."""

    kind: str
    held: str
    """Its physical id."""


def destroy(options: Removal, calls: Calls, screen: Screen) -> int:
    """Delete a stack, and with it what the options say. Of a deleted stack, delete what it has left.

    Raises:
        AccountError: it cannot be done, with what to do first.
    """
    stack = described(calls, options.name)
    if stack.readiness is Readiness.ABSENT and not stack.stack_id:
        return _destroy_what_is_left(options, calls, screen)
    if stack.readiness is Readiness.BUSY:
        check_free(stack)
    kept = _kept(calls, stack)
    _show_plan(stack, kept, options, screen)
    if not options.agree(f"Delete {stack.name}{' and its data' if options.with_data else ''}?"):
        screen.say("Nothing was deleted.")
        return Exit.FAILED
    if (code := _delete_stack(stack, options, calls, screen)) == Exit.DONE:
        _finish(kept, options, calls, screen)
    return code


def _destroy_what_is_left(options: Removal, calls: Calls, screen: Screen) -> int:
    stack = last_deleted(calls, options.name)
    kept = [] if stack is None else _kept(calls, stack)
    if not kept:
        raise NotThere(f"there is no stack {options.name} in this account and Region")
    screen.say(f"{options.name} is deleted, and has left data:")
    for one in kept if options.with_data else ():
        screen.say(f"{one.held}, with {_HOLDS[one.kind]}, is deleted, too.")
    if options.with_data and not options.agree("Delete what is left?"):
        screen.say("Nothing was deleted.")
        return Exit.FAILED
    _finish(kept, options, calls, screen)
    return Exit.DONE


def _kept(calls: Calls, stack: Stack) -> list[_Kept]:
    """Return what outlives an endpoint.

    Raises:
        AccountError: the stack is none of an endpoint, whatever became of it.
    """
    found = resources_of(calls, stack)
    if not stack.is_ours and found and _OF_EVERY_ENDPOINT not in found:
        raise AccountError(f"{stack.name} is a stack of something else: this command removes endpoints alone")
    return [_Kept(kind, held) for name, (kind, held) in found.items() if name in _NAMES and kind in _HOLDS and held]


def _finish(kept: Sequence[_Kept], options: Removal, calls: Calls, screen: Screen) -> None:
    """Delete what has outlived the stack, or name it."""
    for one in kept if options.with_data else ():
        screen.progress("deleting", one.held)
        with suppress(NotThere):  # an earlier run has deleted it
            _DELETES[one.kind](calls, one.held)
        screen.say(f"deleted {one.held}")
    left = () if options.with_data else tuple(kept)
    if screen.as_json:
        screen.json({"stack": options.name, "left": [{"type": one.kind, "id": one.held} for one in left]})
        return
    for one in left:
        screen.result(f"left: {one.held} ({_HOLDS[one.kind]})")


def _show_plan(stack: Stack, kept: Sequence[_Kept], options: Removal, screen: Screen) -> None:
    screen.say(f"The endpoint {stack.outputs.get(ENDPOINT, stack.name)} and its functions are deleted.")
    screen.say("Workflows that run go on; nobody hears of their ends.")
    for one in kept:
        fate = "is deleted, too" if options.with_data else "is left"
        screen.say(f"{one.held}, with {_HOLDS[one.kind]}, {fate}.")
    if kept and not options.with_data:
        salt = stack.outputs.get("PrincipalSalt", "")
        screen.say(f"A new endpoint that takes over the tasks needs PrincipalSalt={salt}: keep it.")


def _delete_stack(stack: Stack, options: Removal, calls: Calls, screen: Screen) -> int:
    def show(event: Event) -> None:
        screen.progress("deleting", f"{event.name} {event.words}")

    follower = Follower(calls, stack.stack_id, options.sleep, show)
    ending = follower.through(
        lambda: calls.call("cloudformation", "DeleteStack", StackName=stack.stack_id),
        lambda: screen.say(f"CloudFormation goes on. Look with: stepwire status {options.name}"),
    )
    if ending.stack.readiness is Readiness.ABSENT:
        screen.say(f"{stack.name} is deleted.", "good")
        return Exit.DONE
    screen.error(f"{stack.name}: {ending.stack.status}")
    for failure in ending.failures:
        screen.say(f"{failure.name} ({failure.kind}): {failure.why}")
    screen.say("Mend that, then repeat this command: what is deleted stays deleted.")
    return Exit.FAILED


def _delete_table(calls: Calls, name: str) -> None:
    calls.call("dynamodb", "UpdateTable", TableName=name, DeletionProtectionEnabled=False)
    calls.call("dynamodb", "DeleteTable", TableName=name)


def _delete_bucket(calls: Calls, name: str) -> None:
    more: dict[str, Any] = {}
    while True:
        found = calls.call("s3", "ListObjectVersions", Bucket=name, **more)
        held = [*found.get("Versions", ()), *found.get("DeleteMarkers", ())]
        if held:
            objects = [{"Key": one["Key"], "VersionId": one["VersionId"]} for one in held]
            calls.call("s3", "DeleteObjects", Bucket=name, Delete={"Objects": objects, "Quiet": True})
        if not found.get("IsTruncated"):
            break
        more = {"KeyMarker": found["NextKeyMarker"], "VersionIdMarker": found["NextVersionIdMarker"]}
    calls.call("s3", "DeleteBucket", Bucket=name)


def _delete_pool(calls: Calls, pool: str) -> None:
    calls.call("cognito-idp", "UpdateUserPool", UserPoolId=pool, DeletionProtection="INACTIVE")
    calls.call("cognito-idp", "DeleteUserPool", UserPoolId=pool)


_DELETES: Final[Mapping[str, Callable[[Calls, str], None]]] = {
    _TABLE: _delete_table,
    _BUCKET: _delete_bucket,
    _POOL: _delete_pool,
}
