"""The options of `wrap` that extras add, as both command lines show them."""

from collections.abc import Iterator
from dataclasses import dataclass

from stepwire_wrap.parts import parts


@dataclass(frozen=True)
class Option:
    """An option that may be repeated."""

    name: str
    metavar: str
    help: str


def of_extras() -> Iterator[Option]:
    """Yield the options, in the order of the extras' names."""
    for part in parts("options"):
        yield from part.WRAP
