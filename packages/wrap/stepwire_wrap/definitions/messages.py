"""Texts that a state makes of values (`States.Format`, JSONata's `&`), taken apart and put together as JSONata. Pure.

The rule: what is not plain is not guessed. Where a link, a token or an expression that is not followed begins, the text
ends with the last whole sentence before it.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from stepwire.json_text import write
from stepwire_wrap.definitions.payloads import arguments_in

_FORMAT: Final = re.compile(r"\s*States\.Format\s*\((.*)\)\s*", re.DOTALL)
_PLACE: Final = re.compile(r"(?<!\\)\{\}")
_ESCAPED: Final = re.compile(r"\\([\\'\"{}])")
_PIECE: Final = re.compile(r"\s*(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|([^'\"&]+?))\s*(?:&|$)")
_VALUE: Final = re.compile(r"\$states\.input(\.[\w`]+)+|\$(?!states\b)\w+(\.[\w`]+)*")
_STRING: Final = re.compile(r"\$string\((.*)\)")
_NOT_SHOWN: Final = re.compile(r"https?://|token|[\n\r]", re.IGNORECASE)
_SENTENCES: Final = re.compile(r".*[.!?]", re.DOTALL)
_FEWEST_WORDS: Final = 2


@dataclass(frozen=True)
class Piece:
    """A part of a text: words, or the expression of a value."""

    words: str = ""
    value: str = ""

    @property
    def expression(self) -> str:
        """Return it as JSONata."""
        return f"$string({self.value})" if self.value else quoted(self.words)


def formatted(text: str, in_jsonata: Callable[[str], str | None]) -> list[Piece]:
    """Return the pieces of what `States.Format` makes; none if it makes no sentence with a value.

    Args:
        text: the call.
        in_jsonata: returns a JSONPath as JSONata, or None.
    """
    call = _FORMAT.fullmatch(text)
    template, *given = list(arguments_in(call[1])) if call is not None else [""]
    if not (template.startswith("'") and template.endswith("'")):
        return []
    words = [_ESCAPED.sub(r"\1", one) for one in _PLACE.split(template[1:-1])]
    values = [in_jsonata(one) for one in given]
    found = [Piece(words[0])]
    for one, value in zip(words[1:], values, strict=False):
        found += [Piece(value=value) if value else Piece("token"), Piece(one)]
    return _whole(found)


def joined_in(expression: str) -> list[Piece]:
    """Return the pieces of a JSONata expression that joins texts and values; none if it is another."""
    found, at = list[Piece](), 0
    while at < len(expression):
        piece = _PIECE.match(expression, at)
        if piece is None:
            return []
        single, double, other = piece.groups()
        found.append(_value(other) if other is not None else Piece(_ESCAPED.sub(r"\1", single or double or "")))
        at = piece.end()
    return _whole(found)


def _value(text: str) -> Piece:
    inner = _STRING.fullmatch(text)
    value = inner[1] if inner is not None else text
    return Piece(value=value) if _VALUE.fullmatch(value) else Piece("token")


def _whole(pieces: Sequence[Piece]) -> list[Piece]:
    """Return the sentences before what is not shown; nothing if no value is in them, or hardly a word."""
    shown = [one for one in pieces if one.words or one.value]
    end = next((number for number, one in enumerate(shown) if _NOT_SHOWN.search(one.words)), None)
    if end is not None:
        shown = [*shown[:end], Piece(_NOT_SHOWN.split(shown[end].words)[0])]
        while shown and not _SENTENCES.match(shown[-1].words):
            shown.pop()
        shown[-1:] = [Piece(found[0]) for one in shown[-1:] if (found := _SENTENCES.match(one.words))]
    words = " ".join(one.words for one in shown).split()
    return shown if len(words) >= _FEWEST_WORDS and any(one.value for one in shown) else []


def quoted(text: str) -> str:
    """Return a text as JSONata, which knows the escapes of JSON alone."""
    return write(text) if "'" in text else "'" + write(text)[1:-1].replace('\\"', '"') + "'"
