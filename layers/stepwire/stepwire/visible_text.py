"""Texts that a person reads: what is in them is shown, and nothing in them acts.

A control or direction character in a value can hide or reorder the words around it, so it is written as an escape
(Unicode categories Cc, Cf, Zl and Zp). Whoever confirms a value must see where it begins and ends, so it is quoted.
"""

import re
from typing import Final

from stepwire.json_text import Json, write

LONGEST_VALUE: Final = 200  # characters of one value in a sentence
# A table of the categories would have to be made from all of Unicode when the module is loaded.
_CONTROL: Final = "\x00-\x1f\x7f-\x9f\u2028\u2029"
_FORMAT: Final = (
    "\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001"
    "\U000e0020-\U000e007f"
)
_INVISIBLE: Final = re.compile(f"[{_CONTROL}{_FORMAT}]")


def visible(text: str, keep: str = "") -> str:
    """Write control and direction characters as escapes, except those in `keep`."""
    return _INVISIBLE.sub(lambda found: found[0] if found[0] in keep else _escape(found[0]), text)


def quoted(value: Json) -> str:
    """Write a value into a sentence: as JSON, so a text has quotes around it; a long one is cut short."""
    if isinstance(value, str):
        return visible(write(value[:LONGEST_VALUE])) + _ellipsis(value)
    text = write(value)
    return visible(text[:LONGEST_VALUE]) + _ellipsis(text)


def _ellipsis(text: str) -> str:
    return "..." if len(text) > LONGEST_VALUE else ""


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - what four digits can write
