"""Describe many state machines as tools: each is read by itself, so that one that cannot be read spoils no other."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from stepwire_cli.account.errors import AccountError, NoCredentials, NoRegion
from stepwire_cli.account.machines import Read, StateMachines
from stepwire_cli.account.registering import Registered, names_in_use
from stepwire_wrap.definitions.drafts import Machine, TooDeepError, draft
from stepwire_wrap.definitions.names import tool_name
from stepwire_wrap.definitions.questions import asking_states
from stepwire_wrap.drafting import Wrapped

_MOST_NAMED: Final = 5


def wrapped(
    machines: StateMachines, arns: Sequence[str], registered: Iterable[Registered] = (), *, threads: int = 1
) -> list[Wrapped]:
    """Return the drafts of state machines, in their order.

    A state machine that is registered already keeps its tool's name.

    Raises:
        AccountError: no state machine can be read, for a reason that is none of theirs.
    """
    pool = ThreadPoolExecutor(max_workers=threads)
    try:
        found = list(pool.map(_reader(machines), arns))
    finally:  # after Ctrl-C, those that were not begun are not read
        pool.shutdown(wait=False, cancel_futures=True)
    there = list(registered)
    in_use, taken = names_in_use(there), {one.tool for one in there}
    results: list[Wrapped] = []
    for arn, read in zip(arns, found, strict=True):
        if isinstance(read, AccountError):
            results.append(Wrapped(arn, None, (str(read),)))
            continue
        name = in_use.get(read.machine.arn) or in_use.get(read.machine.name) or _free_name(read.machine, taken)
        taken.add(name)
        results.append(_wrapped(name, read))
    return results


def _free_name(machine: Machine, taken: Iterable[str]) -> str:
    return tool_name(machine.name, taken, machine.words.stack)


def _wrapped(name: str, read: Read) -> Wrapped:
    machine = read.machine
    if machine.is_express and machine.role:
        reason = "of type EXPRESS: a tool of another account or Region must be of type STANDARD"
        return Wrapped(machine.arn, None, (f"{machine.name}: {reason}",))
    try:
        made = draft(name, machine, read.history)
    except TooDeepError as error:
        return Wrapped(machine.arn, None, (f"{machine.name}: {error}",))
    told = [*read.problems, *made.conflicts]
    if machine.role and (asking := asking_states(machine.definition)):
        names = ", ".join(asking)
        told.append(f"{names} asks its caller, which fails with ForeignQuestion in another account or Region")
    return Wrapped(machine.arn, made, tuple(f"{machine.name}: {one}" for one in told))


def notes_on(found: Sequence[Wrapped]) -> list[str]:
    """Return what is said of several state machines at once: a line for each would hide what matters."""
    made = [one.draft for one in found if one.draft is not None]
    express = [one.machine.name for one in made if one.machine.is_express]
    no_run = [one.machine.name for one in made if not one.machine.is_express and not one.runs]
    notes = [f"Of type EXPRESS, so plain tools without tasks, inferred from the definition alone: {_named(express)}."]
    notes += [f"No run that succeeded was read, so inferred from the definition alone: {_named(no_run)}."]
    return [note for note, names in zip(notes, (express, no_run), strict=True) if names]


def _named(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _reader(machines: StateMachines) -> Callable[[str], Read | AccountError]:
    def read(arn: str) -> Read | AccountError:
        try:
            return machines.read(arn)
        except (NoCredentials, NoRegion):
            raise
        except AccountError as error:
            return error

    return read
