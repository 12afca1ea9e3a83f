"""The record of a caller's events, in memory and in DynamoDB."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from stepwire.aws.storage.table import Table
from stepwire.changes import CallerEvent
from stepwire.extras.events.events import FINISHED, SLACK, STATUS_CHANGED
from stepwire.extras.events.ports import EventStore
from stepwire.extras.events.store import DynamoDbEventStore
from tests.contracts.task_stores import a_task, places
from tests.extras.events.fakes import InMemoryEventStore
from tests.fakes import START_OF_TIME as NOW
from tests.kits import ALICE, BOB
from tests.simulated.dynamodb import quick_dynamodb_client
from tests.tables import new_table

HOUR = timedelta(hours=1)
TASK = a_task()


def event(version: int = 2) -> CallerEvent:
    """Return an event; the version tells it from others."""
    data = {"taskId": TASK.task_id, "tool": "tool", "isError": True, "progress": 1.5, "version": version}
    return CallerEvent(ALICE, (FINISHED, STATUS_CHANGED), f"{TASK.task_id}-{version}", NOW, data)


@pytest.fixture(params=places(InMemoryEventStore, DynamoDbEventStore))
def events(request: pytest.FixtureRequest, aws: None) -> EventStore:
    build: Callable[[], EventStore] = request.param
    return build()


def versions(events: EventStore, after: int, most: int = 10) -> list[int]:
    return [one.event.data["version"] for one in events.read(ALICE, after, most)]


def append(events: EventStore, *events_: CallerEvent) -> None:
    head = events.head(ALICE, NOW)
    assert head is not None
    events.append(ALICE, head, events_)


def test_nothing_is_recorded_before_the_record_is_open(events: EventStore) -> None:
    assert events.head(ALICE, NOW) is None
    assert events.read(ALICE, 0, 10) == []


def test_a_record_is_open_until_its_time_and_for_its_caller_alone(events: EventStore) -> None:
    opened = events.open_record(ALICE, NOW, NOW + HOUR)

    assert opened == events.head(ALICE, NOW + HOUR + SLACK - timedelta(seconds=1))
    assert opened.since == NOW
    assert events.head(ALICE, NOW + HOUR + SLACK) is None
    assert events.head(BOB, NOW) is None


def test_opening_again_keeps_the_record_and_its_beginning(events: EventStore) -> None:
    first = events.open_record(ALICE, NOW, NOW + HOUR)
    later = NOW + SLACK

    assert events.open_record(ALICE, later, later + 2 * HOUR) == first
    assert events.head(ALICE, later + 2 * HOUR + SLACK - timedelta(seconds=1)) == first


def test_a_record_that_was_closed_begins_anew_with_higher_numbers(events: EventStore) -> None:
    first = events.open_record(ALICE, NOW, NOW + HOUR)
    append(events, event())
    later = NOW + HOUR + SLACK

    again = events.open_record(ALICE, later, later + HOUR)

    assert again.since == later
    assert again.number > first.number + 1
    assert events.read(ALICE, again.number, 10) == []


def test_changes_are_read_whole_and_in_order_after_a_number(events: EventStore) -> None:
    head = events.open_record(ALICE, NOW, NOW + HOUR)
    changes = [event(number) for number in range(12)]

    append(events, *changes[:5])
    append(events, *changes[5:])

    found = events.read(ALICE, head.number, 100)
    assert [one.event for one in found] == changes
    assert [one.number for one in found] == [head.number + count for count in range(1, 13)]
    assert versions(events, head.number + 3, most=4) == [3, 4, 5, 6]
    after = events.head(ALICE, NOW)
    assert after is not None
    assert (after.number, after.since) == (head.number + 12, head.since)


@pytest.mark.parametrize("of_others", [0, 20])
def test_changes_that_are_given_again_are_not_added_again(events: EventStore, of_others: int) -> None:
    head = events.open_record(ALICE, NOW, NOW + HOUR)
    batch = [event(number) for number in range(10)]
    append(events, *batch)
    append(events, *(event(100 + number) for number in range(of_others)))

    append(events, *batch)
    append(events, *batch[5:], event(10))

    assert versions(events, head.number, 100) == [*range(10), *range(100, 100 + of_others), 10]


def test_a_large_batch_that_is_given_again_adds_nothing(events: EventStore) -> None:
    head = events.open_record(ALICE, NOW, NOW + HOUR)
    batch = [event(number) for number in range(100)]
    append(events, *batch)

    append(events, *batch)

    assert versions(events, head.number, 200) == list(range(100))


def test_a_writer_with_an_old_head_overwrites_nothing(aws: None) -> None:
    events = DynamoDbEventStore(Table(new_table(), quick_dynamodb_client))
    head = events.open_record(ALICE, NOW, NOW + HOUR)
    events.append(ALICE, head, [event()])

    events.append(ALICE, head, [event(3)])
    events.append(ALICE, head, [event()])

    assert versions(events, head.number) == [2, 3]
