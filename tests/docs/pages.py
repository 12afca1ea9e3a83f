"""The documents as data for the tests: headings, links, inline code, and code blocks.

The rule of these documents: an indented block contains shell commands; a block in another language is fenced and names
its language.
"""

import csv
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
    *sorted(ROOT.glob("docs/**/*.md")),
)
_FENCED: Final = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_INDENTED: Final = re.compile(r"(?:^(?: {4,}[^\n]*)?\n)+", re.MULTILINE)
_IN_A_LINE: Final = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK: Final = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING: Final = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)


# What a command of several lines has in its first.
_OPENS: Final = re.compile(r"['\"`({<]|\b(?:do|then|else|in)\b|[|&]\s*$")


@dataclass(frozen=True)
class Page:
    """One document."""

    path: Path
    text: str

    @property
    def name(self) -> str:
        """Return its path in the project."""
        return self.path.relative_to(ROOT).as_posix()

    @cached_property
    def prose(self) -> str:
        """Return the text without its blocks of code."""
        return _INDENTED.sub("\n", _FENCED.sub("", self.text))

    @cached_property
    def links(self) -> list[str]:
        """Return the targets of its links."""
        return _LINK.findall(_IN_A_LINE.sub("", self.prose))

    @cached_property
    def words(self) -> list[str]:
        """Return its inline code."""
        return _IN_A_LINE.findall(self.prose)

    @cached_property
    def headings(self) -> list[str]:
        """Return its headings."""
        return _HEADING.findall(_FENCED.sub("", self.text))

    @property
    def languages(self) -> set[str]:
        """Return the languages of its fenced blocks."""
        return {named for _, named, _ in _FENCED.findall(self.text)}

    def blocks(self, language: str) -> list[str]:
        """Return its fenced blocks in a language, without their indentation."""
        return [
            re.sub(f"^{indent}", "", code, flags=re.MULTILINE)
            for indent, named, code in _FENCED.findall(self.text)
            if named == language
        ]

    @cached_property
    def commands(self) -> list[str]:
        """Return the commands of its indented blocks; a command may have several lines."""
        blocks = _INDENTED.findall(_FENCED.sub("", self.text))
        return [command for block in blocks for command in _commands(block)]


def anchor_of(heading: str) -> str:
    """Return the anchor that a code host gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchor_in_the_site(heading: str) -> str:
    """Return the anchor that the site gives a heading."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


@cache
def page(path: Path) -> Page:
    """Read a document."""
    return Page(path, path.read_text(encoding="utf-8"))


def shown_by_extras(kind: str) -> dict[tuple[str, str], str]:
    """Return what the page of each extra shows of a kind, `snippet` or `command`.

    The keys are the page and the language or the first word of the command; the value is the test that runs it, or the
    reason why none does. An extra lists them in its `tests/extras/NAME/page.csv`.
    """
    return {
        (f"docs/extras/{file.parent.name}.md", row["word"]): row["tested_by"]
        for file in sorted(ROOT.glob("tests/extras/*/page.csv"))
        for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines())
        if row["kind"] == kind
    }


def _commands(block: str) -> Iterator[str]:
    command = ""
    for line in block.splitlines():
        command += line.strip() + "\n"
        if _is_whole(command):
            if command.strip() and not command.lstrip().startswith("#"):
                yield command.strip()
            command = ""
    assert not command.strip(), f"an incomplete command: {command}"


def _is_whole(command: str) -> bool:
    """Tell whether a command is complete; a shell parses it without running it."""
    if command.endswith("\\\n"):
        return False
    if not _OPENS.search(command):
        return True
    return subprocess.run(["/bin/sh", "-n"], input=command, text=True, capture_output=True, check=False).returncode == 0
