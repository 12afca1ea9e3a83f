r"""Which regular expressions Python matches in a time that grows with the text, and no faster.

Python's `re` goes back and tries again, and nothing ends it: `^(a+)+$` takes hours for forty letters. The rule: a
pattern is held to be slow unless it is plainly not. Plain is one that repeats nothing; or that begins with the text,
has no choice, repeats no group, and repeats at most one character a varying number of times.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, cast

_PARTS: Final = re.compile(
    r"(?P<escape>\\.)|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<fixed>\{\d+\})|(?P<varying>[*+?]|\{\d*,\d*\})|(?P<other>.)",
    re.DOTALL,
)
_LONGEST: Final = 1_000  # characters


def is_fast(pattern: str) -> bool:
    """Tell whether a pattern is plainly matched in linear time."""
    if len(pattern) > _LONGEST:
        return False
    fixed = varying = 0
    before, has_choice = "", False
    for part in _PARTS.finditer(pattern):
        text, kind = part[0], part.lastgroup
        if kind in ("fixed", "varying") and before in (")", "("):  # a group that is repeated, or a look-around
            return False
        if kind == "escape" and text[1].isdigit():  # what a group has matched, once more
            return False
        fixed += kind == "fixed"
        varying += kind == "varying"
        has_choice |= text == "|"
        before = text
    return fixed + varying == 0 or (varying <= 1 and pattern.startswith("^") and not has_choice)


def has_slow_pattern(schema: object) -> bool:
    """Tell whether a JSON Schema has a pattern that may be slow, anywhere in it."""
    return any(not is_fast(pattern) for pattern in _patterns_in(schema))


def _patterns_in(schema: object) -> Iterator[str]:
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            members = cast("dict[str, Any]", one)
            waiting += members.values()
            if isinstance(members.get("pattern"), str):
                yield members["pattern"]
            if isinstance(members.get("patternProperties"), dict):
                yield from cast("dict[str, Any]", members["patternProperties"])
        elif isinstance(one, list):
            waiting += cast("list[Any]", one)
