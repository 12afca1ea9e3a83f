"""What the states of a definition read of the execution's input, and what each read says of it."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from stepwire.json_text import Json, write
from stepwire_wrap.definitions.values import Path, Value, input_paths, input_paths_inside, is_input_alone

TEXT: Final = frozenset({"string"})
NUMBER: Final = frozenset({"number"})
WHOLE: Final = frozenset({"integer"})
FLAG: Final = frozenset({"boolean"})
LIST: Final = frozenset({"array"})
OBJECT: Final = frozenset({"object"})
ANY: Final = frozenset[str]()


@dataclass(frozen=True)
class Use:
    """What a state does with a value."""

    must: bool = False
    """Whether the state fails if the value is missing."""
    types: frozenset[str] = ANY
    """The JSON types that make sense; empty: any."""
    needed: bool = False
    """Whether another type makes the state fail, and is not only useless."""
    at_exit: bool = False
    """Whether it is read after the state's work, so that an error handler may come before."""
    compared: str | None = None
    """JSON text of a value that the definition compares it with."""
    allowed: tuple[str, ...] = ()
    """The only texts that a called service takes."""
    format: str | None = None
    loose: bool = False
    """Whether it may be read through lists: `a.b` may be the `b` of each item of `a`."""
    tested: bool = False
    """Whether the definition tests if it is there: it may be missing."""
    passed_on: bool = False
    """Whether the value goes whole to something that may read more of it."""
    place: str = ""
    """File and line of the code that reads it; empty: the definition itself does."""
    said: str = ""
    """What the code says of it, for its description."""
    default: str = ""
    """JSON text of what stands for it in the code if it is missing."""
    known: tuple[str, ...] = ()
    """The texts that the code compares it with."""


@dataclass(frozen=True)
class Read:
    """One use of a part of the input."""

    path: Path
    state: str
    use: Use
    certain: bool
    """False: an earlier state may have produced what is read here."""
    maps_lists: bool = False
    """Whether what is read of a list is read of each of its items, as JSONata does."""


@dataclass
class Reads:
    """Collects the reads of one state."""

    state: str
    found: list[Read] = field(default_factory=list[Read])
    unreadable: list[str] = field(default_factory=list[str])
    """Why expressions cannot be read, with their beginnings."""
    is_jsonata: bool = False
    passes_on: bool = True
    """Whether the state gives values to something that is not followed, as a task does."""

    def note(self, value: Value, use: Use) -> None:
        """Note that a state uses a value; what does not come from the input is not noted."""
        use = use if self.passes_on else replace(use, passed_on=False)
        certain, maps_lists = is_input_alone(value), self.is_jsonata and not use.place
        for path in input_paths(value):
            self.found.append(Read(path, self.state, use, certain, maps_lists))
        if use.passed_on and not certain:
            self.found += [Read(path, self.state, Use(passed_on=True), certain) for path in input_paths_inside(value)]

    def compare(self, value: Value, with_what: Json, types: frozenset[str]) -> None:
        """Note that a value is compared with one that the definition writes out."""
        self.note(value, Use(types=types, compared=write(with_what)))


def musts(reads: Iterable[Read], *, at_exit: bool) -> frozenset[Path]:
    """Return the paths without which a state fails, as it begins or later."""
    return frozenset(one.path for one in reads if one.use.must and one.certain and one.use.at_exit is at_exit)
