"""The texts for moto's authors, and a program that runs their reproductions: `python -m` this `[--patched]`.

The rule: without `--patched`, moto runs as it is installed. So the program has a process of its own, and this module
imports nothing of the local stack until it is asked to.
"""

import json
import logging
import os
import re
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from moto.stepfunctions.parser.asl.parse.preprocessor import Preprocessor

FOLDER: Final = Path(__file__).parents[2] / "upstream"
_TEXT: Final = re.compile(
    r"# (?P<title>[^\n]+)\n\n- Where: (?P<where>[^\n]+)\n- State: (?P<state>[^\n]+)\n- Related: (?P<related>[^\n]+)\n\n"
    r"## What AWS does\n\n(?P<aws>.+?)\n\n## Reproduction\n\n```python\n(?P<code>.+?)```\n\n"
    r"moto (?P<version>[\d.]+) ends with:\n\n```text\n(?P<fault>[^\n]+)\n```\n\n## Proposed change\n\n(?P<change>.+)\n",
    re.DOTALL,
)
_LONGEST: Final = 160  # characters of an error
_DUMMIES: Final = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}


@dataclass(frozen=True)
class Text:
    """A text for moto's authors; its file has the name of the patch."""

    patch: str
    title: str
    where: str
    state: str
    version: str
    code: str
    fault: str
    """The last line of the traceback that its reproduction ends with."""


def texts() -> list[Text]:
    """Return all texts, by the names of their patches.

    Raises:
        ValueError: a file has another form.
    """
    return [_read(file) for file in sorted(FOLDER.glob("*.md")) if file.name != "README.md"]


def _read(file: Path) -> Text:
    found = _TEXT.fullmatch(file.read_text(encoding="utf-8"))
    if found is None:
        raise ValueError(f"{file.name} has not the form of the other texts")
    return Text(file.stem, *(found[part] for part in ("title", "where", "state", "version", "code", "fault")))


def end_of(text: Text) -> str | None:
    """Run a reproduction; return the last line of its traceback, or None if it ends well."""
    try:
        exec(compile(text.code, f"{text.patch}.md", "exec"), {"__name__": "__main__"})
    except Exception as error:  # noqa: BLE001 - whatever it is, the text must name it
        return f"{type(error).__name__}: {error}".partition("\n")[0][:_LONGEST].strip()
    finally:
        # The fault of `definitions_are_read_apart` would change the reproductions after it.
        Preprocessor._query_language_per_scope.clear()  # pyright: ignore[reportPrivateUsage]
    return None


def _patches() -> AbstractContextManager[None]:
    # Not at the top: importing the engine changes botocore.
    from stepwire_local.account.engine import moto_patches  # noqa: PLC0415

    return moto_patches.applied()


def main() -> None:
    """Print how each reproduction ends, as JSON."""
    os.environ |= _DUMMIES
    logging.disable()  # moto logs each execution that fails
    with _patches() if "--patched" in sys.argv else nullcontext():
        ends = {text.patch: end_of(text) for text in texts()}
    sys.stdout.write(json.dumps(ends))
    sys.stdout.flush()
    os._exit(0)  # executions that wait would keep their threads


if __name__ == "__main__":
    main()
