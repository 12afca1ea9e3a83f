"""The limit of polls: the memory for callers is bounded, whatever they send."""

import pytest

from stepwire.engine.limiter import MOST_REMEMBERED, PollLimit
from stepwire.errors import TooManyPolls
from tests.fakes import START_OF_TIME
from tests.kits import ALICE, BOB

TASK_ID = "0" * 36


def remembered(limit: PollLimit) -> int:
    """Return the number of characters of the ids in a limit."""
    return sum(len(task_id) for _, task_id in limit._paced_until)  # pyright: ignore[reportPrivateUsage]


# A4
def test_malformed_ids_are_not_remembered() -> None:
    limit = PollLimit(1_000)

    for number in range(400):
        limit.check(ALICE, f"{number}{'x' * 100_000}", START_OF_TIME)

    assert remembered(limit) == 0


@pytest.mark.parametrize("task_id", ["", "x", TASK_ID + "\n", "x" * 1_000_000, None, 7, ["a"]])
def test_malformed_ids_count_together_per_caller(task_id: object) -> None:
    limit = PollLimit(1)
    limit.check(ALICE, "malformed", START_OF_TIME)
    limit.check(ALICE, task_id, START_OF_TIME)

    with pytest.raises(TooManyPolls):
        limit.check(ALICE, "malformed as well", START_OF_TIME)
    limit.check(ALICE, TASK_ID, START_OF_TIME)
    limit.check(BOB, task_id, START_OF_TIME)


def test_the_number_of_remembered_tasks_is_bounded() -> None:
    limit = PollLimit(1)

    for number in range(MOST_REMEMBERED + 10):
        limit.check(ALICE, f"{number:036d}", START_OF_TIME)

    assert remembered(limit) == MOST_REMEMBERED * len(TASK_ID)
