"""The stored form of data: JSON, by the fields of a type; times, in whole milliseconds; and equality by a key.

In JSON, the fields of a type say its stored form, and a default is left out. Times are ISO 8601 texts there, sets are
sorted, and alternatives of a union name their type (`tag`). Decoding checks types.
"""

import threading
from collections.abc import Collection, Hashable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

T = TypeVar("T")

NO_TIME: Final = timedelta()
"""The default of a duration. msgspec leaves out a default only if it is the same object, and which zeros are that
depends on the version of Python, so a zero that is not this one must be replaced by it."""


def encode(value: Any) -> str:
    """Return a value as JSON text."""
    return _ENCODER.encode(value).decode()


def encode_without(kept_elsewhere: Collection[str], value: msgspec.Struct) -> str:
    """Return a value as JSON text, without the fields that are kept elsewhere; `decode` wants them."""
    defaults = _defaults_of(type(value))
    fields = msgspec.to_builtins(value, order="deterministic")
    # Whatever equals its default, not only the same object.
    left = {
        name: field
        for name, field in fields.items()
        if name not in kept_elsewhere and getattr(value, name) != defaults[name]
    }
    return _IN_ORDER.encode(left).decode()


def decode(text: str | msgspec.Raw, to: type[T], **kept_elsewhere: Any) -> T:
    """Return the value of a JSON text, with the fields that are kept elsewhere.

    Raises:
        msgspec.ValidationError: it is not the text of a value of this type.
    """
    if not kept_elsewhere:
        return _decoder(to).decode(text)
    return value_of(_decoder(dict).decode(text) | kept_elsewhere, to)


def object_of(value: msgspec.Struct) -> dict[str, Any]:
    """Return a value as parsed JSON, of which `value_of` makes it again."""
    return _decoder(dict).decode(encode(value))


def value_of(data: Any, to: type[T]) -> T:
    """Return the value of parsed JSON.

    Raises:
        msgspec.ValidationError: it is not that of a value of this type.
    """
    _decoder(to)
    return msgspec.convert(data, to)


_ENCODER: Final = msgspec.json.Encoder(order="deterministic")
_IN_ORDER: Final = msgspec.json.Encoder()
_DECODERS: Final[dict[Any, Any]] = {}
_DESCRIBING: Final = threading.Lock()


def _decoder(to: Any) -> Any:
    # msgspec describes a type when it first decodes one. A thread that decodes meanwhile reads half of the description,
    # and the process dies.
    if to not in _DECODERS:
        with _DESCRIBING:
            _DECODERS[to] = msgspec.json.Decoder(to)
    return _DECODERS[to]


@cache
def _defaults_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    return {one.name: one.default for one in msgspec.structs.fields(kind)}


# ------------------------------------------------------------------------------------------------------------- equality


class Keyed(Struct, frozen=True, eq=False):
    """Data that are equal if they are of one type and have equal keys."""

    def _key(self) -> Hashable:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Keyed) and type(other) is type(self) and other._key() == self._key()

    def __ne__(self, other: object) -> bool:  # a struct's own compares all fields
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self), self._key()))


# ---------------------------------------------------------------------------------------------------------------- times

MILLISECOND: Final = timedelta(milliseconds=1)
_SECOND: Final = timedelta(seconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def milliseconds_of(moment: datetime) -> int:
    """Return a time in milliseconds, rounded down."""
    return (moment - _EPOCH) // MILLISECOND


def moment_of(milliseconds: int) -> datetime:
    """Return the time of a number of milliseconds."""
    return _EPOCH + milliseconds * MILLISECOND


def seconds_of(moment: datetime) -> int:
    """Return a time in seconds, rounded up, as the TTL attribute has it."""
    return -((_EPOCH - moment) // _SECOND)


def moment_of_seconds(seconds: float) -> datetime:
    """Return the time of a number of seconds."""
    return _EPOCH + timedelta(seconds=seconds)
