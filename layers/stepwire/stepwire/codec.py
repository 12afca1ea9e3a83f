"""Data to JSON and back: the fields of a type say its stored form, and a default is left out.

Times are ISO 8601 texts, sets are sorted, and alternatives of a union name their type (`tag`). Decoding checks types.
"""

from functools import cache
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


def encode(value: Any) -> str:
    """Return a value as JSON text."""
    return _encoder().encode(value).decode()


def decode(text: str, to: type[T]) -> T:
    """Return the value of a JSON text.

    Raises:
        msgspec.ValidationError: it is not the text of a value of this type.
    """
    return _decoder(to).decode(text)


@cache
def _encoder() -> msgspec.json.Encoder:
    return msgspec.json.Encoder(order="deterministic")


@cache
def _decoder(to: Any) -> Any:
    return msgspec.json.Decoder(to)
