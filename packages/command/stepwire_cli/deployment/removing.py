"""`stepwire destroy`: remove an endpoint, and say what is lost and what is left.

The rule: the tasks, the large results and the users outlive the stack unless the command line says otherwise; what is
locked always does. Nothing is deleted before its name was shown and agreed to.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from stepwire_cli.account.calls import Calls
from stepwire_cli.account.errors import AccountError, NotThere
from stepwire_cli.deployment.following import PAUSE, Event, Follower, Sleep
from stepwire_cli.deployment.stack import (
    ENDPOINT,
    TABLE,
    Readiness,
    Stack,
    check_free,
    described,
    last_deleted,
    resources_of,
)
from stepwire_cli.exits import Exit
from stepwire_cli.extras import parts
from stepwire_cli.screen import Screen

_REST: Final = "Repeat this command to delete the rest."

_Delete = Callable[[Calls, str, Sleep], None]
"""Deletes a resource by its physical id."""


@dataclass(frozen=True)
class Lock:
    """Keeps a resource, whatever the command line says."""

    name: str
    note: Callable[[Stack, str], str]
    """Says until when, and what the owner can do, of the stack and the physical id of the resource."""


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
class Survivor:
    """A resource of the template that outlives the stack."""

    kind: str
    holds: str
    end: _Delete | Lock


@dataclass(frozen=True)
class _Kept:
    """What outlives one stack."""

    what: Survivor
    held: str
    """Its physical id."""
    delete: _Delete | None
    """None: it is left."""
    why: str = ""
    """Why it cannot be deleted now; empty: it can."""
    note: str = ""
    """When it can be."""


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
    kept = _kept(calls, stack, options)
    _show_plan(stack, kept, options, screen)
    if not options.agree(f"Delete {stack.name}{' and its data' if options.with_data else ''}?"):
        screen.say("Nothing was deleted.")
        return Exit.FAILED
    if (code := _delete_stack(stack, options, calls, screen)) == Exit.DONE:
        _finish(kept, options, calls, screen)
    return code


def _destroy_what_is_left(options: Removal, calls: Calls, screen: Screen) -> int:
    stack = last_deleted(calls, options.name)
    kept = [] if stack is None else _kept(calls, stack, options)
    if not kept:
        raise NotThere(f"there is no stack {options.name} in this account and Region")
    screen.say(f"{options.name} is deleted, and has left data:")
    going = [one for one in kept if one.delete]
    for one in going:
        screen.say(f"{one.held}, with {one.what.holds}, is deleted, too.")
    if going and not options.agree("Delete what is left?"):
        screen.say("Nothing was deleted.")
        return Exit.FAILED
    _finish(kept, options, calls, screen)
    return Exit.DONE


def _kept(calls: Calls, stack: Stack, options: Removal) -> list[_Kept]:
    """Return what outlives an endpoint, and how each is deleted if the options say so.

    Raises:
        AccountError: the stack is none of an endpoint, whatever became of it.
    """
    found = resources_of(calls, stack)
    if not stack.is_ours and found and TABLE not in found:
        raise AccountError(f"{stack.name} is a stack of something else: this command removes endpoints alone")
    kept, known = list[_Kept](), survivors()
    for name, (kind, held) in found.items():
        what = known.get(name)
        if what is not None and what.kind == kind and held:
            kept.append(_of(what, held, stack, options))
    return kept


def _of(what: Survivor, held: str, stack: Stack, options: Removal) -> _Kept:
    if isinstance(what.end, Lock):
        return _Kept(what, held, None, why=f", because {what.end.name} keeps it", note=what.end.note(stack, held))
    return _Kept(what, held, what.end if options.with_data else None)


def _finish(kept: Sequence[_Kept], options: Removal, calls: Calls, screen: Screen) -> None:
    """Delete what has outlived the stack, or name it."""
    try:
        for one in kept:
            if one.delete is None:
                continue
            screen.progress("deleting", one.held)
            with suppress(NotThere):  # an earlier run has deleted it
                one.delete(calls, one.held, options.sleep)
            screen.say(f"deleted {one.held}")
    except (KeyboardInterrupt, AccountError):
        screen.say(_REST, "warning")
        raise
    left = [one for one in kept if one.delete is None]
    if screen.as_json:
        told = [{"type": one.what.kind, "id": one.held, **({"note": one.note} if one.note else {})} for one in left]
        screen.json({"stack": options.name, "left": told})
        return
    for one in left:
        screen.result(f"left: {one.held} ({one.what.holds}){one.note and f'. {one.note}'}")


def _show_plan(stack: Stack, kept: Sequence[_Kept], options: Removal, screen: Screen) -> None:
    screen.say(f"The endpoint {stack.outputs.get(ENDPOINT, stack.name)} and its functions are deleted.")
    screen.say("Workflows that run go on; their tasks no longer get their ends.")
    for one in kept:
        fate = "is deleted, too" if one.delete else f"is left{one.why}"
        screen.say(f"{one.held}, with {one.what.holds}, {fate}.")
    if kept and not options.with_data:
        salt = stack.outputs.get("PrincipalSalt", "")
        screen.say(f"A new endpoint that takes over the tasks needs PrincipalSalt={salt}: keep it.")


def _delete_stack(stack: Stack, options: Removal, calls: Calls, screen: Screen) -> int:
    def show(event: Event) -> None:
        screen.progress("deleting", f"{event.name} {event.words}")

    follower = Follower(calls, stack.stack_id, options.sleep, show)
    ending = follower.through(
        lambda: calls.call("cloudformation", "DeleteStack", StackName=stack.stack_id),
        lambda: screen.say(f"CloudFormation goes on: `stepwire status {options.name}` shows how far. {_REST}"),
    )
    if ending.stack.readiness is Readiness.ABSENT:
        screen.say(f"{stack.name} is deleted.", "good")
        return Exit.DONE
    screen.error(f"{stack.name}: {ending.stack.status}")
    for failure in ending.failures:
        screen.say(f"{failure.name} ({failure.kind}): {failure.why}")
    screen.say("Mend that, then repeat this command: what is deleted stays deleted.")
    return Exit.FAILED


def delete_table(calls: Calls, name: str, sleep: Sleep) -> None:
    """Delete a table, also one that is protected.

    Raises:
        AccountError: DynamoDB refuses it; `NotThere`, if there is none.
    """

    def described_table() -> Mapping[str, Any]:
        return calls.call("dynamodb", "DescribeTable", TableName=name)["Table"]

    table = described_table()
    if table["TableStatus"] == "DELETING":  # by an earlier run
        return
    if table.get("DeletionProtectionEnabled"):
        calls.call("dynamodb", "UpdateTable", TableName=name, DeletionProtectionEnabled=False)
    while described_table()["TableStatus"] == "UPDATING":  # DynamoDB deletes no table while it changes
        sleep(PAUSE)
    calls.call("dynamodb", "DeleteTable", TableName=name)


def delete_bucket(calls: Calls, name: str, _sleep: Sleep) -> None:
    """Delete a bucket with all versions of what it holds.

    Raises:
        AccountError: S3 refuses it; `NotThere`, if there is none.
    """
    more: dict[str, Any] = {}
    while True:
        found = calls.call("s3", "ListObjectVersions", Bucket=name, **more)
        held = [*found.get("Versions", ()), *found.get("DeleteMarkers", ())]
        if held:
            objects = [{"Key": one["Key"], "VersionId": one["VersionId"]} for one in held]
            answer = calls.call("s3", "DeleteObjects", Bucket=name, Delete={"Objects": objects, "Quiet": True})
            for one in answer.get("Errors", ()):  # of single objects, although the call has worked
                why = f"{one['Code']}: {one['Message']}"
                raise AccountError(f"{name}: the object {one['Key']} cannot be deleted: {why}")
        if not found.get("IsTruncated"):
            break
        more = {"KeyMarker": found["NextKeyMarker"], "VersionIdMarker": found["NextVersionIdMarker"]}
    calls.call("s3", "DeleteBucket", Bucket=name)


def _delete_pool(calls: Calls, pool: str, _sleep: Sleep) -> None:
    calls.call("cognito-idp", "UpdateUserPool", UserPoolId=pool, DeletionProtection="INACTIVE")
    calls.call("cognito-idp", "DeleteUserPool", UserPoolId=pool)


_OF_THE_CORE: Final[Mapping[str, Survivor]] = {
    TABLE: Survivor("AWS::DynamoDB::Table", "the tasks", delete_table),
    "LargeResults": Survivor("AWS::S3::Bucket", "the results above 400,000 bytes", delete_bucket),
    "UserPool": Survivor("AWS::Cognito::UserPool", "the users who sign in", _delete_pool),
}


def survivors() -> Mapping[str, Survivor]:
    """Return what outlives the stack, by its name in the template."""
    return {**_OF_THE_CORE, **{name: one for part in parts("outliving") for name, one in part.SURVIVORS.items()}}
