"""The table's stream as a transactional outbox: a change is told if and only if it was written.

This is the composition root of function status_changes. It gives the changes of tasks to the extras that listen, and
puts what other systems hear of them on an EventBridge event bus. No other function imports it.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools import Logger
from msgspec import Struct

from stepwire.aws.audit_log import write_audit_entry
from stepwire.aws.clients import events_client, patient_dynamodb_client
from stepwire.aws.invocations import builds_once
from stepwire.aws.settings import read_extras, required
from stepwire.aws.storage.items import is_expiry, task_of
from stepwire.aws.storage.table import Table
from stepwire.changes import BusEvent, ChangeServices, Removal, TaskChange, status_event
from stepwire.codec import moment_of_seconds
from stepwire.composition import switched_on
from stepwire.hooks import TableGround
from stepwire.json_text import write

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_events.type_defs import PutEventsRequestEntryTypeDef

SOURCE: Final = "stepwire"
_MOST_ENTRIES: Final = 10  # of PutEvents
_RECORDS_SECOND: Final = timedelta(seconds=1)


def change_in(record: dict[str, Any]) -> TaskChange:
    """Return the change that a stream record shows of a task."""
    images = record["dynamodb"]
    at = moment_of_seconds(images["ApproximateCreationDateTime"])
    before = None if record["eventName"] == "INSERT" else task_of(images["OldImage"])
    if record["eventName"] != "REMOVE" or before is None:
        return TaskChange(before, task_of(images["NewImage"]), at)
    # The sweep deletes expired tasks too; the record's time is in seconds, rounded down.
    is_over = is_expiry(record) or before.expires_at < at + _RECORDS_SECOND
    return TaskChange(before, before, at, Removal.EXPIRED if is_over else Removal.REMOVED)


class EventBus(Struct, frozen=True, dict=True):
    """An event bus, by name or ARN. The client is built with the first event."""

    name: str
    build_client: "Callable[[], EventBridgeClient]"

    @cached_property
    def _client(self) -> "EventBridgeClient":
        return self.build_client()

    def put(self, events: Sequence[tuple[datetime, BusEvent]]) -> int:
        """Put events on the bus, each with its time, and return how many were accepted.

        Counted up to the first failure: later entries may have been accepted too.
        """
        for start in range(0, len(events), _MOST_ENTRIES):
            entries = [self._entry(*event) for event in events[start : start + _MOST_ENTRIES]]
            answers = self._client.put_events(Entries=entries)["Entries"]
            for number, answer in enumerate(answers):
                if "ErrorCode" in answer:
                    return start + number
        return len(events)

    def _entry(self, at: datetime, event: BusEvent) -> "PutEventsRequestEntryTypeDef":
        return {
            "EventBusName": self.name,
            "Source": SOURCE,
            "DetailType": event.detail_type,
            "Time": at,
            "Detail": write(event.detail),
        }


def _report(words: str, fault: Exception) -> None:
    Logger().error(words, fault=type(fault).__name__)


class StatusChangesHandler(Struct, frozen=True, dict=True):
    """Handles the stream of the task table: what the extras do with changes, and the event bus."""

    build_client: "Callable[[], EventBridgeClient]" = events_client
    build_table_client: "Callable[[], DynamoDBClient]" = patient_dynamodb_client

    @builds_once
    def __call__(self, event: dict[str, Any], _context: object) -> dict[str, Any]:
        """Process a batch; records from the first failure on are delivered again.

        Lambda continues at the record that is named here, so each step gets only what the step before it has done.
        """
        records, changes = event["Records"], list[TaskChange]()
        for record in records:
            try:
                changes.append(change_in(record))
            except Exception as fault:  # noqa: BLE001 - the records before it are published, and it is delivered again
                _report("a change of a task could not be read", fault)
                break
        for one in self.services.listeners:
            if one.listen is not None and changes:
                changes = changes[: one.listen(self.services, changes)]
        left = [one["dynamodb"]["SequenceNumber"] for one in records[self._published(changes) :]]
        return {"batchItemFailures": [{"itemIdentifier": number} for number in left[:1]]}

    def _published(self, changes: Sequence[TaskChange]) -> int:
        """Put what other systems hear on the bus, and return for how many changes: those before one not taken."""
        if self._bus is None:
            return len(changes)
        events, done = list[tuple[int, datetime, BusEvent]](), len(changes)
        for number, change in enumerate(changes):
            try:
                events += [(number, change.at, event) for event in self._events(change)]
            except Exception as fault:  # noqa: BLE001 - the changes before it are published, and it is delivered again
                _report("a change of a task could not be told", fault)
                done = number
                break
        taken = self._bus.put([(at, event) for _, at, event in events])
        if taken == len(events):
            return done
        Logger().error("the event bus did not take all events", left=len(events) - taken)
        return events[taken][0]

    def _events(self, change: TaskChange) -> Iterator[BusEvent]:
        """Yield what other systems hear of a change: of its status, and what the extras tell."""
        event = status_event(change)
        if event is not None:
            yield event
        for one in self.services.listeners:
            if one.tell is not None:
                yield from one.tell(self.services, change)

    @cached_property
    def services(self) -> ChangeServices:
        """What the extras have."""
        table = Table(required(os.environ, "TABLE_NAME"), self.build_table_client)
        return ChangeServices(
            TableGround(table, os.environ), switched_on(read_extras(os.environ)), write_audit_entry, _report
        )

    @cached_property
    def _bus(self) -> EventBus | None:
        name = os.environ.get("EVENT_BUS", "")
        return EventBus(name, self.build_client) if name else None
