"""What can be said of the card's page without a browser."""

import re
from html.parser import HTMLParser
from typing import Final

import pytest

from tests.extras.cards.host import PAGE

LARGEST: Final = 42_700  # bytes; a host's colors of buttons, and hosts without an assistant, took 204 of them
POLICY: Final = {
    "default-src": "'none'",
    "script-src": "'unsafe-inline'",
    "style-src": "'unsafe-inline'",
    "img-src": "data:",
    "font-src": "https: data:",  # the host's fonts, which its own policy lets through or not
    "base-uri": "'none'",
    "form-action": "'none'",
}


class Tags(HTMLParser):
    """The tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def page() -> str:
    """The page's text."""
    return PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tags(page: str) -> list[tuple[str, dict[str, str | None]]]:
    """The page's tags."""
    parser = Tags()
    parser.feed(page)
    return parser.seen


def rows_of(page: str) -> dict[str, list[str]]:
    """Return the page's words in all languages, by their key."""
    table = re.search(r"const WORDS = `\n(.*?)\n`;", page, re.DOTALL)
    assert table
    rows = [row.split(" | ") for row in table[1].splitlines()]
    assert len({row[0] for row in rows}) == len(rows)
    return {key: words for key, *words in rows}


def test_the_page_is_small() -> None:
    assert PAGE.stat().st_size <= LARGEST


def test_the_page_loads_nothing(page: str, tags: list[tuple[str, dict[str, str | None]]]) -> None:
    assert [tag for tag, attributes in tags if {"src", "href", "srcset", "data", "action"} & set(attributes)] == []
    assert not re.search(r"@import|url\(|\bimport\b|fetch\(|XMLHttpRequest|WebSocket|EventSource|sendBeacon", page)


def test_the_page_needs_nothing_but_scripts(page: str, tags: list[tuple[str, dict[str, str | None]]]) -> None:
    """A host may frame it with `allow-scripts` alone: no forms, no dialogs, no storage, no origin."""
    assert not {tag for tag, _ in tags} & {"form", "iframe", "object", "embed", "dialog"}
    assert not re.search(r"localStorage|sessionStorage|indexedDB|cookie|\b(alert|confirm|prompt)\(|el\(\"form", page)


def test_what_a_workflow_wrote_stays_text(page: str) -> None:
    code = page.partition("<script>")[2]

    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|DOMParser|\beval\(|new Function", code)


def test_the_page_has_a_policy_of_its_own(tags: list[tuple[str, dict[str, str | None]]]) -> None:
    (policy,) = [str(one["content"]) for _, one in tags if one.get("http-equiv") == "Content-Security-Policy"]

    assert dict(rule.split(" ", 1) for rule in policy.split("; ")) == POLICY


def test_each_language_has_all_words(page: str) -> None:
    rows = rows_of(page)

    assert {key for key, words in rows.items() if len(words) != 3 or not all(words)} == set()
    for words in rows.values():
        assert len({frozenset(re.findall(r"\{\w+\}", one)) for one in words}) == 1, words


def test_the_page_uses_the_words_that_it_has(page: str) -> None:
    code = page.partition("const STRINGS")[2]
    computed = {"working", "input_required", "completed", "failed", "cancelled", "loading", "email", "uri"}

    used = set(re.findall(r'say\("(\w+)"', code)) | set(re.findall(r'button\("(\w+)"', code))
    used |= {word for pair in re.findall(r'\? "(\w+)" : "(\w+)"', code) for word in pair}

    assert set(rows_of(page)) <= used | computed
    assert set(re.findall(r'(?:say|button)\("(\w+)"', code)) <= set(rows_of(page))
