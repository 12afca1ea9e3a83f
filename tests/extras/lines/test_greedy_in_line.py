"""Callers who take all turns and all places of a line that they can leave some to those who have none."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from stepwire.catalog.tools import Tool
from stepwire.errors import LimitReached
from stepwire.extras.lines.limits import Concurrency, Rules, terms_of
from stepwire.json_text import JsonObject
from stepwire.principal import Caller, Principal
from stepwire.tasks.limiter import reserved_of
from tests.extras.lines.test_turns import CAROL, call, end, limited, message, running
from tests.kits import ALICE, BOB, World

DAY = timedelta(days=1)
DAVE = Principal("d" * 32)


def shared(most: int, waiting: int = 1_000, longest: timedelta | None = None) -> Tool:
    """Return a tool with a limit whose turns are reserved as a manifest without a word has them."""
    return limited(Rules(most=most, waiting=waiting, longest=longest, reserved=reserved_of(most)))


def owners(world: World) -> list[Principal]:
    """Return whose executions run."""
    ids = running(world)
    return [task.owner for task in world.store.tasks.values() if task.task_id in ids]


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize(("most", "mine"), [(1, 1), (2, 1), (3, 1), (4, 2), (5, 3), (10, 8), (20, 16)], ids=str)
def test_one_caller_leaves_turns_to_those_who_have_none(world: World, most: int, mine: int) -> None:
    for _ in range(most + 2):
        call(world, shared(most))
    alone = len(running(world))
    call(world, shared(most), BOB)
    call(world, shared(most), CAROL)

    assert alone == mine
    assert owners(world)[mine:] == [BOB, CAROL][: most - mine]


def test_two_greedy_callers_who_hold_their_turns_for_a_day_never_shut_out_a_third(world: World) -> None:
    """M3 of the attack, with one more caller."""
    tool = shared(3)
    for caller in (ALICE, BOB) * 3:
        call(world, tool, caller)
    world.clock.time += DAY

    task = call(world, tool, CAROL)

    assert task.task_id in running(world)


def test_a_turn_that_is_given_back_goes_to_the_first_who_has_none(world: World) -> None:
    tool = shared(3)
    begun, waits = call(world, tool), call(world, tool)
    others = [call(world, tool, one) for one in (BOB, CAROL)]
    last = call(world, tool, DAVE)

    end(world, others[0])
    between = running(world)
    end(world, begun)

    assert set(between) == {begun.task_id, others[1].task_id, last.task_id}, "ALICE, who is before DAVE, has a turn"
    assert set(running(world)) == {others[1].task_id, last.task_id, waits.task_id}


def test_turns_that_are_reserved_stay_free_until_somebody_comes_who_has_none(world: World) -> None:
    tool = shared(3)
    first, *waiting = [call(world, tool) for _ in range(4)]
    for one in waiting:
        world.clock.time += world.intervals.repair
        world.operations.get(ALICE, one.task_id)
    before = running(world)

    task = call(world, tool, BOB)

    assert before == [first.task_id]
    assert running(world) == [first.task_id, task.task_id]
    end(world, first)
    assert running(world) == [task.task_id, waiting[0].task_id]


def test_a_newcomer_begins_after_one_more_execution_of_each_of_more_greedy_callers_than_turns(world: World) -> None:
    tool, most = shared(3), 3
    greedy = [Principal(f"{number:032x}") for number in range(most + 2)]
    for caller in greedy * 4:
        call(world, tool, caller)

    task, ends = call(world, tool), 0
    while task.task_id not in (now := running(world)):
        end(world, next(one for one in world.store.tasks.values() if one.task_id == now[0]))
        ends += 1

    assert ends <= len(greedy) + 1, "each of them once, and whose turn it takes"


def test_a_newcomer_has_a_place_in_line_beside_more_greedy_callers_than_places(world: World) -> None:
    tool, places = shared(3, waiting=6), 6
    for caller in [Principal(f"{number:032x}") for number in range(places + 2)] * 3:
        try:
            call(world, tool, caller)
        except LimitReached:
            continue

    assert message(world, call(world, tool)) is not None, "it waits"


def test_who_has_a_turn_leaves_the_last_places_to_others(world: World) -> None:
    tool = shared(1, waiting=10)
    for _ in range(9):
        call(world, tool)

    with pytest.raises(LimitReached, match="What is left of the line of this tool is for other callers"):
        call(world, tool)
    for number in range(2):
        call(world, tool, Principal(f"{number:032x}"))


def test_the_estimate_counts_what_runs_now(world: World) -> None:
    """M3 of the attack: executions took a second until somebody's took a day."""
    tool = replace(limited(Rules(most=3)), ttl=2 * DAY)
    end(world, call(world, tool))
    for _ in range(3):
        call(world, tool)
    at_once = message(world, call(world, tool, BOB))
    world.clock.time += DAY

    after_a_day = message(world, call(world, tool, BOB))

    assert at_once == "Next in line; about 1 second."
    assert after_a_day == "2nd in line; about 16 hours.", "three turns that have lasted a day, and last another one"


def test_one_execution_that_takes_long_does_not_delay_those_that_others_let_through(world: World) -> None:
    tool = limited(Rules(most=2))
    call(world, tool, BOB)
    world.clock.time += DAY
    end(world, call(world, tool))
    call(world, tool)

    assert message(world, call(world, tool)) == "Next in line; about 1 second."


def test_a_call_is_refused_whose_wait_what_runs_now_makes_too_long(world: World) -> None:
    tool = limited(Rules(most=1, longest=timedelta(minutes=10)))
    end(world, call(world, tool))
    call(world, tool, BOB)
    world.clock.time += DAY

    with pytest.raises(LimitReached, match="would have to wait 24 hours, and may wait at most 10 minutes") as refused:
        call(world, tool)

    assert refused.value.data["retryAfterMs"] == (DAY - timedelta(minutes=10)) / timedelta(milliseconds=1)


def test_a_full_line_says_when_to_call_again_by_what_runs_now(world: World) -> None:
    tool = limited(Rules(most=1, waiting=0))
    end(world, call(world, tool))
    call(world, tool, BOB)
    world.clock.time += timedelta(hours=3)

    with pytest.raises(LimitReached, match="Call again in 3 hours"):
        call(world, tool)


def test_nobody_can_know_how_long_executions_take_of_which_none_has_ended_or_lasted(world: World) -> None:
    tool = limited()
    call(world, tool)
    at_once = message(world, call(world, tool))
    world.clock.time += timedelta(minutes=5)

    assert at_once == "Next in line."
    assert message(world, call(world, tool)) == "2nd in line; about 10 minutes."


@pytest.mark.parametrize(
    ("per", "is_everybody", "reserved"),
    [("", False, 2), ("argument", False, 2), ("caller", False, 0), ("", True, 0)],
    ids=["all", "each value of an argument", "each caller", "without sign-in"],
)
def test_turns_are_reserved_where_callers_share_them(per: str, is_everybody: bool, reserved: int) -> None:
    limit = Concurrency("tool", Rules(most=5, reserved=2), per)
    arguments: JsonObject = {"argument": "value"}

    terms = terms_of(limit.line(limit, arguments, Caller(ALICE, is_everybody=is_everybody)))

    assert terms.rules.reserved == reserved
    assert terms.is_own is (not reserved)
