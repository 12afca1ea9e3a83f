"""What every TaskStore owes of limits and idempotency keys; held against the one in memory and the one on DynamoDB."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from stepwire.errors import NotAdmitted
from stepwire.ports import KeyClaim, TaskStore
from stepwire.tasks.ids import TaskKey
from stepwire.tasks.usage import Limits, TooFast, TooManyActive
from tests.contracts.test_task_store import a_task, on_dynamodb, store
from tests.fakes import START_OF_TIME
from tests.kits import ALICE, BOB

__all__ = ["store"]  # the fixture

GENEROUS = Limits(active=1000, per_minute=60_000)


def keys(count: int) -> list[TaskKey]:
    return [a_task(number=number).key for number in range(1, count + 1)]


def test_a_caller_at_his_limit_is_refused_with_what_he_has(store: TaskStore) -> None:
    first, second, third = keys(3)
    limits = replace(GENEROUS, active=2)
    store.reserve(first, limits, START_OF_TIME)
    store.reserve(second, limits, START_OF_TIME)

    with pytest.raises(NotAdmitted) as refused:
        store.reserve(third, limits, START_OF_TIME)

    assert isinstance(refused.value.refusal, TooManyActive)
    assert refused.value.refusal.usage.active == {first.task_id, second.task_id}


def test_a_slot_is_free_again_however_often_it_is_released(store: TaskStore) -> None:
    first, second, third = keys(3)
    limits = replace(GENEROUS, active=1)
    store.reserve(first, limits, START_OF_TIME)

    for _ in range(3):
        store.release(ALICE, frozenset({first.task_id}))
    store.reserve(second, limits, START_OF_TIME)

    with pytest.raises(NotAdmitted):
        store.reserve(third, limits, START_OF_TIME)


def test_slots_are_reclaimed_once_in_10_seconds_and_the_store_remembers_when(store: TaskStore) -> None:
    first, second = keys(2)
    limits = replace(GENEROUS, active=1)
    store.reserve(first, limits, START_OF_TIME)

    begun = [store.begin_reclaim(ALICE, START_OF_TIME + timedelta(seconds=at)) for at in (0, 9.999, 10, 10)]
    with pytest.raises(NotAdmitted) as refused:
        store.reserve(second, limits, START_OF_TIME)

    assert begun == [True, False, True, False]
    assert isinstance(refused.value.refusal, TooManyActive)
    assert refused.value.refusal.usage.reclaimed_at == START_OF_TIME + timedelta(seconds=10)


def test_a_task_that_is_counted_is_not_counted_again(store: TaskStore) -> None:
    (key,) = keys(1)
    limits = replace(GENEROUS, active=1, per_minute=1)

    store.reserve(key, limits, START_OF_TIME)
    store.reserve(key, limits, START_OF_TIME)

    store.release(ALICE, frozenset({key.task_id}))


def test_what_one_caller_uses_is_not_anothers(store: TaskStore) -> None:
    limits = Limits(active=1, per_minute=1)
    store.reserve(a_task(ALICE).key, limits, START_OF_TIME)

    store.reserve(a_task(BOB).key, limits, START_OF_TIME)


@pytest.mark.parametrize("per_minute", [1, 3, 60])
def test_so_many_in_a_minute_and_no_more(store: TaskStore, per_minute: int) -> None:
    limits = replace(GENEROUS, per_minute=per_minute)
    *within, over = keys(per_minute + 1)
    for key in within:
        store.reserve(key, limits, START_OF_TIME)

    with pytest.raises(NotAdmitted) as refused:
        store.reserve(over, limits, START_OF_TIME)

    assert isinstance(refused.value.refusal, TooFast)
    store.reserve(over, limits, START_OF_TIME + refused.value.refusal.retry_after)


def test_a_caller_who_was_idle_begins_anew(store: TaskStore) -> None:
    limits = replace(GENEROUS, per_minute=2)
    first, second, third, fourth = keys(4)
    store.reserve(first, limits, START_OF_TIME)
    store.reserve(second, limits, START_OF_TIME)
    later = START_OF_TIME + timedelta(hours=1)

    store.reserve(third, limits, later)
    store.reserve(fourth, limits, later)


def test_of_two_hundred_at_once_exactly_as_many_are_counted_as_may_be(aws: None) -> None:
    store = on_dynamodb()
    limits = Limits(active=20, per_minute=60_000)

    def is_counted(key: TaskKey) -> bool:
        try:
            store.reserve(key, limits, START_OF_TIME)
        except NotAdmitted:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        counted = list(pool.map(is_counted, keys(200)))

    assert sum(counted) == 20


def test_a_reservation_that_is_undone_uses_up_nothing(store: TaskStore) -> None:
    limits = Limits(active=1, per_minute=1)
    first, second = keys(2)
    store.reserve(first, limits, START_OF_TIME)

    store.unreserve(first, limits)

    store.reserve(second, limits, START_OF_TIME)


def test_a_reservation_is_undone_once(store: TaskStore) -> None:
    limits = replace(GENEROUS, per_minute=2)
    first, second, third = keys(3)
    store.reserve(first, limits, START_OF_TIME)
    store.reserve(second, limits, START_OF_TIME)

    for _ in range(3):
        store.unreserve(first, limits)

    store.reserve(first, limits, START_OF_TIME)
    with pytest.raises(NotAdmitted):
        store.reserve(third, limits, START_OF_TIME)


def test_what_was_never_reserved_is_undone_in_vain(store: TaskStore) -> None:
    store.unreserve(a_task().key, GENEROUS)


def a_claim(number: int = 1, call_digest: str = "a call") -> KeyClaim:
    """Claim a key for the task of that number."""
    return KeyClaim(a_task(number=number).task_id, call_digest, START_OF_TIME, START_OF_TIME + timedelta(days=1))


def test_a_key_leads_to_the_task_that_it_was_claimed_for(store: TaskStore) -> None:
    claimed = store.claim_key(ALICE, "a key", a_claim())

    assert claimed is None
    assert store.keyed(ALICE, "a key") == a_claim()
    assert store.keyed(ALICE, "another") is None
    assert store.keyed(BOB, "a key") is None


def test_a_key_is_claimed_once_and_the_next_is_told_by_whom(store: TaskStore) -> None:
    store.claim_key(ALICE, "a key", a_claim())

    other = store.claim_key(ALICE, "a key", a_claim(2, "another call"))

    assert other == a_claim()
    assert store.keyed(ALICE, "a key") == a_claim()


def test_a_claim_whose_answer_was_lost_is_made_again(store: TaskStore) -> None:
    store.claim_key(ALICE, "a key", a_claim())

    assert store.claim_key(ALICE, "a key", a_claim()) is None


@pytest.mark.parametrize(("instead", "holder"), [(1, 3), (2, 1)])
def test_a_claim_is_replaced_only_where_it_is_the_one_that_is_meant(
    store: TaskStore, instead: int, holder: int
) -> None:
    store.claim_key(ALICE, "a key", a_claim())

    other = store.claim_key(ALICE, "a key", a_claim(3), instead=a_claim(instead).task_id)

    assert other == (None if holder == 3 else a_claim(holder))
    assert store.keyed(ALICE, "a key") == a_claim(holder)


def test_several_tasks_are_read_at_once_those_that_are_there(store: TaskStore) -> None:
    there, elsewhere = store.create(a_task(number=1)), store.create(a_task(BOB, number=2))
    missing = a_task(number=3)

    found = store.several(ALICE, frozenset({there.task_id, elsewhere.task_id, missing.task_id}))

    assert found == {there.task_id: there}
