"""CONTRIBUTING.md has a place for every module at the top of a package, tests/README.md for every suite."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.docs.pages import ROOT, page

PAGE: Final = page(ROOT / "CONTRIBUTING.md")
PACKAGES: Final = {
    "stepwire/": ROOT / "layers" / "stepwire" / "stepwire",
    "stepwire_local/": ROOT / "packages" / "local" / "stepwire_local",
    "stepwire_wrap/": ROOT / "packages" / "wrap" / "stepwire_wrap",
    "": ROOT / "packages" / "command" / "stepwire_cli",
}
"""What the page writes before the name of a module, and the package."""


def rows_of(heading: str) -> list[str]:
    """Return the rows of the table under a head."""
    after = PAGE.text.partition(f"| {heading}")[2].partition("\n")[2]
    return after.partition("\n\n")[0].splitlines()


def modules_of(package: Path) -> set[str]:
    """Return what stands at the top of a package: modules, and folders with a slash."""
    found = {one.name if one.is_file() else f"{one.name}/" for one in package.iterdir()}
    return {one for one in found if re.fullmatch(r"[a-z]\w*(\.py|/)", one)}


@pytest.mark.parametrize(
    ("heading", "before"),
    [
        ("room of the package", "stepwire/"),
        ("room of the local stack", "stepwire_local/"),
        ("of stepwire-wrap", "stepwire_wrap/"),
        ("of the command", ""),
    ],
)
def test_every_module_at_the_top_of_a_package_has_its_place(heading: str, before: str) -> None:
    words = {word for row in rows_of(heading) for word in re.findall(r"`([^`]+)`", row)}

    there = {f"{before}{one}" for one in modules_of(PACKAGES[before])}

    assert there - words == set()
    named = {word for word in words if re.fullmatch(rf"{before}[a-z]\w*(\.py|/)", word)}
    assert named - there - OF_AN_INNER_FOLDER == set()


OF_AN_INNER_FOLDER: Final = {
    *(f"{name}.py" for name in ("doctor", "tasks", "histories", "lives", "commanding")),
    "static/",
    "storage/",
}
"""Named in brackets behind their folder."""


def test_every_path_that_answers_a_question_exists() -> None:
    paths = {path for row in rows_of("question | where") for path in re.findall(r"`(stepwire/[\w/]+(?:\.py|/))`", row)}

    assert len(paths) > 15
    assert [path for path in sorted(paths) if not (ROOT / "layers" / "stepwire" / path).exists()] == []


THEIRS_TO_DELETE: Final = {"examples/", "extras/"}
"""Suites that go with what an owner deletes."""


def test_the_map_of_the_tests_names_every_suite() -> None:
    tests = ROOT / "tests"
    text = (tests / "README.md").read_text(encoding="utf-8")
    suites = {f"{one.name}/" for one in tests.iterdir() if any(one.rglob("test_*.py"))}

    named = set(re.findall(r"^\| `(\w+/)` \|", text, re.MULTILINE))

    assert named | THEIRS_TO_DELETE == suites | THEIRS_TO_DELETE
    assert len(text.splitlines()) <= 60
    paths = set(re.findall(r"`([\w/]+\.py|\w+/)`", text)) - THEIRS_TO_DELETE
    assert [path for path in sorted(paths) if not (tests / path).exists()] == []
