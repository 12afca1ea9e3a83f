"""A simulated day of a tool with a limit: events are late, lost and doubled, processes die, one caller floods it."""

from statistics import quantiles

import pytest

from tests.extras.lines.day import MOST, Day, seconds


@pytest.mark.parametrize("calls", [1_000, pytest.param(10_000, marks=pytest.mark.long)])
def test_every_call_of_a_day_has_its_turn_and_never_more_run_than_may(calls: int) -> None:
    day = Day(calls, seed=1)

    day.run()

    assert day.called == calls
    begun = len(day.waits.others) + len(day.waits.in_flood) + len(day.waits.flooding)
    assert begun == calls - day.cancelled
    assert day.most_running == MOST
    assert day.lost
    assert day.doubled
    assert day.line.waiting == 0
    assert day.line.held <= day.died
    assert not [one for one in day.world.store.tasks.values() if not one.has_ended]
    assert day.turns_left() == MOST


@pytest.mark.long
def test_a_flood_of_one_caller_delays_the_others_by_little() -> None:
    day = Day(1_500, seed=2)

    day.run()

    flood, others = seconds(day.waits.flooding), seconds(day.waits.in_flood)
    assert quantiles(others)[1] < max(flood) / 10
