"""Text for people to read: every character is visible, and none changes how the others are displayed.

Control and direction characters (Unicode categories Cc, Cf, Zl and Zp) can hide or reorder the words around them, and
variation selectors and blank letters can carry words that only a model reads, so they are written as escapes. Values
are quoted, so that a user who confirms one sees where it begins and ends.
"""

import re
from typing import Final

from stepwire.json_text import Json, write

LONGEST_VALUE: Final = 200  # characters of one value in a sentence
# Computing this set from the Unicode categories would slow the import.
_CONTROL: Final = "\x00-\x1f\x7f-\x9f\u2028\u2029"
_FORMAT: Final = (
    "\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001"
    "\U000e0020-\U000e007f"
)
_BLANK: Final = (  # they take no room, or look like a space
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0e\uffa0\U000e0100-\U000e01ef"
)
_EMOJI: Final = "#*0-9\xa9\xae\u203c-\u3299\U0001f000-\U0001faff"
# Where it makes an emoji of a sign, the last variation selector shows.
_INVISIBLE: Final = re.compile(f"[{_CONTROL}{_FORMAT}{_BLANK}]|(?<![{_EMOJI}])\ufe0f")


def visible(text: str, keep: str = "") -> str:
    """Return the text with control and direction characters as escapes, except those in `keep`."""
    return _INVISIBLE.sub(lambda found: found[0] if found[0] in keep else _escape(found[0]), text)


def first_invisible(text: str, keep: str = "") -> str | None:
    """Return the first character that `visible` would escape; None if there is none."""
    return next((found[0] for found in _INVISIBLE.finditer(text) if found[0] not in keep), None)


def quoted(value: Json) -> str:
    """Return the value as JSON for use in a sentence, cut after `LONGEST_VALUE` characters."""
    if isinstance(value, str):
        return visible(write(value[:LONGEST_VALUE])) + _ellipsis(value)
    text = write(value)
    return visible(text[:LONGEST_VALUE]) + _ellipsis(text)


def _ellipsis(text: str) -> str:
    return "..." if len(text) > LONGEST_VALUE else ""


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - what four digits can write
