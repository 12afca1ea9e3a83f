"""Every requirement of the protocol has a test that names it, or a reason why not; every name is a requirement.

The requirements are the rows of tests/requirements.csv. Their letters: A era dispatch, M 2026-07-28, X its tasks
extension, L 2025-11-25, T its tasks, E the events extension of both, U the apps extension of both, F authorization,
Q the skills extension, R Stepwire's own retries and races, S its large outputs and many slots; the levels: M must,
S should, m may, - a fact.
A test names its rows in the comment above it: `# M12, X25`.
"""

import csv
import re
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parents[1]
FOLDERS: Final = ("server", "integration", "template", "e2e", "unit/engine", "contracts", "unit/catalog")
_REQUIREMENTS: Final = (TESTS / "requirements.csv").read_text(encoding="utf-8")
ROWS: Final = {row["row"] for row in csv.DictReader(_REQUIREMENTS.splitlines())}
_COMMENT: Final = re.compile(
    r"^ *# ((?:[A-Z]\d*, )*[A-Z]\d*)(?:, [a-z].*|: .*)?\n *(?:@|(?:async )?def test_)", re.MULTILINE
)

WITHOUT_A_TEST: Final = {
    "A9": "binds a server of the modern era alone",
    "M3": "binds the local stack: packages/local/tests",
    "S4": "no version without `output.object` was released (decision 54)",
    "S13": "no version without shards was released (decision 54)",
    "Q9": "the content of no skill is generated",
    "Q22": "owners choose the names; the URI of a skill has the name of its tool",
    "F7": "no scope includes another: each is compared as it is (docs/sign_in.md)",
}


def named_rows() -> set[str]:
    """Collect the rows that tests name."""
    texts = [path.read_text(encoding="utf-8") for folder in FOLDERS for path in (TESTS / folder).rglob("test_*.py")]
    return {row for text in texts for found in _COMMENT.finditer(text) for row in found[1].split(", ") if row[1:]}


def test_the_requirements_are_all_there() -> None:
    letters = {"A": 11, "M": 56, "X": 30, "L": 20, "T": 37, "F": 10, "E": 20, "R": 24, "U": 10, "S": 13, "Q": 22}

    assert {f"{letter}{number}" for letter, last in letters.items() for number in range(1, last + 1)} == ROWS


def test_every_row_has_a_test_or_a_reason_why_not() -> None:
    named = named_rows()

    missing = ROWS - named - WITHOUT_A_TEST.keys()

    assert missing == set()


def test_no_row_has_both_a_test_and_a_reason() -> None:
    named = named_rows()

    both = named & WITHOUT_A_TEST.keys()

    assert both == set()


def test_every_row_that_a_test_names_exists() -> None:
    # Sections of the checklist without rows: G is the table of statuses and codes, H maps the fields of the eras, and K
    # lists what the specifications leave open.
    named = {row for row in named_rows() if row[0] not in "GHK"}

    assert named | WITHOUT_A_TEST.keys() <= ROWS
