"""Text of others for people to read: every character is visible, and none changes how the others are displayed.

The rule: the list of characters is a copy of that in `stepwire.visible_text`, so that the commands that call tools
import nothing of stepwire-kit; a test holds the two together.
"""

import json
import re
from typing import Any, Final

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
_LAID_OUT: Final = "\n\t"


def plain(text: str, keep: str = _LAID_OUT) -> str:
    """Return a text with each invisible character as an escape, except those in `keep`."""
    return _INVISIBLE.sub(lambda found: found[0] if found[0] in keep else _escape(found[0]), text)


def indented(text: str, width: int = 2) -> str:
    """Return a plain text whose later lines are indented, so that none looks like a line of the command's own."""
    return plain(text).rstrip("\n").replace("\n", f"\n{' ' * width}")


def json_text(value: Any, indent: int | None = None) -> str:
    """Return JSON in which each invisible character is written as JSON escapes it: the value stays the same."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _INVISIBLE.sub(lambda found: found[0] if found[0] == "\n" else json.dumps(found[0])[1:-1], text)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - what four digits can write
