"""Invoke a function of the application that is served, as its console does.

The rule: the event is checked before anything is sent.
"""

import argparse
import json
import sys
from pathlib import Path

from stepwire_local.commands.asking import asked
from stepwire_local.errors import LocalStackError


def run(options: argparse.Namespace) -> int:
    """Print what a function returns, or why it failed.

    Raises:
        LocalStackError: the event is no JSON, nothing is served there, or it has no such function.
    """
    outcome = asked(options.url, "invocations", options.function, _event(options.event))
    if error := outcome.get("error"):
        where = "".join(outcome.get("trace") or ())
        sys.stderr.write(f"{where}error: {options.function} failed: {error}\n")
        return 1
    sys.stdout.write(json.dumps(outcome.get("result"), indent=2, ensure_ascii=False) + "\n")
    return 0


def _event(text: str) -> bytes:
    """Return the event: JSON itself, of a file, or of standard input."""
    try:
        found = sys.stdin.read() if text == "-" else text if text.lstrip()[:1] in ("{", "[", '"') else _read(text)
        json.loads(found)
    except OSError as error:
        raise LocalStackError(f"{text} cannot be read: {error.strerror}. Write JSON, or the name of a file.") from error
    except ValueError as error:
        raise LocalStackError(f"The event is no JSON: {error}.") from error
    return found.encode()


def _read(name: str) -> str:
    return Path(name).read_text(encoding="utf-8")
