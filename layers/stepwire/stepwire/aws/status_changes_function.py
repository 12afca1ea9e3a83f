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
from stepwire.aws.settings import read_event_bus, read_events, read_table_name, read_webhook_queue
from stepwire.aws.storage.event_store import DynamoDbEventStore
from stepwire.aws.storage.items import is_expiry, task_of
from stepwire.aws.storage.subscription_store import DynamoDbSubscriptionStore
from stepwire.aws.storage.table import Table, moment_of_seconds
from stepwire.background.status_changes import (
    Removal,
    TaskStatusChange,
    change_of,
    change_on_removal,
    change_on_save,
)
from stepwire.json_text import write
from stepwire.rendering import modern_status
from stepwire.subscriptions.events import progress_of
from stepwire.subscriptions.record import OwnedChange, Recording

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_events.type_defs import PutEventsRequestEntryTypeDef

SOURCE: Final = "stepwire"
STATUS_CHANGE: Final = "Stepwire Task Status Change"
_MOST_ENTRIES: Final = 10  # of PutEvents
_RECORDS_SECOND: Final = timedelta(seconds=1)


def status_change_of(record: dict[str, Any]) -> TaskStatusChange | None:
    """Return the status change of a stream record about a task; None if the status is unchanged."""
    images = record["dynamodb"]
    at = moment_of_seconds(images["ApproximateCreationDateTime"])
    if record["eventName"] == "REMOVE":
        last = task_of(images["OldImage"])
        # The sweep deletes expired tasks too; the record's time is in seconds, rounded down.
        is_over = is_expiry(record) or last.expires_at < at + _RECORDS_SECOND
        return change_on_removal(last, Removal.EXPIRED if is_over else Removal.REMOVED, at)
    before = None if record["eventName"] == "INSERT" else task_of(images["OldImage"])
    return change_on_save(before, task_of(images["NewImage"]), at)


def progress_change_of(record: dict[str, Any]) -> OwnedChange | None:
    """Return the progress in a record about a task whose status is unchanged; None if it is not worth telling."""
    images = record["dynamodb"]
    if record["eventName"] != "MODIFY":
        return None
    before, after = task_of(images["OldImage"]), task_of(images["NewImage"])
    change = progress_of(before, after, modern_status(after.status))
    return None if change is None else OwnedChange(after.owner, change)


class Heard(Struct, frozen=True):
    """What one record says."""

    number: str
    """Its sequence number."""
    change: TaskStatusChange | None
    event: OwnedChange | None


def heard(record: dict[str, Any]) -> Heard:
    """Return what a record says; nothing that is rendered later can fail."""
    change = status_change_of(record)
    if change is None:
        return Heard(record["dynamodb"]["SequenceNumber"], None, progress_change_of(record))
    change.detail()
    return Heard(record["dynamodb"]["SequenceNumber"], change, OwnedChange(change.task.owner, change_of(change)))


class EventBus(Struct, frozen=True, dict=True):
    """An event bus, by name or ARN. The client is built with the first event."""

    name: str
    build_client: "Callable[[], EventBridgeClient]"

    @cached_property
    def _client(self) -> "EventBridgeClient":
        return self.build_client()

    def put(self, changes: Sequence[TaskStatusChange]) -> int:
        """Put an event for each change, and return how many were accepted before the first failure.

        Entries after the first failure may have been accepted too.
        """
        for start in range(0, len(changes), _MOST_ENTRIES):
            entries = [self._entry(change) for change in changes[start : start + _MOST_ENTRIES]]
            answers = self._client.put_events(Entries=entries)["Entries"]
            for number, answer in enumerate(answers):
                if "ErrorCode" in answer:
                    return start + number
        return len(changes)

    def _entry(self, change: TaskStatusChange) -> "PutEventsRequestEntryTypeDef":
        return {
            "EventBusName": self.name,
            "Source": SOURCE,
            "DetailType": STATUS_CHANGE,
            "Time": change.at,
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
        told = [(one.number, one.change) for one in found if one.change is not None]
        if self._bus is None or not told:
            return []
        taken = self._bus.put([change for _, change in told])
        if taken < len(told):
            Logger().error("the event bus did not take all changes of status", left=len(told) - taken)
        return [number for number, _ in told[taken:]]

    @cached_property
    def _bus(self) -> EventBus | None:
        name = read_event_bus(os.environ)
        return EventBus(name, self.build_client) if name else None

    @cached_property
    def _recording(self) -> Recording | None:
        if not read_events(os.environ):
            return None
        table = Table(read_table_name(os.environ), self.build_table_client)
        return Recording(
            DynamoDbEventStore(table),
            DynamoDbSubscriptionStore(table),
            Doorbells(read_webhook_queue(os.environ), self.build_queue_client).ring,
            partial(datetime.now, UTC),
        )
