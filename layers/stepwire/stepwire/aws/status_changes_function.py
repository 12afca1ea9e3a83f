"""The table's stream as a transactional outbox: an event is published if and only if its change was written.

This is the composition root of function status_changes, which records events for callers and puts changes of status on
an EventBridge event bus. No other function imports it.
"""

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools import Logger
from msgspec import Struct

from stepwire.aws.clients import events_client, patient_dynamodb_client, sqs_client
from stepwire.aws.invocations import builds_once
from stepwire.aws.queues import Doorbells
from stepwire.aws.settings import is_on, required
from stepwire.aws.storage.events import DynamoDbEventStore, DynamoDbSubscriptionStore
from stepwire.aws.storage.items import is_expiry, task_of
from stepwire.aws.storage.table import Table, moment_of_seconds
from stepwire.json_text import write
from stepwire.subscriptions.events import OwnedChange, Removal, change_on_removal, change_on_save
from stepwire.subscriptions.record import Recording

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_events.type_defs import PutEventsRequestEntryTypeDef

SOURCE: Final = "stepwire"
STATUS_CHANGE: Final = "Stepwire Task Status Change"
_MOST_ENTRIES: Final = 10  # of PutEvents
_RECORDS_SECOND: Final = timedelta(seconds=1)


def change_in(record: dict[str, Any]) -> OwnedChange | None:
    """Return the change that a stream record shows of a task: of its status, or progress; None if it is neither."""
    images = record["dynamodb"]
    if record["eventName"] == "REMOVE":
        at, last = moment_of_seconds(images["ApproximateCreationDateTime"]), task_of(images["OldImage"])
        # The sweep deletes expired tasks too; the record's time is in seconds, rounded down.
        is_over = is_expiry(record) or last.expires_at < at + _RECORDS_SECOND
        return change_on_removal(last, Removal.EXPIRED if is_over else Removal.REMOVED, at)
    before = None if record["eventName"] == "INSERT" else task_of(images["OldImage"])
    return change_on_save(before, task_of(images["NewImage"]))


class Heard(Struct, frozen=True):
    """What one record says."""

    number: str
    """Its sequence number."""
    at: datetime
    """When it was written."""
    event: OwnedChange | None


def heard(record: dict[str, Any]) -> Heard:
    """Return what a record says; nothing that is rendered later can fail."""
    event, images = change_in(record), record["dynamodb"]
    if event is not None:
        event.detail()
    return Heard(images["SequenceNumber"], moment_of_seconds(images["ApproximateCreationDateTime"]), event)


class EventBus(Struct, frozen=True, dict=True):
    """An event bus, by name or ARN. The client is built with the first event."""

    name: str
    build_client: "Callable[[], EventBridgeClient]"

    @cached_property
    def _client(self) -> "EventBridgeClient":
        return self.build_client()

    def put(self, changes: Sequence[tuple[datetime, OwnedChange]]) -> int:
        """Put an event for each change, given with the time of its write; return how many were accepted.

        Counted up to the first failure: later entries may have been accepted too.
        """
        for start in range(0, len(changes), _MOST_ENTRIES):
            entries = [self._entry(at, change) for at, change in changes[start : start + _MOST_ENTRIES]]
            answers = self._client.put_events(Entries=entries)["Entries"]
            for number, answer in enumerate(answers):
                if "ErrorCode" in answer:
                    return start + number
        return len(changes)

    def _entry(self, at: datetime, change: OwnedChange) -> "PutEventsRequestEntryTypeDef":
        return {
            "EventBusName": self.name,
            "Source": SOURCE,
            "DetailType": STATUS_CHANGE,
            "Time": at,
            "Detail": write(change.detail()),
        }


class StatusChangesHandler(Struct, frozen=True, dict=True):
    """Handles the stream of the task table: records events for callers, and puts changes of status on an event bus."""

    build_client: "Callable[[], EventBridgeClient]" = events_client
    build_table_client: "Callable[[], DynamoDBClient]" = patient_dynamodb_client
    build_queue_client: Callable[[], Any] = sqs_client

    @builds_once
    def __call__(self, event: dict[str, Any], _context: object) -> dict[str, Any]:
        """Process a batch; records from the first failure on are delivered again."""
        found, failed = list[Heard](), list[str]()
        for record in event["Records"]:
            try:
                found.append(heard(record))
            except Exception as fault:  # noqa: BLE001 - the records before it are published, and it is delivered again
                Logger().error("a change of a task could not be read", fault=type(fault).__name__)
                failed.append(record["dynamodb"]["SequenceNumber"])
                break
        # Lambda continues at the first of these.
        left = [*(self._unrecorded(found) or self._unpublished(found)), *failed]
        return {"batchItemFailures": [{"itemIdentifier": number} for number in left[:1]]}

    def _unrecorded(self, found: list[Heard]) -> list[str]:
        """Record the events of a batch, and return the records that must be delivered again: all, or none."""
        events = [one.event for one in found if one.event is not None]
        if self._recording is None or not events:
            return []
        try:
            self._recording.record(events)
        except Exception as fault:  # noqa: BLE001 - it is delivered again
            Logger().error("the events of callers could not be recorded", fault=type(fault).__name__)
            return [one.number for one in found]
        return []

    def _unpublished(self, found: list[Heard]) -> list[str]:
        """Put the changes of status on the bus, and return the records whose changes it did not take."""
        # Progress is for callers alone.
        told = [(one, one.event) for one in found if one.event is not None and one.event.change.progress is None]
        if self._bus is None or not told:
            return []
        taken = self._bus.put([(one.at, event) for one, event in told])
        if taken < len(told):
            Logger().error("the event bus did not take all changes of status", left=len(told) - taken)
        return [one.number for one, _ in told[taken:]]

    @cached_property
    def _bus(self) -> EventBus | None:
        name = os.environ.get("EVENT_BUS", "")
        return EventBus(name, self.build_client) if name else None

    @cached_property
    def _recording(self) -> Recording | None:
        if not is_on(os.environ, "EVENTS"):
            return None
        table = Table(required(os.environ, "TABLE_NAME"), self.build_table_client)
        return Recording(
            DynamoDbEventStore(table),
            DynamoDbSubscriptionStore(table),
            Doorbells(required(os.environ, "WEBHOOK_QUEUE"), self.build_queue_client).ring,
            partial(datetime.now, UTC),
        )
