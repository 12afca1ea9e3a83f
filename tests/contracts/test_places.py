"""The contract of WaitSlots, for those in memory and those on DynamoDB."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest

from benchmarks.cost.calls import WAIT
from stepwire.aws.storage.limiter import DynamoDbWaitSlots
from stepwire.aws.storage.table import Table
from stepwire.engine.limiter import HeldPlace, WaitLimiter
from stepwire.engine.ports import Lease, SlotTaken, WaitSlots
from stepwire.tasks.limiter import Places, Refused
from stepwire_local.account.isolation import REGION
from stepwire_local.iam.clients import aws_client
from tests.fakes import START_OF_TIME, FixedClock, InMemoryWaitSlots, counting
from tests.kits import ALICE, BOB
from tests.tables import new_table

UNTIL = START_OF_TIME + timedelta(seconds=20)


def on_dynamodb() -> DynamoDbWaitSlots:
    return DynamoDbWaitSlots(Table(new_table(), lambda: aws_client("dynamodb", REGION)))


@pytest.fixture(params=["in memory", "on DynamoDB"])
def wait_slots(request: pytest.FixtureRequest, aws: None) -> WaitSlots:
    return InMemoryWaitSlots() if request.param == "in memory" else on_dynamodb()


def lease(number: int) -> Lease:
    return Lease(UNTIL, number)


def takes(wait_slots: WaitSlots, pool: str, lease: Lease, most: int, at: datetime) -> bool:
    """Take a slot, and return whether there was one."""
    return isinstance(wait_slots.acquire(pool, lease, most, at), SlotTaken)


def test_each_pool_has_a_limited_number_of_slots(wait_slots: WaitSlots) -> None:
    taken = [takes(wait_slots, ALICE, lease(number), 2, START_OF_TIME) for number in range(3)]

    assert taken == [True, True, False]
    assert takes(wait_slots, BOB, lease(1), 2, START_OF_TIME)


def test_a_slot_that_was_taken_is_taken_again_by_the_same_lease(wait_slots: WaitSlots) -> None:
    """The SDK repeats a write whose response was lost."""
    taken = [takes(wait_slots, ALICE, lease(number), 1, START_OF_TIME) for number in (1, 1, 2)]

    assert taken == [True, True, False]


def test_releasing_a_slot_is_idempotent(wait_slots: WaitSlots) -> None:
    takes(wait_slots, ALICE, lease(1), 1, START_OF_TIME)

    for _ in range(2):
        wait_slots.release(ALICE, lease(1))

    assert takes(wait_slots, ALICE, lease(2), 1, START_OF_TIME)
    assert not takes(wait_slots, ALICE, lease(3), 1, START_OF_TIME)


def test_releasing_a_slot_that_is_not_held_changes_nothing(wait_slots: WaitSlots) -> None:
    takes(wait_slots, ALICE, lease(1), 1, START_OF_TIME)

    wait_slots.release(ALICE, lease(2))
    wait_slots.release(BOB, lease(1))

    assert not takes(wait_slots, ALICE, lease(3), 1, START_OF_TIME)


def test_a_slot_expires_with_its_lease(wait_slots: WaitSlots) -> None:
    for number in range(2):
        takes(wait_slots, ALICE, lease(number), 2, START_OF_TIME)
    late = UNTIL + timedelta(seconds=1)
    later = [Lease(late + timedelta(seconds=20), number) for number in range(3)]

    assert not takes(wait_slots, ALICE, lease(3), 2, UNTIL)
    assert [takes(wait_slots, ALICE, one, 2, late) for one in later] == [True, True, False]


def test_a_wait_costs_four_small_writes_and_a_refused_one_costs_one(aws: None) -> None:
    """`benchmarks.cost` uses these numbers."""
    client: Any = aws_client("dynamodb", REGION)
    table, made = new_table(), list[str]()

    def note(model: Any, **_: object) -> None:
        made.append(model.name)

    client.meta.events.register("before-call.dynamodb", note)
    slots, clock = DynamoDbWaitSlots(Table(table, lambda: client)), FixedClock()
    limiter = WaitLimiter(slots, Places(5, part=1), clock, counting(), print)

    waiter = limiter.acquire(ALICE, UNTIL)
    assert isinstance(waiter, HeldPlace)
    assert limiter.acquire(ALICE, UNTIL) == Refused(timedelta(seconds=1))
    refused = made.pop(2)
    limiter.release(waiter)

    assert tuple(made) == WAIT
    assert refused == "UpdateItem"


def test_a_slot_that_was_taken_says_what_else_the_pool_has(wait_slots: WaitSlots) -> None:
    late, rests = UNTIL + timedelta(seconds=1), UNTIL + timedelta(minutes=1)
    for number in range(2):
        wait_slots.acquire(ALICE, lease(number), 3, START_OF_TIME)
    wait_slots.release(ALICE, lease(1), rests)

    assert wait_slots.acquire(ALICE, lease(2), 3, START_OF_TIME) == SlotTaken(1, rests)
    assert wait_slots.acquire(ALICE, Lease(late, 3), 3, late) == SlotTaken(0, rests), "the others have expired"


def test_who_is_refused_gets_no_slot_until_then_and_is_told_how_often(wait_slots: WaitSlots) -> None:
    until = START_OF_TIME + timedelta(seconds=2)
    wait_slots.acquire(ALICE, lease(1), 1, START_OF_TIME)
    wait_slots.refuse(ALICE, lease(1), until, 2)

    assert wait_slots.acquire(ALICE, lease(2), 1, START_OF_TIME) == Refused(until - START_OF_TIME)
    assert wait_slots.acquire(ALICE, lease(2), 1, until) == SlotTaken(refusals=2)
    wait_slots.release(ALICE, lease(2))
    assert wait_slots.acquire(ALICE, lease(3), 1, START_OF_TIME) == SlotTaken(), "a release ends a row of refusals"


def test_concurrent_requests_never_exceed_the_number_of_slots(aws: None) -> None:
    wait_slots = on_dynamodb()

    def take(number: int) -> bool:
        return takes(wait_slots, ALICE, lease(number), 3, START_OF_TIME)

    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(take, range(24)))

    assert sum(taken) == 3
