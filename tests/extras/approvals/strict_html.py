"""Reads HTML strictly: only the elements and attributes of the approvers' page, each closed, and its own style sheet.

A text that has become markup shows as an element, an attribute or a link that the page never has, or as one too many.
"""

from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Final

from stepwire.extras.approvals.page.markup import STYLE

_VOID: Final = frozenset({"input", "meta"})
_TAGS: Final = frozenset(
    (
        *("html", "head", "title", "style", "body", "header", "main", "div", "section", "h1", "h2", "p", "span", "a"),
        *("dl", "dt", "dd", "code", "time", "small", "form", "fieldset", "legend", "label", "textarea", "select"),
        *("option", "button"),
    )
)
_ATTRIBUTES: Final = frozenset(
    (
        *("charset", "name", "content", "lang", "class", "role", "datetime", "tabindex", "id", "for", "type", "value"),
        *("checked", "selected", "required", "autofocus", "formnovalidate", "autocomplete", "rows", "maxlength"),
        *("min", "max", "step", "method", "action", "href", "rel", "aria-label", "aria-describedby", "aria-invalid"),
    )
)


class Page(HTMLParser):
    """Reads a page, and raises AssertionError if it has anything that no page has."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        """Of its controls, by their names."""
        self._left: list[str] = []
        self._text = self._name = ""

    def read(self, html: str, *, is_empty: bool = False) -> "Page":
        """Read a page, or what a response without one has."""
        assert (not html) == is_empty, "only a redirect and a response without a body have no page"
        self.feed(html)
        self.close()
        assert self._left == [], "every element must be closed"
        assert is_empty or html.startswith("<!doctype html>\n<html"), "a page is HTML"
        styles = html.count("<style"), html.count(f"<style>{STYLE}</style>")
        assert styles == ((0, 0) if is_empty else (1, 1)), "a page has its own style sheet alone"
        return self

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        assert tag in _TAGS | _VOID, f"<{tag}> is no element of the page"
        given = dict(attrs)
        assert given.keys() <= _ATTRIBUTES, f"<{tag}> must not have {given.keys() - _ATTRIBUTES}"
        assert len(given) == len(attrs), f"<{tag}> has an attribute twice"
        for name in ("href", "action"):
            assert (given.get(name) or "/approvals/").startswith("/approvals/"), "links lead to this page alone"
        if tag in _VOID:
            self.values[given.get("name") or ""] = given.get("value") or ""
            return
        self._left.append(tag)
        self._text, self._name = "", given.get("name") or ""

    def handle_endtag(self, tag: str) -> None:
        assert self._left.pop() == tag, f"</{tag}> closes nothing"
        if tag == "textarea":
            self.values[self._name] = self._text.removeprefix("\n")

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError("the page has no comment")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError("the page has no such declaration")
