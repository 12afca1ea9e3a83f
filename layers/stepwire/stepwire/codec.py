"""Data to JSON and back: the fields of a type say its stored form, and a default is left out.

Times are ISO 8601 texts, sets are sorted, and alternatives of a union name their type (`tag`). Decoding checks types.
"""

import threading
from collections.abc import Collection
from datetime import timedelta
from functools import cache
from typing import Any, Final, TypeVar

import msgspec

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
