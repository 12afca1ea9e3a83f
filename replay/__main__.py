"""Redeliver the messages in the dead-letter queue of a stack: `make replay STACK=name`.

boto3 finds credentials and Region as usual. Exit code 0 if the queue is empty afterwards, 1 if messages remain, 2, with
a one-line reason, if AWS cannot be reached.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from replay.dead_letters import STAYS, Fate, Replay, stack_named
from replay.faults import cure_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="make replay", description="Deliver again what waits in a dead-letter queue.")
    parser.add_argument("stack", nargs="?", default="", help="the name of the stack")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be delivered")
    parser.add_argument("--forget-lost", action="store_true", help="delete what can be delivered no more")
    options = parser.parse_args(arguments)
    if not options.stack:
        return _failed("Which stack? Write `make replay STACK=name`.")
    try:
        return _replayed(options)
    except (BotoCoreError, ClientError) as error:
        return _failed(cure_of(error, options.stack))


def _failed(reason: str) -> int:
    print(f"error: {reason}", file=sys.stderr)
    return 2


def _replayed(options: argparse.Namespace) -> int:
    session: Any = boto3.Session()
    stack = stack_named(options.stack, session.client("cloudformation"))
    fates = list(_shown(Replay(stack, session, options.dry_run, options.forget_lost)))
    print(f"{len(fates)} messages, of which {sum(fate in STAYS for fate in fates)} stay in the queue.")
    return 1 if STAYS.intersection(fates) else 0


def _shown(replay: Replay) -> Iterator[Fate]:
    for letter in replay.run():
        print(f"{letter.message_id}  {letter.about}: {letter.fate.value}", flush=True)
        yield letter.fate


if __name__ == "__main__":
    sys.exit(main())
