"""A return to a moment undoes every change of what it reaches, and moments between which nothing changed are equal."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from msgspec import Struct

from tests.fakes import FixedClock, counting
from tests.faults.moments import Moment


class Mutable(Struct):
    value: int = 0


@dataclass
class Thing:
    """Something with every kind of state."""

    number: int = 0
    members: dict[str, Any] = field(default_factory=lambda: {"list": [1, {"a": 1}]})
    names: set[str] = field(default_factory=lambda: {"b", "a"})
    waiting: deque[int] = field(default_factory=lambda: deque([1, 2]))
    struct: Mutable = field(default_factory=Mutable)
    clock: FixedClock = field(default_factory=FixedClock)
    randomness: Any = field(default_factory=counting)


CHANGES: dict[str, Callable[[Any], object]] = {
    "an attribute": lambda one: setattr(one, "number", 1),
    "a new attribute": lambda one: setattr(one, "new", 1),
    "a list in a member": lambda one: one.members["list"].append(2),
    "a dictionary in a list": lambda one: one.members["list"][1].update(a=2),
    "a set": lambda one: one.names.add("c"),
    "a queue": lambda one: one.waiting.popleft(),
    "a struct": lambda one: setattr(one.struct, "value", 1),
    "a clock": lambda one: one.clock.sleep(1),
    "what a closure counts": lambda one: one.randomness(1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_a_change_is_seen_and_undone(change: Any) -> None:
    thing = Thing()
    reached_by_a_closure: Any = partial(lambda: thing)
    before = Moment(reached_by_a_closure)

    change(thing)
    changed = Moment(reached_by_a_closure).marks
    before.restore()

    assert changed != before.marks
    assert Moment(reached_by_a_closure).marks == before.marks
    assert repr(thing.members) == repr(Thing().members)
    assert thing.randomness(1) == b"\1"


def test_equal_objects_of_which_one_is_shared_are_told_apart() -> None:
    inner = [1]

    assert Moment([inner, inner]).marks != Moment([[1], [1]]).marks
    assert Moment([[1], [1]]).marks == Moment([[1], [1]]).marks


def test_objects_stay_themselves() -> None:
    thing = Thing()
    names, moment = thing.names, Moment(thing)

    thing.names = {"another"}
    names.clear()
    moment.restore()

    assert thing.names is names
    assert names == {"a", "b"}


def test_an_iterator_is_refused() -> None:
    with pytest.raises(AssertionError, match="list_iterator"):
        Moment([iter([1])])
