"""Data of which only a part tells one from another."""

from collections.abc import Hashable

from msgspec import Struct


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
