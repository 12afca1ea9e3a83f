"""JSON text to values and back, strictly.

What two readers could understand differently is refused, never guessed: a key given twice, NaN, a number that loses
digits on its way through Step Functions or a JavaScript client. Nothing that this module returns is nested deeper than
its reader allows, so nobody after it needs to fear recursion.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from math import isnan, nan
from typing import Any, Final, TypeAlias, cast

import pydantic_core

# `Any` inside: a recursive alias would make every access a cast, and the shape is checked where it is used.
Json: TypeAlias = Any
JsonObject: TypeAlias = dict[str, Any]

# RFC 7493: what every JSON reader holds exactly.
LARGEST_INTEGER: Final = 2**53 - 1

_ALWAYS_KEPT: Final = 16  # characters: with a point or an exponent, these are at most 15 digits
_NEVER_KEPT: Final = 400  # characters: no writer prints a double with so many
_SMALLEST_NORMAL: Final = 1e-307  # below, doubles have fewer digits


class JsonTextError(ValueError):
    """The text is not JSON that can be accepted; the message says why and is safe to send."""


def parse(text: bytes | str) -> Json:
    """Read one JSON value.

    Raises:
        JsonTextError: it is no JSON (see `glance`), or one that readers understand differently (see `reread`).
    """
    # Why two readers: the first is bounded in depth and names the place; the second sees keys given twice.
    glance(text)
    return reread(text)


def glance(text: bytes | str) -> Json:
    """Read one JSON value as some reader would, to know what it is about; not to be acted on.

    Raises:
        JsonTextError: not UTF-8, not JSON, NaN or an infinity, or nested deeper than about 200 levels.
    """
    try:
        # As bytes: half a character in a text is then an error like any other.
        return pydantic_core.from_json(text.encode() if isinstance(text, str) else text, allow_inf_nan=False)
    except ValueError as error:
        raise JsonTextError(str(error)) from None


def reread(text: bytes | str) -> Json:
    """Read one JSON value that has passed `glance`.

    Raises:
        JsonTextError: a key is given twice, or a number loses digits: an integer beyond ±(2^53 - 1), or a decimal that
            is not what some writer prints for a double (with 15 to 17 digits, or the fewest that tell it from others).
    """
    reading = examine(text)
    problem = reading.repeated or reading.inexact
    if problem is not None:
        raise JsonTextError(problem)
    return reading.value


@dataclass
class Reading:
    """A JSON value, and why it cannot be taken as it is."""

    value: Json = None
    """What was read, with NaN in place of each number that loses digits: nothing that `write` takes."""
    repeated: str | None = None
    """Says which key is given twice in one object; None: none is."""
    inexact: str | None = None
    """Says why a number cannot be read exactly; None: all can."""
    outermost: tuple[str, ...] = ()
    """The keys of the outermost object, each as often as it is given."""


def examine(text: bytes | str) -> Reading:
    """Read one JSON value that has passed `glance`, and say what two readers could understand differently."""
    reading = Reading()
    reading.value = json.loads(
        text,
        object_pairs_hook=partial(_members, reading),
        parse_int=partial(_integer, reading),
        parse_float=partial(_number, reading),
    )
    return reading


def write(value: Json) -> str:
    """Write a JSON value as compact text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def read_back(text: str) -> Json:
    """Read what `write` wrote. Nothing is refused: what was accepted may be wrapped by now, and so be deeper."""
    return json.loads(text)


def is_exact(value: Json) -> bool:
    """Tell whether a value that was read by `examine` has no number that loses digits."""
    if isinstance(value, dict):
        return all(map(is_exact, cast(JsonObject, value).values()))
    if isinstance(value, list):
        return all(map(is_exact, cast(list[Json], value)))
    return not (isinstance(value, float) and isnan(value))


def equal_form(value: Json) -> Json:
    """Return the value with 1.0 as 1, so that values which JSON Schema takes for equal are written alike."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST_INTEGER:
        return int(value)
    if isinstance(value, dict):
        return {name: equal_form(item) for name, item in cast(JsonObject, value).items()}
    if isinstance(value, list):
        return [equal_form(item) for item in cast(list[Json], value)]
    return value


def is_object(value: Json) -> bool:
    """Tell whether a value is a JSON object."""
    return isinstance(value, Mapping)


def as_object(value: Json) -> JsonObject:
    """Give the value back if it is a JSON object, else an empty one."""
    return cast(JsonObject, value) if isinstance(value, dict) else {}


def _members(reading: Reading, pairs: list[tuple[str, Json]]) -> JsonObject:
    members = dict(pairs)
    if len(members) != len(pairs) and reading.repeated is None:
        twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        reading.repeated = f"the key {twice[:80]!r} is given twice in one object"
    reading.outermost = tuple(name for name, _ in pairs)  # an object is read after those that it holds
    return members


def _integer(reading: Reading, digits: str) -> float:
    # The length comes first: turning a long text into a number is slow.
    value = int(digits) if len(digits) <= len(str(LARGEST_INTEGER)) + 1 else LARGEST_INTEGER + 1
    if abs(value) <= LARGEST_INTEGER:
        return value
    reading.inexact = "an integer is beyond ±(2^53 - 1) and would lose digits; send it as a string"
    return nan


def _number(reading: Reading, digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        reading.inexact = "a number is too large; send it as a string"
        return nan
    if not _keeps_digits(digits, value):
        reading.inexact = f"the number {digits[:40]} would lose digits; send it as a string"
        return nan
    return value


def _keeps_digits(digits: str, value: float) -> bool:
    # The quick answers come first: a body may have hundreds of thousands of numbers.
    if len(digits) <= _ALWAYS_KEPT and abs(value) >= _SMALLEST_NORMAL:
        return True
    if repr(value) == digits.lower():
        return True
    if not value:
        return not digits.lower().partition("e")[0].strip("-0.")
    if len(digits) > _NEVER_KEPT or abs(value) < _SMALLEST_NORMAL:
        return False
    exact = Decimal(digits)
    return any(Decimal(f"{value:.{count}g}") == exact for count in (17, 16, 15))
