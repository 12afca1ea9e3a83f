"""What is noted while an event is followed: which parts are read, and whether a run can do without them."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, TypedDict, Unpack

from stepwire.json_text import write
from stepwire_wrap.code.tree import Expression, Function, Literal, Shape
from stepwire_wrap.code.values import (
    ANYTHING,
    At,
    Class,
    Object,
    Scope,
    Value,
    is_certain,
    is_one_part,
    item,
    member,
    paths_of,
)
from stepwire_wrap.definitions.values import EACH

DEEPEST: Final = 6  # calls inside calls, types inside types
_DEEPEST_PATH: Final = 10
Importer = Callable[[Scope, str, str | None], Value]
"""Return what a file, or a name in it, is: from where, which module, which name."""


@dataclass(frozen=True)
class Found:
    """One use of a part of the event."""

    path: tuple[str, ...]
    place: str
    must: bool = False
    types: frozenset[str] = frozenset()
    tested: bool = False
    passed_on: bool = False
    compared: tuple[str | int | float | bool | None, ...] = ()
    said: str = ""
    default: str = ""
    """JSON text of what stands for it if it is missing."""
    is_sure: bool = False
    """Whether the code relies on it whatever the rest of the event is."""
    held: bool = False
    """Whether it is `name in value` alone, which a text or a list may answer too."""
    checked: bool = False
    """Whether the code ends with an error without it, whatever else it looks for."""


class _Uses(TypedDict, total=False):
    must: bool
    types: frozenset[str]
    tested: bool
    passed_on: bool
    compared: tuple[str | int | float | bool | None, ...]
    said: str
    default: str
    is_sure: bool
    held: bool
    checked: bool


@dataclass
class Notes:
    """The notes of one walk through a program."""

    importer: Importer
    found: list[Found] = field(default_factory=list[Found])
    type_tested: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])
    written: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])
    """Parts of the event that the code itself has put there."""
    changed: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])
    """Parts of the event that the code may have put there."""
    is_certain: bool = True
    """Whether what is looked at is evaluated in each run."""
    is_chosen: bool = False
    """Whether what is looked at is evaluated for some events only: behind a test, or an early return."""
    is_quiet: bool = False
    """Whether what is looked at only gets written down."""
    calls: list[Function] = field(default_factory=list[Function])
    returned: list[list[Value]] = field(default_factory=list[list[Value]])
    steps: int = 0
    evaluated: dict[int, Value] = field(default_factory=dict[int, Value])
    """What each expression gave last, by its `id`."""

    @contextmanager
    def perhaps(self, *, is_chosen: bool = False) -> Generator[None]:
        """Follow what may be evaluated or not; `is_chosen`: as a test of the event may choose."""
        was, self.is_certain = (self.is_certain, self.is_chosen), False
        self.is_chosen |= is_chosen
        yield
        self.is_certain, self.is_chosen = was

    def named(self, name: str, scope: Scope) -> Value:
        """Return what a name means, in this file or in the one that it is imported from."""
        found = scope.look_up(name)
        if found is not None:
            return found
        home = scope.outermost
        if name in home.program.imports:
            imported = home.program.imports[name]
            found = self.importer(home, imported.module, imported.name)
        elif name in home.program.shapes:
            found = (Class(home.program.shapes[name], home),)
        else:
            return ANYTHING
        home.names[name] = found
        return found

    def read(self, value: Value, name: str, line: int, scope: Scope, *, must: bool = False) -> Value:
        """Note that a member is read, and return it."""
        inner = member(value, name)
        self.note(inner, line, scope, must=must and not _is_of_items(inner))
        return tuple(ANYTHING[0] if isinstance(one, At) and self._is_written(one.path) else one for one in inner)

    def needed(self, value: Value, line: int, scope: Scope, types: frozenset[str]) -> None:
        """Note that the code fails if a value is missing."""
        self.note(value, line, scope, must=not _is_of_items(value), types=types)

    def missing(self, value: Value, default: Expression, line: int, scope: Scope) -> None:
        """Note that a value may be missing, and what stands for it then."""
        said = write(default.value) if isinstance(default, Literal) and default.value not in (None, "") else ""
        self.note(value, line, scope, tested=True, default=said)

    def escape(self, value: Value, line: int, scope: Scope) -> None:
        """Note that a value goes where it is not followed."""
        if self.is_quiet:
            return
        for one in value:
            if isinstance(one, At):
                self.note((one,), line, scope, passed_on=True)
            elif isinstance(one, Object):
                for _, inner in one.members:
                    self.escape(inner, line, scope)
                self.escape(one.base, line, scope)

    def note(self, value: Value, line: int, scope: Scope, **uses: Unpack[_Uses]) -> None:
        """Note a use of a value."""
        sure = is_one_part(value) and not self.is_chosen
        place = f"{scope.place}:{line}" if line else ""
        for path in paths_of(value):
            if not self._is_written(path) and len(path) <= _DEEPEST_PATH:
                found = Found(path, place, **uses)
                must = found.must and is_certain(value) and self.is_certain and not self._may_be_written(path)
                checked = found.checked and must
                self.found.append(replace(found, must=must, checked=checked, is_sure=found.is_sure or sure))

    def _is_written(self, path: tuple[str, ...]) -> bool:
        return any(path[: len(one)] == one for one in self.written)

    def _may_be_written(self, path: tuple[str, ...]) -> bool:
        return any(path[: len(one)] == one for one in self.changed)

    def declared(self, value: Value, shape: Shape, home: Scope, *, is_checked: bool = True, depth: int = 0) -> None:
        """Note what a type says of a value."""
        if depth > DEEPEST or not paths_of(value):
            return
        shape, home = self._whole(shape, home)
        for name, one in shape.members.items():
            inner, (within, there) = member(value, name), self._whole(one.shape, home)
            must = is_checked and shape.is_checked and one.is_required and is_certain(inner)
            texts = within.values if within.types == frozenset({"string"}) else ()
            self.note(
                inner, one.line, home, must=must, types=within.types, said=one.said, default=one.default,
                compared=texts,
                tested=not one.is_required and not must, is_sure=True,
            )  # fmt: skip
            self.declared(inner, within, there, is_checked=is_checked, depth=depth + 1)
        if shape.items is not None:
            self.declared(item(value), shape.items, home, is_checked=is_checked, depth=depth + 1)

    def _whole(self, shape: Shape, home: Scope) -> "tuple[Shape, Scope]":
        """Return a type with what it gets from the type that it names: itself, or what it extends."""
        if not shape.name:
            return shape, home
        named = next((one for one in self.named(shape.name, home) if isinstance(one, Class)), None)
        if named is None or named.shape is shape:
            return replace(shape, name=""), home
        base, there = self._whole(named.shape, named.scope)
        if not shape.members:
            return replace(base, types=base.types | (shape.types & {"null"})), there
        is_checked = shape.is_checked or base.is_checked
        return replace(shape, members={**base.members, **shape.members}, name="", is_checked=is_checked), home


def _is_of_items(value: Value) -> bool:
    """Tell whether a value may be inside an item of a list: what one item has, another need not have."""
    return any(EACH in path for path in paths_of(value))
