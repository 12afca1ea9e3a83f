"""The contract of Lines, for the ones in memory and those on DynamoDB."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from msgspec.structs import replace

from stepwire.aws.storage.table import Table
from stepwire.aws.storage.task_store import task_store
from stepwire.engine.ports import TaskStore
from stepwire.errors import StoreBusy
from stepwire.extras.lines.limits import Rules, Starts, line_key
from stepwire.extras.lines.ports import Lines
from stepwire.extras.lines.rules import (
    Asking,
    Change,
    Held,
    Line,
    Place,
    Seen,
    Share,
    Ticket,
    called,
    freed,
    joined,
    joined_again,
    left,
    mended,
    moved_to_front,
    taken,
)
from stepwire.extras.lines.storage import DynamoDbLines
from stepwire.extras.lines.turns import MOST_FREED, MOST_LEFT
from stepwire.principal import Principal
from stepwire.tasks.task import LONGEST_TTL
from tests.contracts.task_stores import a_task, on_dynamodb
from tests.extras.lines.gate import lines_of
from tests.fakes import START_OF_TIME
from tests.kits import ALICE, BOB
from tests.simulated.dynamodb import quick_dynamodb_client
from tests.tables import new_table

KEY = line_key("warehouse")
EMPTY = Line("warehouse", Rules(2, Starts(3, timedelta(minutes=1)), 10, timedelta(hours=1)))
LATER = START_OF_TIME + timedelta(days=1)


@pytest.fixture
def lines(store: TaskStore) -> Lines:
    return lines_of(store)


def ticket(number: int, owner: Principal = ALICE) -> Ticket:
    return Ticket(owner, a_task(owner, number=number).task_id, number % 3)


def asking(number: int, owner: Principal = ALICE) -> Asking:
    task = a_task(owner, number=number)
    return Asking(ticket(number, owner), task.execution, LATER)


def change(lines: Lines, one: Change) -> Change:
    """Write a change of the line as it is now."""
    assert lines.change(KEY, lines.line(KEY), one, START_OF_TIME)
    return one


def join(lines: Lines, number: int, owner: Principal = ALICE) -> Place:
    """Place a run in the line as it is now."""
    seen = lines.see(KEY, ticket(number, owner))
    made = joined(seen.line or EMPTY, asking(number, owner), seen.share, START_OF_TIME)
    return change(lines, made).joins[0]


def test_a_line_that_nobody_has_used_is_empty(lines: Lines) -> None:
    assert lines.see(KEY, ticket(1)) == Seen(None)
    assert lines.line(KEY) is None
    assert list(lines.first(KEY)) == list(lines.turns(KEY)) == list(lines.in_use()) == []


def test_a_turn_that_is_taken_is_held_until_it_is_freed(lines: Lines) -> None:
    held = change(lines, taken(EMPTY, asking(1), START_OF_TIME)).holds[0]

    seen = lines.see(KEY, ticket(1))
    listed = list(lines.turns(KEY))
    change(lines, freed(seen.line or EMPTY, held, START_OF_TIME + timedelta(seconds=90)))

    assert seen.turn == held == Held(ticket(1), asking(1).execution, START_OF_TIME)
    assert listed == [held]
    assert lines.see(KEY, ticket(1)).turn is None
    line = lines.line(KEY)
    assert line is not None
    assert (line.held, line.took, line.started, line.version) == (0, timedelta(seconds=90), (START_OF_TIME,), 2)


def test_places_are_in_the_order_in_which_they_are_served(lines: Lines) -> None:
    first, second = join(lines, 1), join(lines, 2)
    others = join(lines, 3, BOB)
    last = join(lines, 4, BOB)
    change(lines, moved_to_front(lines.line(KEY) or EMPTY, last))
    moved = replace(last, round=0)

    found = lines.first(KEY, 10)

    assert list(found) == [moved, first, others, second]
    assert list(lines.first(KEY)) == [moved]
    assert [lines.before(KEY, one, 100) for one in found] == [0, 1, 2, 3]
    assert lines.before(KEY, second, 2) == 2
    assert lines.see(KEY, ticket(2)).share == Share(2, 2)
    assert lines.see(KEY, ticket(3, BOB)) == Seen(lines.line(KEY), None, others, Share(2, 2))


def test_a_run_that_is_called_leaves_the_line_and_holds_a_turn(lines: Lines) -> None:
    place = join(lines, 1)
    join(lines, 2)

    change(lines, called(lines.line(KEY) or EMPTY, place, START_OF_TIME))

    seen = lines.see(KEY, ticket(1))
    assert (seen.turn, seen.place) == (Held(ticket(1), asking(1).execution, START_OF_TIME), None)
    assert seen.share == Share(1, 2)
    assert seen.line is not None
    assert (seen.line.held, seen.line.waiting, seen.line.round) == (1, 1, 1)
    assert [one.ticket for one in lines.first(KEY, 10)] == [ticket(2)]


def test_a_run_that_is_moved_to_the_front_is_the_first(lines: Lines) -> None:
    first, last = join(lines, 1), join(lines, 2)

    change(lines, moved_to_front(lines.line(KEY) or EMPTY, last))

    assert [one.ticket for one in lines.first(KEY, 10)] == [last.ticket, first.ticket]
    moved = lines.see(KEY, last.ticket)
    assert (moved.place, moved.share) == (replace(last, round=0), Share(2, 2))
    change(lines, called(moved.line or EMPTY, moved.place or last, START_OF_TIME))
    assert [one.ticket for one in lines.first(KEY, 10)] == [first.ticket]


def test_a_run_that_comes_back_is_placed_in_the_round_that_is_served(lines: Lines) -> None:
    change(lines, called(lines.line(KEY) or EMPTY, join(lines, 1), START_OF_TIME))
    join(lines, 2)
    seen = lines.see(KEY, ticket(4, BOB))

    back = change(lines, joined_again(seen.line or EMPTY, asking(4, BOB), seen.share, START_OF_TIME)).joins[0]

    assert lines.first(KEY)[0] == back


def test_the_largest_repair_is_one_change(lines: Lines) -> None:
    """Each place is of another caller, whose share of the line is counted anew."""
    for number in range(MOST_FREED):
        change(lines, taken(lines.line(KEY) or EMPTY, asking(number), START_OF_TIME))
    owners = [Principal(f"{number:032}") for number in range(MOST_LEFT)]
    behind = [join(lines, 100 + number, owner) for number, owner in enumerate(owners)]
    stays = join(lines, 200, owners[0])
    held = lines.turns(KEY)

    repair = mended(lines.line(KEY) or EMPTY, held, [one.ticket for one in held], behind, LATER)
    change(lines, repair)

    line = lines.line(KEY)
    assert line is not None
    assert (line.held, line.waiting, line.mended_at) == (0, 1, LATER)
    assert (list(lines.turns(KEY)), list(lines.first(KEY, 100))) == ([], [stays])
    shares = [lines.see(KEY, ticket(100 + number, owner)).share for number, owner in enumerate(owners)]
    assert [one.waiting for one in shares] == [1, *[0] * (MOST_LEFT - 1)]


def test_a_line_is_in_use_while_somebody_waits(lines: Lines) -> None:
    place = join(lines, 1)

    while_waiting = list(lines.in_use())
    change(lines, left(lines.line(KEY) or EMPTY, place))

    assert while_waiting == [KEY]
    assert list(lines.in_use()) == []
    assert lines.see(KEY, ticket(1)) == Seen(lines.line(KEY), share=Share(0, 1))


def test_a_line_is_in_use_while_an_operator_restricts_it_and_comes_before_others(lines: Lines) -> None:
    others = [line_key(f"pool {number}") for number in range(4)]
    for one in others:
        assert lines.change(one, None, joined(EMPTY, asking(1), Share(), START_OF_TIME), START_OF_TIME)
    restricted = [Change(replace(EMPTY, is_paused=True)), Change(replace(EMPTY, is_drained=True)), Change(EMPTY)]
    found = list[list[str]]()

    for one in restricted:
        change(lines, one)
        found.append(list(lines.in_use()))
    place = join(lines, 1)
    change(lines, Change(replace(lines.line(KEY) or EMPTY, is_paused=True)))
    found.append(list(lines.in_use()))
    change(lines, left(lines.line(KEY) or EMPTY, place))
    found.append(list(lines.in_use()))

    assert [one[0] == KEY for one in found] == [True, True, False, True, True]
    assert [sorted(one) for one in found] == [
        sorted([KEY, *others]) if number != 2 else sorted(others) for number in range(len(found))
    ]


@pytest.mark.usefixtures("aws")
def test_a_turn_and_a_place_are_kept_as_long_as_a_task_may_run() -> None:
    table = Table(new_table(), quick_dynamodb_client)
    lines = DynamoDbLines(table)
    change(lines, taken(EMPTY, asking(1), START_OF_TIME))
    join(lines, 2)

    kept = {item["sk"]["S"]: int(item["expires_at"]["N"]) for item in table.query("pk = :key", {":key": {"S": KEY}})}

    assert len(kept) == 5
    assert min(kept.values()) > (START_OF_TIME + LONGEST_TTL).timestamp()


def test_a_change_of_a_line_that_has_changed_writes_nothing(lines: Lines) -> None:
    join(lines, 1)
    before = lines.line(KEY) or EMPTY
    change(lines, taken(before, asking(2), START_OF_TIME))

    assert not lines.change(KEY, before, taken(before, asking(4), START_OF_TIME), START_OF_TIME)
    assert not lines.change(KEY, None, taken(EMPTY, asking(4), START_OF_TIME), START_OF_TIME)
    assert lines.see(KEY, ticket(4)).turn is None


@pytest.mark.usefixtures("aws")
def test_several_changes_at_once_are_one_after_another() -> None:
    lines = DynamoDbLines(on_dynamodb(task_store)().table)

    def take(number: int) -> bool:
        for _ in range(100):
            try:
                line = lines.line(KEY)
                if lines.change(KEY, line, taken(line or EMPTY, asking(number), START_OF_TIME), START_OF_TIME):
                    return True
            except StoreBusy:
                continue
        return False

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(take, range(6)))

    assert len(lines.turns(KEY)) == 6
    assert lines.line(KEY) == replace(lines.line(KEY) or EMPTY, held=6, version=6)
