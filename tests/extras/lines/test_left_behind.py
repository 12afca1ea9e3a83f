"""Places of tasks that have ended or expired, which a process that died has left in line."""

from datetime import datetime, timedelta
from typing import Final

import pytest
from msgspec.structs import replace

from stepwire.background.sweep import INTERVAL, Sweep
from stepwire.errors import LimitReached
from stepwire.extras.lines.limits import Rules, Starts
from stepwire.extras.lines.rules import MEND_PAUSE, MOST_COUNTED, Held, Line, Place, Ticket, left_behind, mended
from stepwire.extras.lines.turns import MOST_LEFT
from stepwire.tasks.ids import TaskId
from stepwire.tasks.limiter import Limits
from stepwire.tasks.task import Execution, Task
from tests.extras.lines.test_turns import call, end, limited, line_of, message, running
from tests.fakes import START_OF_TIME
from tests.kits import ALICE, World

AT: Final = START_OF_TIME
LATER: Final = AT + timedelta(hours=1)
EXECUTION: Final = Execution("arn:aws:states:eu-central-1:123456789012:stateMachine:Optional", "one")


@pytest.fixture
def world() -> World:
    return World()


def place(number: int, expires_at: datetime = LATER) -> Place:
    return Place(Ticket(ALICE, TaskId(f"{number:035}")), EXECUTION, number, AT, expires_at)


def lost_cancel(world: World, *tasks: Task) -> None:
    """Cancel tasks that wait, by processes that die before they take them out of line; then the line may be mended."""
    world.lines.is_available = False
    for task in tasks:
        world.operations.cancel(ALICE, task.task_id)
    world.lines.is_available = True
    world.clock.time += max(MEND_PAUSE, world.intervals.repair)


# ----------------------------------------------------------------------------------------------------------- the rules


def test_a_place_is_left_behind_if_its_task_is_known_to_have_ended_or_has_expired() -> None:
    ended, waits, expired, lasts = place(1), place(2), place(3, AT), place(4, AT + timedelta(milliseconds=1))

    found = left_behind([ended, waits, expired, lasts], {ended.ticket.key}, AT)

    assert found == (ended, expired)


def test_a_repair_counts_the_turns_that_are_left_and_one_less_for_each_place() -> None:
    held = [Held(place(number).ticket, EXECUTION, AT + timedelta(seconds=number)) for number in (3, 2, 1)]
    line = Line("warehouse", Rules(3), held=5, waiting=4, round=7, wakes_at=LATER, running=(AT,))

    change = mended(line, held, [held[0].ticket], [place(8), place(9)], LATER)

    assert (change.frees, change.leaves) == ((held[0].ticket,), (place(8), place(9)))
    since = (held[2].since, held[1].since)
    assert change.line == replace(line, held=2, waiting=2, running=since, wakes_at=None, mended_at=LATER)


def test_a_repair_that_takes_nobody_out_of_line_leaves_who_is_woken_for_all() -> None:
    line = Line("warehouse", Rules(starts=Starts(1, timedelta(minutes=1))), waiting=1, wakes_at=LATER)

    assert mended(line, [], [], [], AT).line == replace(line, mended_at=AT)


# ------------------------------------------------------------------------------------------------------------ the line


def test_the_place_of_a_cancelled_task_is_free_after_the_next_look(world: World) -> None:
    _, second, third, last = (call(world) for _ in range(4))
    lost_cancel(world, second)
    before = line_of(world, last).waiting

    world.operations.get(ALICE, last.task_id)
    world.operations.get(ALICE, third.task_id)

    line, ticket = line_of(world, last), Ticket(ALICE, last.task_id)
    assert (before, line.waiting) == (3, 2)
    places = [world.stored(one).in_line for one in (third, last)]
    assert [one and one.position for one in places] == [1, 2]
    assert last.line is not None
    assert world.lines.see(last.line.line, ticket).share.waiting == 2


def test_the_place_of_a_cancelled_task_refuses_nobody_after_the_next_look(world: World) -> None:
    tool = limited(Rules(most=1, waiting=2), per="caller")
    _, second, third = (call(world, tool) for _ in range(3))
    lost_cancel(world, second)

    with pytest.raises(LimitReached, match="full: 2 calls wait, of at most 2"):
        call(world, tool)
    world.operations.get(ALICE, third.task_id)

    assert message(world, call(world, tool)) == "2nd in line; about 2 minutes."


def test_the_sweep_finds_the_place_of_a_cancelled_task_where_nobody_else_waits(world: World) -> None:
    first, second = call(world), call(world)
    lost_cancel(world, second)
    world.clock.time += INTERVAL

    Sweep(world.sweeping(INTERVAL)).run()

    assert (line_of(world, first).held, line_of(world, first).waiting) == (1, 0)
    assert not world.lines.in_use()


def test_the_place_of_a_task_that_has_expired_is_free_after_the_next_look(world: World) -> None:
    """DynamoDB deletes late, and the sweep has not come yet."""
    call(world)
    call(world, replace(limited(), ttl=timedelta(minutes=1)))
    third = call(world)
    world.clock.time += max(MEND_PAUSE, world.intervals.repair)

    world.operations.get(ALICE, third.task_id)

    assert message(world, third) == "Next in line; about 60 seconds."


def test_the_place_of_a_task_that_is_not_found_stays(world: World) -> None:
    """Tasks are read as they were a moment ago: it may have been written since."""
    first, second, third = (call(world) for _ in range(3))
    unseen = world.store.tasks.pop(second.key)
    world.clock.time += max(MEND_PAUSE, world.intervals.repair)

    world.operations.get(ALICE, third.task_id)
    world.store.tasks[second.key] = unseen
    end(world, first)

    assert message(world, third) == "2nd in line; about 2 minutes."
    assert running(world) == [second.task_id]


def test_a_line_that_changes_meanwhile_is_mended_by_a_later_look(world: World) -> None:
    _, second, third, last = (call(world) for _ in range(4))
    lost_cancel(world, second)

    world.lines.before_change = lambda: world.operations.cancel(ALICE, third.task_id)
    world.operations.get(ALICE, last.task_id)
    meanwhile = line_of(world, last).waiting
    world.clock.time += MEND_PAUSE
    world.operations.get(ALICE, last.task_id)

    assert meanwhile == 2
    assert line_of(world, last).waiting == 1


def test_more_places_than_one_repair_takes_out_are_left_to_the_next_ones() -> None:
    world = World(limits=Limits(active=200, per_minute=6_000))
    call(world)
    lost = [call(world) for _ in range(MOST_COUNTED + 5)]
    last = call(world)
    lost_cancel(world, *lost)
    left = list[int]()

    for _ in range(5):
        world.operations.get(ALICE, last.task_id)
        left.append(line_of(world, last).waiting)
        world.clock.time += MEND_PAUSE

    assert left == [max(1, len(lost) + 1 - number * MOST_LEFT) for number in range(1, 6)]


def test_whoever_waits_for_the_rate_is_woken_although_the_one_who_was_to_be_woken_for_all_is_taken_out_of_line(
    world: World,
) -> None:
    tool = limited(Rules(starts=Starts(1, timedelta(minutes=10))))
    first, second, third = (call(world, tool) for _ in range(3))
    lost_cancel(world, second)
    world.wake_ups.scheduled.clear()
    world.wake_ups.runs.clear()

    world.operations.get(ALICE, third.task_id)
    world.wake()

    assert running(world) == [first.task_id, third.task_id]
