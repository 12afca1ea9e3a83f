"""Redeliver the messages in the dead-letter queue of a stack: `stepwire replay STACK`.

Exit code 0 if the queue is empty afterwards, 1 if messages remain; if AWS cannot be asked, that of the `AccountError`.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from botocore.exceptions import ClientError

from stepwire_cli.account.connecting import Clients, session_of
from stepwire_cli.account.errors import AccountError
from stepwire_cli.account.faults import OF_AWS, told
from stepwire_cli.exits import CommandError, Exit
from stepwire_cli.operate.dead_letters import STAYS, Fate, Replay, stack_named

_LONGEST_INVOCATION: Final = 120  # seconds; the functions that take messages have shorter timeouts


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    stack: str
    dry_run: bool = False
    """Only show what would be delivered."""
    forget_lost: bool = False
    """Delete what can be delivered no more."""


def replay(options: Options, profile: str | None = None, region: str | None = None) -> int:
    """Deliver again what waits, and return the exit code.

    Raises:
        CommandError: no stack is named, or AWS cannot be asked.
    """
    if not options.stack:
        raise CommandError("Which stack? Write `stepwire replay STACK`, or `make replay STACK=name`.")
    try:
        return _replayed(options, profile, region)
    except OF_AWS as error:
        raise _fault(error, options.stack) from None


def _fault(error: Exception, stack: str) -> AccountError:
    if not isinstance(error, ClientError):
        return told(error, "")
    about = {"StackName": stack} if error.operation_name == "DescribeStackResource" else {}
    return told(error, error.operation_name, about)


def _replayed(options: Options, profile: str | None, region: str | None) -> int:
    session = Clients(session_of(profile, region), _LONGEST_INVOCATION)
    stack = stack_named(options.stack, session.client("cloudformation"))
    fates = list(_shown(Replay(stack, session, options.dry_run, options.forget_lost)))
    sys.stdout.write(f"{len(fates)} messages, of which {sum(fate in STAYS for fate in fates)} stay in the queue.\n")
    return Exit.FAILED if STAYS.intersection(fates) else Exit.DONE


def _shown(replay: Replay) -> Iterator[Fate]:
    for letter in replay.run():
        sys.stdout.write(f"{letter.message_id}  {letter.about}: {letter.fate.value}\n")
        sys.stdout.flush()
        yield letter.fate
