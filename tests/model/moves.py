"""The possible next moves of a run and their frequencies: functions with the decorator `move`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeVar

from hypothesis import strategies as st

from tests.extras import parts
from tests.model.run import Run

MOST_UNDER_WAY: Final = 3
"""The largest number of concurrent handlers."""
few: Final = st.integers(0, 3)
"""Selects one of several things."""
_Function = TypeVar("_Function", bound=Callable[..., None])
Condition = Callable[[Run], object]


@dataclass(frozen=True)
class Move:
    """A possible next move."""

    weight: int
    """How often it is made, compared with the others."""
    is_possible: Condition
    arguments: Mapping[str, st.SearchStrategy[Any]]
    make: Callable[..., None]
    """Makes it in a run."""


_MOVES: Final[dict[str, Move]] = {}


def move(weight: int, is_possible: Condition, **arguments: st.SearchStrategy[Any]) -> Callable[[_Function], _Function]:
    """Make a method of the machine, or a function that takes it, a move."""

    def noted(function: _Function) -> _Function:
        _MOVES[function.__name__] = Move(weight, is_possible, arguments, function)
        return function

    return noted


@cache
def moves() -> Mapping[str, Move]:
    """Return the moves by their names, the core's first; the import of an extra's module `moves` notes the others."""
    parts("moves")
    return _MOVES


def has_handlers(run: Run) -> bool:
    """Tell whether a handler is running."""
    return bool(run.under_way)


def has_room(run: Run) -> bool:
    """Tell whether another handler may start."""
    return len(run.under_way) < MOST_UNDER_WAY


def has_room_for_two(run: Run) -> bool:
    """Tell whether two more handlers may start."""
    return len(run.under_way) + 2 <= MOST_UNDER_WAY


def has_tasks(run: Run) -> bool:
    """Tell whether a client knows a task."""
    return has_room(run) and bool(run.reference.tasks)


def has_questions(run: Run) -> bool:
    """Tell whether a client knows a question, and may answer it."""
    return has_room(run) and bool(run.keys or run.ids)


def has_running(run: Run) -> bool:
    """Tell whether a workflow is running."""
    return has_room(run) and bool(run.world.running())


def has_news(run: Run) -> bool:
    """Tell whether an event is undelivered."""
    return has_room(run) and bool(run.news)


def next_moves(run: Run) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    """Draw one of the moves that are possible now."""
    possible = [name for name, one in moves().items() if name not in run.left_out and one.is_possible(run)]
    weighted = [name for name in possible for _ in range(moves()[name].weight)]
    return st.sampled_from(weighted).flatmap(
        lambda name: st.tuples(st.just(name), st.fixed_dictionaries(dict(moves()[name].arguments)))
    )
