"""Redeliver the messages in the dead-letter queue of a stack: `stepwire replay STACK`.

boto3 finds credentials and Region as usual. Exit code 0 if the queue is empty afterwards, 1 if messages remain, 2, with
a one-line reason, if AWS cannot be reached.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from stepwire_cli.exits import Exit
from stepwire_cli.replay.dead_letters import STAYS, Fate, Replay, stack_named
from stepwire_cli.replay.faults import cure_of


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    stack: str
    dry_run: bool = False
    """Only show what would be delivered."""
    forget_lost: bool = False
    """Delete what can be delivered no more."""


def replay(options: Options, profile: str | None = None, region: str | None = None) -> int:
    """Deliver again what waits, and return the exit code."""
    if not options.stack:
        return _failed("Which stack? Write `stepwire replay STACK`, or `make replay STACK=name`.")
    try:
        return _replayed(options, profile, region)
    except (BotoCoreError, ClientError) as error:
        return _failed(cure_of(error, options.stack))


def _failed(reason: str) -> int:
    sys.stderr.write(f"error: {reason}\n")
    return Exit.USAGE


def _replayed(options: Options, profile: str | None, region: str | None) -> int:
    session: Any = boto3.Session(profile_name=profile, region_name=region)
    stack = stack_named(options.stack, session.client("cloudformation"))
    fates = list(_shown(Replay(stack, session, options.dry_run, options.forget_lost)))
    sys.stdout.write(f"{len(fates)} messages, of which {sum(fate in STAYS for fate in fates)} stay in the queue.\n")
    return Exit.FAILED if STAYS.intersection(fates) else Exit.DONE


def _shown(replay: Replay) -> Iterator[Fate]:
    for letter in replay.run():
        sys.stdout.write(f"{letter.message_id}  {letter.about}: {letter.fate.value}\n")
        sys.stdout.flush()
        yield letter.fate
