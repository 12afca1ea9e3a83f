"""What may come next in a run, and how often: methods that say so of themselves."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from hypothesis import strategies as st

from tests.model.run import Run

MOST_UNDER_WAY: Final = 3
"""Handlers at once."""
few: Final = st.integers(0, 3)
"""Which of several."""
_Function = TypeVar("_Function", bound=Callable[..., None])
Condition = Callable[[Run], object]


@dataclass(frozen=True)
class Move:
    """Something that may come next."""

    weight: int
    """How often it comes, beside the others."""
    is_possible: Condition
    arguments: Mapping[str, st.SearchStrategy[Any]]


MOVES: Final[dict[str, Move]] = {}
"""By the names of the methods that make them."""


def move(weight: int, is_possible: Condition, **arguments: st.SearchStrategy[Any]) -> Callable[[_Function], _Function]:
    """Make a method a move."""

    def noted(function: _Function) -> _Function:
        MOVES[function.__name__] = Move(weight, is_possible, arguments)
        return function

    return noted


def has_handlers(run: Run) -> bool:
    """Tell whether handlers are under way."""
    return bool(run.under_way)


def has_room(run: Run) -> bool:
    """Tell whether another handler may begin."""
    return len(run.under_way) < MOST_UNDER_WAY


def has_room_for_two(run: Run) -> bool:
    """Tell whether two other handlers may begin."""
    return len(run.under_way) + 2 <= MOST_UNDER_WAY


def has_tasks(run: Run) -> bool:
    """Tell whether somebody may ask for a task."""
    return has_room(run) and bool(run.reference.tasks)


def has_questions(run: Run) -> bool:
    """Tell whether somebody has seen a question, and may answer."""
    return has_room(run) and bool(run.keys or run.ids)


def has_running(run: Run) -> bool:
    """Tell whether workflows go on."""
    return has_room(run) and bool(run.world.running())


def has_news(run: Run) -> bool:
    """Tell whether there is news to bring."""
    return has_room(run) and bool(run.news)


def next_moves(run: Run) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    """Choose among what is possible now."""
    possible = [name for name, one in MOVES.items() if name not in run.left_out and one.is_possible(run)]
    weighted = [name for name in possible for _ in range(MOVES[name].weight)]
    return st.sampled_from(weighted).flatmap(
        lambda name: st.tuples(st.just(name), st.fixed_dictionaries(dict(MOVES[name].arguments)))
    )
