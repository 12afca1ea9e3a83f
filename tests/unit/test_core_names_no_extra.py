"""No file of the core names an extra: by its folder, a tool of its own, or a word that it alone has.

An extra lists its words in `tests/extras/NAME/words.txt`, as patterns that begin a word, whatever their case.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from stepwire.composition import EXTRAS

ROOT: Final = Path(__file__).parents[2]
ROOMS: Final = (ROOT / "layers" / "stepwire" / "stepwire", ROOT / "functions")
TABLE: Final = ROOMS[0] / "composition.py"
"""The one file that names them."""
CORE: Final = [
    file
    for room in ROOMS
    for file in room.rglob("*.py")
    if file != TABLE and "extras" not in file.relative_to(room).parts
]


def words_of(name: str) -> list[str]:
    """Return the patterns of the words that only an extra has."""
    return (ROOT / "tests" / "extras" / name / "words.txt").read_text(encoding="utf-8").splitlines()


def named(pattern: str, files: list[Path]) -> Iterator[str]:
    """Yield the lines in which a pattern begins a word."""
    word = re.compile(rf"(?<![^\W_]){pattern}", re.IGNORECASE)
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if word.search(line):
                yield f"{file.relative_to(ROOT)}:{number}: {line.strip()}"


@pytest.mark.parametrize("name", EXTRAS)
def test_no_file_of_the_core_names_an_extra(name: str) -> None:
    own = [rf"""["']{tool}["']""" for tool in EXTRAS[name].tools]
    own += [rf"extras[./]{name}\b", rf"""(extras|notes|routes|kept_by)[\[(]["']{name}\b"""]

    found = [line for one in (*own, *words_of(name)) for line in named(one, CORE)]

    assert found == []


@pytest.mark.parametrize("name", EXTRAS)
def test_an_extra_has_each_of_its_words(name: str) -> None:
    own = [file for room in ROOMS for file in (room / "extras" / name).rglob("*.py")]

    missing = [word for word in words_of(name) if next(named(word, own), None) is None]

    assert words_of(name)
    assert missing == []
