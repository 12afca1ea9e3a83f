"""The search of `find_tools`: which tools match the words of a query best. Loaded with the first search.

A word of the query is looked for in a tool's name, title, groups and description. It counts the more, the fewer tools
have it, the closer it is (the word itself, another form of it, the beginning of a longer word, a part of one), and the
shorter the field; and each further word that a tool has counts for all of them. Equal tools come by name. Each search
reads the texts anew, so nothing is kept for it.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from math import log
from typing import Final

from msgspec import Struct

from stepwire.catalog.tools import Tool
from stepwire.extras.search import CALL_TOOL
from stepwire.json_text import JsonObject, write
from stepwire.rendering import modern_tool

LARGEST_FOUND: Final = 40_000  # bytes of JSON, unless the best tool alone has more
MOST_NAMED: Final = 50
MOST_TERMS: Final = 12
_WEIGHTS: Final = (8, 6, 6, 3)  # of name, title, groups, description
_WORD: Final = re.compile(r"[^\W_]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ENDINGS: Final = ("ies", "ing", "ed", "es", "s", "y", "e")
_SHORTEST_STEM: Final = 3
_EVERYWHERE: Final = frozenset(_WORD.findall("a an and by can for from how i in is it me my of on or the to tool with"))
_SHOWN: Final = ("name", "title", "description", "inputSchema", "annotations")


class _Term(Struct, frozen=True):
    """A word of the query, and its other forms."""

    word: str
    stem: str
    """What all its forms begin with."""
    forms: frozenset[str]

    def closeness(self, text: str, words: Collection[str]) -> int:
        """Return how close the closest word of a text is; 0: none has the term in it. A space precedes each word."""
        if self.stem not in text:
            return 0
        if self.word in words:
            return 4
        if not self.forms.isdisjoint(words):
            return 3
        return 2 if f" {self.stem}" in text else 1


def find(tools: Sequence[Tool], query: str, limit: int) -> JsonObject:
    """Return the tools that match a query best, with what a model needs to call them."""
    terms = _terms(query)
    ranked = _ranked(tools, terms) if terms else list(tools)
    shown = list(_that_fit(ranked[:limit]))
    others = [tool.name for tool in ranked[len(shown) :]]
    data: JsonObject = {"tools": shown, "matches": len(ranked)}
    if others:
        data["others"] = others[:MOST_NAMED]
    if not ranked or not terms:
        data["groups"] = sorted({group for tool in tools for group in tool.groups})[:MOST_NAMED]
    data["instructions"] = (
        f"Call one with {CALL_TOOL}: its name, and arguments that match its inputSchema. Search for the name of one of "
        "the others to see its schema."
        if ranked
        else "Nothing matches. Search with other words, with the name of a group, or with an empty query for all."
    )
    return data


def _terms(query: str) -> list[_Term]:
    words = list(dict.fromkeys(_WORD.findall(_HUMP.sub(" ", query).casefold())))
    telling = [word for word in words if word not in _EVERYWHERE] or words
    return [_Term(word, stem := _stem(word), _forms_of(stem)) for word in telling[:MOST_TERMS]]


def _ranked(tools: Sequence[Tool], terms: Sequence[_Term]) -> list[Tool]:
    """Return the tools that have any of the terms, the best first."""
    found = [(tool, marks) for tool in tools if any(marks := _marks(tool, terms))]
    rarity = [log(1 + len(tools) / max(1, sum(marks[place] > 0 for _, marks in found))) for place in range(len(terms))]

    def score(one: tuple[Tool, list[int]]) -> tuple[float, str]:
        marks = sum(mark * rare for mark, rare in zip(one[1], rarity, strict=True))
        return -marks * sum(map(bool, one[1])), one[0].name

    return [tool for tool, _ in sorted(found, key=score)]


def _marks(tool: Tool, terms: Sequence[_Term]) -> list[int]:
    """Return for each term how well the tool matches it."""
    fields = (_HUMP.sub(" ", tool.name), tool.title or "", " ".join(tool.groups), tool.description)
    texts = [text.casefold() for text in fields]
    if not any(term.stem in text for term in terms for text in texts):
        return []  # nearly all tools
    listed = zip(_WEIGHTS, map(_WORD.findall, texts), strict=True)
    read = [(weight, f" {' '.join(words)}", frozenset(words)) for weight, words in listed]
    return [max(weight * term.closeness(text, words) for weight, text, words in read) for term in terms]


def _stem(word: str) -> str:
    endings = (one for one in _ENDINGS if word.endswith(one) and len(word) - len(one) >= _SHORTEST_STEM)
    return word.removesuffix(next(endings, ""))


def _forms_of(stem: str) -> frozenset[str]:
    """Return all words that have this stem."""
    return frozenset(form for end in ("", *_ENDINGS) if _stem(form := f"{stem}{end}") == stem)


def _that_fit(tools: Sequence[Tool]) -> Iterator[JsonObject]:
    size = 0
    for number, tool in enumerate(tools):
        listed = modern_tool(tool, as_task=True)
        shown: JsonObject = {name: listed[name] for name in _SHOWN if name in listed}
        if tool.groups:
            shown["groups"] = list(tool.groups)
        if tool.confirmation is not None:
            shown["asksForConfirmation"] = True
        size += len(write(shown).encode())
        if number and size > LARGEST_FOUND:
            return
        yield shown
