"""What a value of a running function may be: a part of its event, something put together, or anything."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, TypeAlias

from stepwire_wrap.code.tree import Function, Program, Shape
from stepwire_wrap.definitions.values import DEEPEST, EACH

JSON_TEXT: Final = "{}"
"""The step of a path that stands for what a JSON text says."""
_MOST: Final = 5
_MOST_MEMBERS: Final = 200  # that are put into an object one by one; more would take quadratic time


@dataclass(frozen=True)
class At:
    """The part of the event at a path."""

    path: tuple[str, ...]


@dataclass(frozen=True)
class Object:
    """An object that was put together."""

    members: "tuple[tuple[str, Value], ...]"
    base: "Value" = ()
    """Where its other members come from."""

    @cached_property
    def levels(self) -> int:
        """How many objects are inside one another."""
        inner = [value for _, value in self.members] + [self.base]
        return 1 + max((one.levels for value in inner for one in value if isinstance(one, Object)), default=0)


@dataclass(frozen=True)
class Known:
    """A value that the code writes out."""

    value: str | int | float | bool | None
    is_default: bool = False
    """Whether it stands for a part of the event that is missing."""


@dataclass(frozen=True)
class Converted:
    """The number that is made of the part of the event at a path; none, or a false one, if that is missing."""

    path: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Code:
    """A function, with the names that it sees."""

    function: Function
    scope: "Scope"


@dataclass(frozen=True, eq=False)
class Class:
    """A type of which values can be made."""

    shape: Shape
    scope: "Scope"


@dataclass(frozen=True, eq=False)
class File:
    """Another file of the program."""

    scope: "Scope"


@dataclass(frozen=True)
class Anything:
    """Something else."""


Alternative: TypeAlias = At | Object | Known | Converted | Code | Class | File | Anything
Value: TypeAlias = tuple[Alternative, ...]
ANYTHING: Final[Value] = (Anything(),)


@dataclass(eq=False)
class Scope:
    """The names that a piece of code sees."""

    names: dict[str, Value]
    program: Program
    place: str
    """The file, as it is named in notes."""
    outer: "Scope | None" = None

    def look_up(self, name: str) -> Value | None:
        """Return what a name means; None if it is not known."""
        if name in self.names:
            return self.names[name]
        return None if self.outer is None else self.outer.look_up(name)

    @property
    def outermost(self) -> "Scope":
        """The scope of the file."""
        return self if self.outer is None else self.outer.outermost


def either(*values: Value) -> Value:
    """Return the value that is one of these."""
    found = tuple(dict.fromkeys(one for value in values for one in value))
    if len(found) <= _MOST:
        return found
    return (*[one for one in found if isinstance(one, At)][:_MOST], *ANYTHING)


def put_together(members: tuple[tuple[str, Value], ...], base: Value) -> Value:
    """Return an object, or anything if too many objects are inside one another."""
    made = Object(members, base)
    return (made,) if made.levels <= DEEPEST else ANYTHING


def paths_of(value: Value) -> list[tuple[str, ...]]:
    """Return the parts of the event that a value may be."""
    return [one.path for one in value if isinstance(one, At)]


def is_certain(value: Value) -> bool:
    """Tell whether a value is one part of the event and nothing else."""
    return len(value) == 1 and isinstance(value[0], At)


def is_one_part(value: Value) -> bool:
    """Tell whether a value is one part of the event, or what stands for it if that is missing."""
    return len(paths_of(value)) == 1 and all(isinstance(one, At) or _is_default(one) for one in value)


def _is_default(one: Alternative) -> bool:
    return isinstance(one, Known) and one.is_default


def or_default(value: Value, default: Value) -> Value:
    """Return a value, or what stands for it if it is missing."""
    return either(value, tuple(replace(one, is_default=True) if isinstance(one, Known) else one for one in default))


def member(value: Value, name: str) -> Value:
    """Return a member of a value."""
    return either(*(_member(one, name) for one in value)) or ANYTHING


def item(value: Value) -> Value:
    """Return any item of a list."""
    return either(*((At((*one.path, EACH)),) if isinstance(one, At) else ANYTHING for one in value)) or ANYTHING


def merged(first: Value, second: Value) -> Value:
    """Return the object that has the members of both, those of the second first."""
    if first == (Object(()),):
        return second
    one = second[0] if len(second) == 1 else None
    if isinstance(one, Object):
        return put_together(one.members, either(first, one.base) if one.base else first)
    return either(first, second)


def with_member(value: Value, name: str | None, new: Value) -> Value:
    """Return objects that were put together, once a member is put into them; None: an unknown one."""
    return either(*(_with(one, name, new) for one in value))


def _with(one: Alternative, name: str | None, new: Value) -> Value:
    if not isinstance(one, Object):
        return (one,)
    if name is None or len(one.members) >= _MOST_MEMBERS:
        return ANYTHING
    return put_together(tuple({**dict(one.members), name: new}.items()), one.base)


def _member(one: Alternative, name: str) -> Value:
    if isinstance(one, At):
        return (At((*one.path, name)),)
    if isinstance(one, Object):
        found = dict(one.members).get(name)
        return found if found is not None else member(one.base, name) if one.base else ANYTHING
    if isinstance(one, File):
        return one.scope.look_up(name) or ANYTHING
    return ANYTHING
