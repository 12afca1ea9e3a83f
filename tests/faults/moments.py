"""The state of all objects that can be reached from some roots, at a moment: to return to it, and to compare it.

A moment is taken of our own objects, and of containers, closures and bound functions on the way to them. Whatever else
they hold (clients, validators, locks) has no state that a test can tell apart. Objects keep their identity, so what
refers to them still does after the return.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from enum import Enum
from functools import partial
from itertools import chain
from types import CellType, FunctionType, MethodType
from typing import Any, Final, TypeAlias

from msgspec import Struct

from stepwire.catalog.tools import Catalog

_PLAIN: Final = (str, bytes, int, float, type(None), datetime, timedelta, Enum)
_OURS: Final = ("stepwire.", "tests.")
Undo: TypeAlias = Callable[[], object]
_Seen: TypeAlias = tuple[object, Undo | None, Iterable[object]]
"""What is compared of an object, what restores it, and what it refers to."""


class Moment:
    """The state of the roots when this was made."""

    def __init__(self, *roots: object) -> None:
        self._undo: list[Undo] = []
        marks = list[object]()
        places = dict[int, int]()
        """The position of each object that was reached, by its id: two graphs are equal if their positions are."""
        held = list[object]()  # so that no id is of two objects
        waiting = [*reversed(roots)]
        while waiting:
            one = waiting.pop()
            if isinstance(one, _PLAIN):
                marks.append(one)
                continue
            known = places.setdefault(id(one), len(places))
            marks.append(known)
            if known < len(held):
                continue
            held.append(one)
            mark, undo, inner = _looked_at(one)
            marks.append(mark)
            if undo is not None:
                self._undo.append(undo)
            waiting += reversed([*inner])
        self.marks: Final = tuple(marks)
        """Equal for equal states."""

    def restore(self) -> None:
        """Return to this moment."""
        for undo in self._undo:
            undo()


def _looked_at(one: Any) -> _Seen:
    kind: Any = one.__class__
    if issubclass(kind, dict | list | set | deque):
        return _container(one, kind)
    if issubclass(kind, tuple | frozenset):
        members: list[Any] = sorted(one, key=repr) if issubclass(kind, frozenset) else list(one)
        return (one.__class__, len(members)), None, members
    if issubclass(kind, CellType | FunctionType | MethodType | partial):
        return _function(one)
    assert not issubclass(kind, Iterator), f"how far {kind} is can be neither seen nor restored: use a list"
    is_ours = kind.__module__.startswith(_OURS) and not issubclass(kind, Catalog)
    if is_ours and issubclass(kind, Struct):
        return _struct(one)
    inner: list[Any] = [vars(one)] if is_ours and hasattr(one, "__dict__") else []
    return one.__class__, None, inner


def _container(one: Any, kind: Any) -> _Seen:
    content = one.copy()
    mark = (kind, len(content))
    if issubclass(kind, dict):
        return mark, partial(_fill, one, one.update, content), chain.from_iterable(content.items())
    if issubclass(kind, set):
        return mark, partial(_fill, one, one.update, content), sorted(content, key=repr)
    return mark, partial(_fill, one, one.extend, content), content


def _fill(one: Any, fill: Callable[[Any], object], content: Any) -> None:
    one.clear()
    fill(content)


def _function(one: Any) -> _Seen:
    if isinstance(one, CellType):
        content: Any = one.cell_contents
        return CellType, partial(setattr, one, "cell_contents", content), (content,)
    if isinstance(one, FunctionType):
        return one.__code__, None, one.__closure__ or ()
    if isinstance(one, MethodType):
        return one.__func__, None, (one.__self__,)
    return partial, None, (one.func, one.args, one.keywords)


def _struct(one: Any) -> _Seen:
    values = [(name, getattr(one, name)) for name in one.__struct_fields__]
    undo = None if one.__struct_config__.frozen else partial(_set, one, values)
    return one.__class__, undo, [value for _, value in values]


def _set(one: object, values: list[tuple[str, Any]]) -> None:
    for name, value in values:
        setattr(one, name, value)
