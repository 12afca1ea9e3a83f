"""Every requirement of the protocol has a test that names it, or a reason why not; every name is a requirement.

The requirements are the rows of tests/requirements.csv, and those of the extras in tests/extras/. Their letters: A era
dispatch, M 2026-07-28, X its tasks extension, L 2025-11-25, T its tasks, E the events extension of both, U the apps
extension of both, F authorization, Q the skills extension, N tasks that clients of
2025-11-25 make, R Stepwire's own retries and races, S its large outputs and
many slots; the levels: M must, S should, m may, - a fact. A row without a test says why.
A test names its rows in the comment above it: `# M12, X25`.
"""

import csv
import re
from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).parents[1]
FOLDERS: Final = ("server", "integration", "template", "unit/engine", "contracts", "unit/catalog", "extras")
LETTERS: Final = {"A": 11, "M": 56, "X": 30, "L": 20, "T": 34, "F": 10, "R": 24, "S": 13}
"""The letters of the core, each with the number of its last row."""


def read_rows(file: Path) -> dict[str, str]:
    """Return the rows of a file, each with the reason why it has no test; empty: it has one."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return {row["row"]: row["why_without_a_test"] for row in csv.DictReader(lines, restval="")}


OF_EXTRAS: Final = {file.parent.name: read_rows(file) for file in sorted(TESTS.glob("extras/*/requirements.csv"))}
ROWS: Final = {
    row: why for rows in (read_rows(TESTS / "requirements.csv"), *OF_EXTRAS.values()) for row, why in rows.items()
}
WITHOUT_A_TEST: Final = {row for row, why in ROWS.items() if why}
_COMMENT: Final = re.compile(
    r"^ *# ((?:[A-Z]\d*, )*[A-Z]\d*)(?:, [a-z].*|: .*)?\n *(?:@|(?:async )?def test_)", re.MULTILINE
)


def named_rows() -> set[str]:
    """Collect the rows that tests name."""
    texts = [path.read_text(encoding="utf-8") for folder in FOLDERS for path in (TESTS / folder).rglob("test_*.py")]
    return {row for text in texts for found in _COMMENT.finditer(text) for row in found[1].split(", ") if row[1:]}


def test_the_requirements_are_all_there() -> None:
    core = {f"{letter}{number}" for letter, last in LETTERS.items() for number in range(1, last + 1)}

    assert read_rows(TESTS / "requirements.csv").keys() == core


@pytest.mark.parametrize("extra", OF_EXTRAS)
def test_the_rows_of_an_extra_are_numbered_from_1(extra: str) -> None:
    rows = list(OF_EXTRAS[extra])

    assert rows == [f"{rows[0][0]}{number}" for number in range(1, len(rows) + 1)]
    assert rows[0][0] not in LETTERS


def test_every_row_has_a_test_or_a_reason_why_not() -> None:
    named = named_rows()

    missing = ROWS.keys() - named - WITHOUT_A_TEST

    assert missing == set()


def test_no_row_has_both_a_test_and_a_reason() -> None:
    named = named_rows()

    both = named & WITHOUT_A_TEST

    assert both == set()


def test_every_row_that_a_test_names_exists() -> None:
    # Sections of the checklist without rows: G is the table of statuses and codes, H maps the fields of the eras, and K
    # lists what the specifications leave open.
    named = {row for row in named_rows() if row[0] not in "GHK"}

    assert named <= ROWS.keys()
