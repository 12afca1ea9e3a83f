"""What Places owe requests that wait; held against those in memory and those on DynamoDB."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from benchmarks.cost.calls import WAIT
from local.clients import aws_client
from local.isolation import REGION
from stepwire.aws.places import DynamoDbPlaces
from stepwire.ports import Lease, Places
from stepwire.waiting import WaitingRoom, WaitLimits
from tests.fakes import START_OF_TIME, InMemoryPlaces, counting
from tests.kits import ALICE, BOB
from tests.tables import new_table

UNTIL = START_OF_TIME + timedelta(seconds=20)


def on_dynamodb() -> DynamoDbPlaces:
    return DynamoDbPlaces(new_table(), lambda: aws_client("dynamodb", REGION))


@pytest.fixture(params=["in memory", "on DynamoDB"])
def places(request: pytest.FixtureRequest, aws: None) -> Places:
    return InMemoryPlaces() if request.param == "in memory" else on_dynamodb()


def lease(number: int) -> Lease:
    return Lease(UNTIL, number)


def test_a_room_has_so_many_places(places: Places) -> None:
    taken = [places.take(ALICE, lease(number), 2, START_OF_TIME) for number in range(3)]

    assert taken == [True, True, False]


def test_rooms_know_nothing_of_each_other(places: Places) -> None:
    places.take(ALICE, lease(1), 1, START_OF_TIME)

    assert places.take(BOB, lease(1), 1, START_OF_TIME)


def test_a_place_that_is_given_back_is_free_however_often(places: Places) -> None:
    places.take(ALICE, lease(1), 1, START_OF_TIME)

    for _ in range(2):
        places.give_back(ALICE, lease(1))

    assert places.take(ALICE, lease(2), 1, START_OF_TIME)
    assert not places.take(ALICE, lease(3), 1, START_OF_TIME)


def test_a_place_that_is_not_held_is_given_back_for_nothing(places: Places) -> None:
    places.take(ALICE, lease(1), 1, START_OF_TIME)

    places.give_back(ALICE, lease(2))
    places.give_back(BOB, lease(1))

    assert not places.take(ALICE, lease(3), 1, START_OF_TIME)


def test_a_place_lapses_with_its_lease(places: Places) -> None:
    for number in range(2):
        places.take(ALICE, lease(number), 2, START_OF_TIME)
    late = UNTIL + timedelta(seconds=1)
    later = [Lease(late + timedelta(seconds=20), number) for number in range(3)]

    assert not places.take(ALICE, lease(3), 2, UNTIL)
    assert [places.take(ALICE, one, 2, late) for one in later] == [True, True, False]


def test_a_wait_costs_four_small_writes_and_one_that_finds_no_place_at_its_caller_one(aws: None) -> None:
    """What `benchmarks.cost` counts with."""
    client: Any = aws_client("dynamodb", REGION)
    table, made = new_table(), list[str]()

    def note(model: Any, **_: object) -> None:
        made.append(model.name)

    client.meta.events.register("before-call.dynamodb", note)
    room = WaitingRoom(DynamoDbPlaces(table, lambda: client), WaitLimits(all=5, per_caller=1), counting(), print)

    waiter = room.enter(ALICE, UNTIL, START_OF_TIME)
    assert waiter is not None
    assert room.enter(ALICE, UNTIL, START_OF_TIME) is None
    refused = made.pop(2)
    room.leave(waiter)

    assert tuple(made) == WAIT
    assert refused == "UpdateItem"


def test_of_many_at_once_no_more_get_in_than_there_are_places(aws: None) -> None:
    places = on_dynamodb()

    def take(number: int) -> bool:
        return places.take(ALICE, lease(number), 3, START_OF_TIME)

    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(take, range(24)))

    assert sum(taken) == 3
