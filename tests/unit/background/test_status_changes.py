"""The status changes of tasks that are published to the event bus, from the stream of the table."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count, pairwise
from typing import Any, Final, cast

import pytest
from hypothesis import given
from msgspec.structs import replace
from mypy_boto3_events import EventBridgeClient

from stepwire.aws.status_changes_function import StatusChangesHandler
from stepwire.aws.storage.items import item_of
from stepwire.aws.storage.table import Item
from stepwire.changes import status_event
from stepwire.rendering import modern_status
from stepwire.tasks.task import (
    Cancelled,
    Completed,
    Failed,
    Progress,
    ResultInExecution,
    Status,
    Task,
    TaskError,
    ToolResult,
    Working,
)
from tests.changes import saved
from tests.kits import ALICE, FORM, OPTIONAL, OUTPUT, World
from tests.recorded import recorded
from tests.strategies import tasks

AT: Final = datetime(2026, 8, 1, 12, 0, 2, tzinfo=UTC)
BY_TTL: Final = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
NAMES: Final = {
    "event_id",
    "task_id",
    "tool",
    "status",
    "previous_status",
    "principal",
    "version",
    "created_at",
    "last_updated_at",
    "expires_at",
}
Record = dict[str, Any]
_numbers = count(1)


def record(kind: str, before: Task | None, after: Task | None, **more: Any) -> Record:
    """Return the stream record of a change of an item."""
    images = {"OldImage": before, "NewImage": after}
    return {
        "eventName": kind,
        "dynamodb": {
            "ApproximateCreationDateTime": AT.timestamp(),
            "SequenceNumber": str(next(_numbers)),
            **{name: item_of(task) for name, task in images.items() if task is not None},
        },
        **more,
    }


def task_with(status: Status, version: int = 1) -> Task:
    """Return a task with this status."""
    return replace(World().call(), status=status, version=version)


def ended(number: int) -> Record:
    """Return the stream record of a task that ended; the number identifies it."""
    tool = replace(OPTIONAL, name=f"tool {number}")
    task = World().call(tool)
    return record("MODIFY", replace(task, version=1), replace(task, status=Cancelled(), version=2))


@dataclass
class Bus:
    """A fake EventBridge, which records entries and rejects some of them."""

    told: list[Record] = field(default_factory=list[Record])
    calls: list[int] = field(default_factory=list[int])
    """The number of entries of each call."""
    deaf_to: set[str] = field(default_factory=set[str])
    """The tools whose entries are rejected."""
    is_available: bool = True

    def client(self) -> EventBridgeClient:
        return cast(EventBridgeClient, self)

    def put_events(self, *, Entries: list[Record]) -> Record:  # noqa: N803 - AWS's own name
        if not self.is_available:
            raise TimeoutError
        self.calls.append(len(Entries))
        answers = [self._take(entry) for entry in Entries]
        return {"FailedEntryCount": sum("ErrorCode" in answer for answer in answers), "Entries": answers}

    def _take(self, entry: Record) -> dict[str, str]:
        if json.loads(entry["Detail"])["tool"] in self.deaf_to:
            return {"ErrorCode": "ThrottlingException", "ErrorMessage": "Rate exceeded."}
        self.told.append(entry)
        return {"EventId": "an id"}

    def tools(self) -> list[str]:
        return [json.loads(entry["Detail"])["tool"] for entry in self.told]


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch) -> Bus:
    """The bus to which the function publishes."""
    monkeypatch.setenv("EVENT_BUS", "agents")
    monkeypatch.setenv("TABLE_NAME", "tasks")
    monkeypatch.setenv("EXTRAS", "")
    return Bus()


def handle(bus: Bus, *records: Record) -> list[str]:
    """Run the function with a batch; return the sequence numbers that it reports as failed."""
    answer = StatusChangesHandler(bus.client)({"Records": list(records)}, None)
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def number_of(one: Record) -> str:
    return one["dynamodb"]["SequenceNumber"]


def published(*records: Record) -> list[Record]:
    """Return the details of the events that the function publishes for records."""
    bus = Bus()
    assert handle(bus, *records) == []
    return [json.loads(entry["Detail"]) for entry in bus.told]


# ------------------------------------------------------------------------------------------------- which are told


@given(tasks(), tasks())
def test_a_task_is_published_exactly_when_its_status_changes(before: Task, after: Task) -> None:
    assert (status_event(saved(before, after)) is not None) == (modern_status(before) != modern_status(after))


@pytest.mark.parametrize(
    ("identity", "ttl", "status"),
    [
        (BY_TTL, timedelta(hours=1), "expired"),
        (None, timedelta(hours=1), "removed"),
        (None, timedelta(seconds=3), "removed"),
        (None, timedelta(seconds=2, milliseconds=999), "expired"),
        (None, timedelta(seconds=1), "expired"),
    ],
)
def test_a_task_removed_before_its_end_is_published_with_the_next_version(
    bus: Bus, identity: Any, ttl: timedelta, status: str
) -> None:
    """The sweep deletes tasks too; the time of a record is rounded down to a second."""
    more = {} if identity is None else {"userIdentity": identity}
    last = replace(task_with(Working(), version=7), ttl=ttl)

    handle(bus, record("REMOVE", last, None, **more))

    (entry,) = bus.told
    told = json.loads(entry["Detail"])
    assert (told["previous_status"], told["status"], told["version"]) == ("working", status, 8)
    assert (told["principal"], entry["Time"]) == (ALICE, AT)


@pytest.mark.parametrize(
    "status", [Completed(ResultInExecution(is_error=False)), Failed(TaskError(1, "m")), Cancelled()]
)
def test_a_task_removed_after_its_end_is_not_published(status: Status, bus: Bus) -> None:
    assert published(record("REMOVE", task_with(status), None, userIdentity=BY_TTL)) == []


# ------------------------------------------------------------------------------------------------ and what is told


@given(tasks())
def test_an_event_contains_only_names_ids_and_times(task: Task) -> None:
    event = status_event(saved(None, task))

    assert event is not None
    assert set(event.detail) - {"is_error", "traceparent", "tracestate"} == NAMES


def test_an_event_contains_no_content_of_its_task(bus: Bus) -> None:
    world = World()
    task = world.call(arguments={"text": "xyzzy"})
    world.ask(task.task_id, key="xyzzy", elicitation={**FORM, "message": "xyzzy"})
    asking = world.stored(task)
    failed = replace(asking, status=Failed(TaskError(1, "xyzzy", "xyzzy"), "xyzzy"))
    answered = replace(asking, status=Completed(ToolResult('{"content":"xyzzy"}', is_error=True), "xyzzy"))

    told = published(*(record("INSERT", None, one) for one in (asking, failed, answered)))

    assert [(one["status"], one.get("is_error")) for one in told] == [
        ("input_required", None),
        ("failed", None),
        ("completed", True),
    ]
    assert {one["previous_status"] for one in told} == {None}
    assert "xyzzy" in repr(asking)
    assert "xyzzy" not in repr(told)


def test_the_sample_event_is_what_is_published(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENT_BUS", "default")
    sample = recorded("task_status_changed")

    handle(bus, recorded("table_changed")["Records"][1])

    assert bus.told == [
        {
            "EventBusName": "default",
            "Source": sample["source"],
            "DetailType": sample["detail-type"],
            "Time": datetime.fromisoformat(sample["time"]),
            "Detail": json.dumps(sample["detail"], separators=(",", ":")),
        }
    ]


def test_each_change_in_the_life_of_a_task_has_an_id_of_its_own(bus: Bus) -> None:
    world = World()
    task = world.call()
    images: list[Task | None] = [None, task]
    world.ask(task.task_id)
    images.append(world.stored(task))
    world.succeed(task.task_id, OUTPUT)
    images.append(world.stored(task))

    told = published(*(record("MODIFY" if before else "INSERT", before, after) for before, after in pairwise(images)))

    assert [one["status"] for one in told] == ["working", "input_required", "completed"]
    assert [one["event_id"] for one in told] == [f"{task.task_id}-{one['version']}" for one in told]
    assert len({one["event_id"] for one in told}) == 3


# --------------------------------------------------------------------------------------------------------- the function


def test_a_batch_is_published_in_order_ten_at_a_time(bus: Bus) -> None:
    failed = handle(bus, *map(ended, range(23)))

    assert failed == []
    assert bus.tools() == [f"tool {number}" for number in range(23)]
    assert bus.calls == [10, 10, 3]
    assert {entry["EventBusName"] for entry in bus.told} == {"agents"}


def test_a_batch_without_status_changes_makes_no_call(bus: Bus) -> None:
    working = task_with(Working())

    failed = handle(bus, record("MODIFY", working, replace(working, progress=Progress(3), version=2)))

    assert failed == []
    assert bus.calls == []


def test_records_from_the_first_rejected_event_on_are_retried(bus: Bus) -> None:
    records = [ended(number) for number in range(30)]
    bus.deaf_to = {"tool 12", "tool 15"}

    failed = handle(bus, *records)

    assert failed == [number_of(records[12])]
    assert bus.calls == [10, 10], "the records after a failure are delivered again"
    bus.deaf_to = set()
    assert handle(bus, *records[12:]) == []
    assert set(bus.tools()) == {f"tool {number}" for number in range(30)}


def test_an_unreadable_record_delays_only_later_records(bus: Bus) -> None:
    records = [ended(number) for number in range(3)]
    item: Item = records[1]["dynamodb"]["NewImage"]
    del item["task"]

    failed = handle(bus, *records)

    assert failed == [number_of(records[1])]
    assert bus.tools() == ["tool 0"]


def test_the_earlier_of_two_failures_is_reported(bus: Bus) -> None:
    records = [ended(number) for number in range(3)]
    del records[2]["dynamodb"]["NewImage"]["task"]
    bus.deaf_to = {"tool 0"}

    assert handle(bus, *records) == [number_of(records[0])]


def test_a_batch_fails_if_the_call_fails(bus: Bus) -> None:
    """Lambda then retries the batch in halves."""
    bus.is_available = False

    with pytest.raises(TimeoutError):
        handle(bus, ended(1))


def test_a_function_without_a_bus_publishes_nothing(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENT_BUS", "")

    assert handle(bus, ended(1)) == []
    assert bus.told == []
