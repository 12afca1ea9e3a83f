"""Strict JSON: text to values and back.

Text that two readers could understand differently is refused: a duplicate key, NaN, or a number that would lose digits
in Step Functions or in a JavaScript client. The depth of every returned value is bounded, so recursive callers are
safe.
"""

import gc
import json
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import partial
from math import isnan, nan
from typing import Any, Final, TypeAlias, cast

from msgspec import Struct

# `Any`: a recursive alias would need a cast at every access; each use checks the shape it needs.
Json: TypeAlias = Any
JsonObject: TypeAlias = dict[str, Any]

# RFC 7493: the largest integer that every JSON reader holds exactly.
LARGEST_INTEGER: Final = 2**53 - 1

_ALWAYS_KEPT: Final = 16  # characters: with a point or an exponent, these are at most 15 digits
# Text within these limits is read by the standard library alone, which accepts the same, so a small request does not
# load pydantic-core.
_SHORT: Final = 4_000  # bytes; fewer digits than an integer of Python may have
_SHALLOW: Final = 100  # brackets that open, so at most as many levels
_NEVER_KEPT: Final = 400  # characters: no writer prints a double with so many
_SMALLEST_NORMAL: Final = 1e-307  # below, doubles have fewer digits


class JsonTextError(ValueError):
    """The text is not acceptable JSON; the message says why and is safe to send to a client."""


def parse(text: bytes | str) -> Json:
    """Return the one JSON value of a text that every reader understands alike.

    Raises:
        JsonTextError: the text is not JSON (see `examine`); a key occurs twice in one object; or a number loses digits:
            an integer beyond ±(2^53 - 1), or a decimal that no writer prints for a double (with 15 to 17 digits, or
            with the fewest that identify it).
    """
    reading = examine(text)
    problem = reading.duplicate_key or reading.inexact_number
    if problem is not None:
        raise JsonTextError(problem)
    return reading.value


class Reading(Struct):
    """A JSON value, with the reasons for which a strict reader refuses it."""

    value: Json = None
    """The value, with NaN in place of each number that loses digits; `write` refuses NaN."""
    duplicate_key: str | None = None
    """Names the key that occurs twice in one object; None where no key does."""
    inexact_number: str | None = None
    """Says why a number cannot be read exactly; None where all can."""
    top_level_keys: tuple[str, ...] = ()
    """The keys of the outermost object, duplicates included."""


def examine(text: bytes | str) -> Reading:
    """Return the JSON value of a text, with what two readers could understand differently.

    Raises:
        JsonTextError: not UTF-8, not JSON, NaN or an infinity, or nested deeper than about 200 levels.
    """
    if _is_small(text):
        return _read(text)
    # Two readers: the first bounds the depth and reports the position of an error; the second sees duplicate keys.
    with _without_collections():
        _check_syntax(text)
        return _read(text)


@contextmanager
def _without_collections() -> Generator[None]:
    """Keep the garbage collector from searching all objects of the function again for each thousand that are read.

    JSON has no cycles, so there is nothing to find.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _read(text: bytes | str) -> Reading:
    reading = Reading()
    try:
        reading.value = json.loads(
            text if isinstance(text, str) else text.decode(),
            object_pairs_hook=partial(_members, reading),
            parse_int=partial(_integer, reading),
            parse_float=partial(_number, reading),
            parse_constant=_refuse_constant,
        )
    except ValueError as error:
        _check_syntax(text)  # has better words for it
        raise JsonTextError(str(error)) from None
    return reading


def write(value: Json) -> str:
    """Return a JSON value as compact text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def load_json(text: str) -> Json:
    """Return the value of text that `write` produced, unchecked: it may be nested deeper than `parse` allows."""
    return json.loads(text)


def is_exact(value: Json) -> bool:
    """Tell whether a value from `examine` has no number that loses digits."""
    if isinstance(value, dict):
        return all(map(is_exact, cast(JsonObject, value).values()))
    if isinstance(value, list):
        return all(map(is_exact, cast(list[Json], value)))
    return not (isinstance(value, float) and isnan(value))


def equal_form(value: Json) -> Json:
    """Return the value with 1.0 as 1, so that values which JSON Schema considers equal have the same text."""
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
    """Return the value if it is a JSON object, else an empty object."""
    return cast(JsonObject, value) if isinstance(value, dict) else {}


def as_list(value: Json) -> list[Json]:
    """Return the value if it is a JSON array, else an empty list."""
    return cast(list[Json], value) if isinstance(value, list) else []


def objects_in(value: Json) -> list[JsonObject]:
    """Return the objects of a JSON array, or the one that a value is; whatever else there is counts as none."""
    listed = cast(list[Json], value) if isinstance(value, list) else [value]
    return [cast(JsonObject, one) for one in listed if isinstance(one, dict)]


def _is_small(text: bytes | str) -> bool:
    """Tell whether the standard library reads the text as the strict reader does."""
    try:
        data = text.encode() if isinstance(text, str) else text
    except UnicodeEncodeError:
        return False
    # Python accepts an escaped lone surrogate.
    is_escaped = b"\\ud" in data or b"\\uD" in data
    return len(data) <= _SHORT and data.count(b"[") + data.count(b"{") <= _SHALLOW and not is_escaped


def _refuse_constant(name: str) -> None:
    raise JsonTextError(f"{name} is not JSON")


def _check_syntax(text: bytes | str) -> None:
    import pydantic_core  # noqa: PLC0415 - takes longer to load than a small request to be read

    try:
        # Encoded here, so that a lone surrogate is an error like any other.
        pydantic_core.from_json(text.encode() if isinstance(text, str) else text, allow_inf_nan=False)
    except ValueError as error:
        raise JsonTextError(str(error)) from None


def _members(reading: Reading, pairs: list[tuple[str, Json]]) -> JsonObject:
    members = dict(pairs)
    if len(members) != len(pairs) and reading.duplicate_key is None:
        twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        reading.duplicate_key = f"the key {twice[:80]!r} is given twice in one object"
    reading.top_level_keys = tuple(name for name, _ in pairs)  # the outermost object is read last
    return members


def _integer(reading: Reading, digits: str) -> float:
    # The length is checked first: converting a long text to a number is slow.
    value = int(digits) if len(digits) <= len(str(LARGEST_INTEGER)) + 1 else LARGEST_INTEGER + 1
    if abs(value) <= LARGEST_INTEGER:
        return value
    reading.inexact_number = "an integer is beyond ±(2^53 - 1) and would lose digits; send it as a string"
    return nan


def _number(reading: Reading, digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        reading.inexact_number = "a number is too large; send it as a string"
        return nan
    if not _keeps_digits(digits, value):
        reading.inexact_number = f"the number {digits[:40]} would lose digits; send it as a string"
        return nan
    return value


def _keeps_digits(digits: str, value: float) -> bool:
    # The fast checks come first: a body may contain hundreds of thousands of numbers.
    if len(digits) <= _ALWAYS_KEPT and abs(value) >= _SMALLEST_NORMAL:
        return True
    if repr(value) == digits.lower():
        return True
    if not value:
        return not digits.lower().partition("e")[0].strip("-0.")
    if len(digits) > _NEVER_KEPT or abs(value) < _SMALLEST_NORMAL:
        return False
    from decimal import Decimal  # noqa: PLC0415 - few numbers come this far

    exact = Decimal(digits)
    return any(Decimal(f"{value:.{count}g}") == exact for count in (17, 16, 15))
