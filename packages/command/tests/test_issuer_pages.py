"""docs/issuers/ shows what `stepwire sign-in check` says of recorded metadata, and its pages have one form."""

import re
from functools import cache

import pytest

from packages.command.tests.issuer_pages import FOLDER, outputs, pages, written
from packages.command.tests.sites import recorded
from tests.docs.pages import ROOT, page

SECTIONS = ["Switch on", "Parameters", "What will not work"]
ISSUERS = sorted(set(FOLDER.glob("*.md")) - {FOLDER / "README.md"})
PARAMETER = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)


@cache
def now() -> dict[str, str]:
    return outputs()


@pytest.mark.parametrize("path", list(pages()), ids=lambda path: path.stem)
def test_a_page_has_the_output_of_the_command(path: object) -> None:
    text = page(FOLDER / str(path)).text

    assert written(text, now()) == text, "run `python -m packages.command.tests.issuer_pages`"


def test_each_recorded_issuer_has_a_page_with_its_output() -> None:
    shown = {path.stem for path in pages()}

    assert {one.key for one in recorded()} <= shown
    assert len(shown) > 8


@pytest.mark.parametrize("path", ISSUERS, ids=lambda path: path.stem)
def test_the_pages_of_issuers_have_one_form_and_are_short(path: object) -> None:
    found = page(FOLDER / str(path))

    assert [heading for heading in found.headings[1:] if heading in SECTIONS] == SECTIONS
    assert len(found.text.splitlines()) < 80


@pytest.mark.parametrize("path", ISSUERS, ids=lambda path: path.stem)
def test_the_parameters_of_a_page_are_those_of_the_template(path: object) -> None:
    parameters = (ROOT / "stack.yaml").read_text(encoding="utf-8")
    named = PARAMETER.findall(page(FOLDER / str(path)).text)

    assert "Authorizer" in named
    assert [name for name in named if f"\n  {name}:\n" not in parameters] == []


def test_the_navigation_and_the_table_name_each_page() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    linked = set(page(FOLDER / "README.md").links)

    assert [path.name for path in ISSUERS if f"issuers/{path.name}" not in navigation] == []
    assert [path.name for path in ISSUERS if path.name not in linked] == []


def test_each_record_says_how_it_came_about() -> None:
    for one in recorded():
        assert one.kind in ("recorded", "assembled"), one.key
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", one.date), one.key
        assert len(one.source) > 10, one.key
        assert one.note, one.key
