"""`make mutants`: which changes there are, whether a test finds one, and the page that is made of it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.mutants.mutations import KIT, Changes, chosen, files_of
from tools.mutants.page import Equivalents, page, score

CODEC = KIT / "codec.py"


def test_a_mutant_differs_from_the_file_in_one_statement_of_a_function() -> None:
    changes = Changes(CODEC)

    mutants = [one for number in range(1, len(changes) + 1) if (one := changes.mutant(number))]

    assert len({one.source for one in mutants}) == len(mutants) > 30
    for one in mutants:
        assert 0 < len(one.difference()) <= 2 * (one.lines[1] - one.lines[0] + 1)


def test_a_sample_is_the_same_for_the_same_seed() -> None:
    files = list(files_of(["codec"]))

    first, again, other = ([one.name for one in chosen(files, 20, seed)] for seed in (1, 1, 2))

    assert first == again
    assert first != other
    assert len(list(chosen(files_of(["codec"]), 0, 1))) == sum(1 for _ in chosen(files_of(["codec"]), 10_000, 1))


def named(file: str, change: str) -> str:
    """Return the name of the mutant of a file that puts in these words."""
    changes = Changes(KIT / file)
    found = [one for number in range(1, len(changes) + 1) if (one := changes.mutant(number))]
    return next(one.name for one in found if any(change in line for line in one.difference() if line[0] == "+"))


def test_a_mutant_is_found_by_a_test_that_fails_or_by_none(tmp_path: Path) -> None:
    expected = {
        named("visible_text.py", "text = write(None)"): "killed",
        named("visible_text.py", "code < 0xFFFF"): "survived",
        named("principal.py", "claims(...)"): "unreached",
    }
    tests = "tests/unit/test_visible_text.py::test_a_value_in_a_sentence_is_quoted"
    options = ["--only", *expected, "--tests", tests, "--folder", str(tmp_path)]

    subprocess.run([sys.executable, "-m", "tools.mutants", *options], check=True)

    rows = [json.loads(line) for line in (tmp_path / "tried.jsonl").read_text().splitlines()]
    assert {row["mutant"]: row["outcome"] for row in rows} == expected


ROWS = [
    {"mutant": "tasks/a.py:1", "module": "tasks", "line": 3, "difference": ["-    a", "+    b"], "outcome": "killed"},
    {"mutant": "tasks/a.py:2", "module": "tasks", "line": 4, "difference": ["-    a", "+    c"], "outcome": "survived"},
    {"mutant": "tasks/a.py:3", "module": "tasks", "line": 5, "difference": ["-  a | 1", "+  d"], "outcome": "survived"},
    {"mutant": "tasks/a.py:4", "module": "tasks", "line": 6, "difference": ["-    a", "+    e"], "outcome": "hung"},
]


@pytest.mark.parametrize(("why", "expected"), [({}, 2 / 4), ({("tasks/a.py", "- a + c"): "it is only a hint"}, 2 / 3)])
def test_a_score_leaves_out_what_was_judged_equivalent(why: dict[tuple[str, str], str], expected: float) -> None:
    rows = [{"killers": ["tests/unit/test_a.py::test"] if row["outcome"] == "killed" else [], **row} for row in ROWS]

    assert score(rows, Equivalents(why)) == expected
    text = page(rows, Equivalents(why), lambda _: 40)
    assert f"| {expected:.1%} |" in text
    assert "| tasks/a.py:3 (line 5) | `- a \\| 1 + d` |  |" in text
    assert f"`- a + c` | {next(iter(why.values()), '')} |" in text
