"""The table's stream as a transactional outbox: an event is published if and only if its change was written.

This is the composition root of function status_changes. It records events for callers, keeps the inbox of approvers,
and puts changes of status, of places in line and of questions to others on an EventBridge event bus. No other function
imports it.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools import Logger
from msgspec import Struct

from stepwire.approval_page.links import LinkMode, Links, origin_of
from stepwire.aws.approval_settings import read_link_mode
from stepwire.aws.audit_log import write_audit_entry
from stepwire.aws.clients import events_client, patient_dynamodb_client, secrets_manager_client, sqs_client
from stepwire.aws.invocations import builds_once
from stepwire.aws.queues import Doorbells
from stepwire.aws.secrets_manager import Secret
from stepwire.aws.settings import is_on, required
from stepwire.aws.storage.approvals import DynamoDbInbox, DynamoDbSubscribers
from stepwire.aws.storage.events import DynamoDbEventStore, DynamoDbSubscriptionStore
from stepwire.aws.storage.items import is_expiry, task_of
from stepwire.aws.storage.table import Table
from stepwire.codec import moment_of_seconds
from stepwire.json_text import JsonObject, write
from stepwire.subscriptions.approvals import (
    OPEN,
    ApprovalChange,
    ApprovalRecording,
    approval_changes,
    approvals_of_removed,
)
from stepwire.subscriptions.events import OwnedChange, Removal, change_on_removal, change_on_save
from stepwire.subscriptions.listening import told
from stepwire.subscriptions.record import Recording

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_events.type_defs import PutEventsRequestEntryTypeDef
    from mypy_boto3_secretsmanager import SecretsManagerClient

SOURCE: Final = "stepwire"
STATUS_CHANGE: Final = "Stepwire Task Status Change"
PLACE_CHANGE: Final = "Stepwire Task Place in Line"
QUESTION_ASKED: Final = "Stepwire Question Asked"
QUESTION_CLOSED: Final = "Stepwire Question Closed"
_MOST_ENTRIES: Final = 10  # of PutEvents
_RECORDS_SECOND: Final = timedelta(seconds=1)


class Told(Struct, frozen=True):
    """An event for other systems."""

    detail_type: str
    at: datetime
    """When what it tells was written."""
    detail: JsonObject


def change_in(record: dict[str, Any]) -> OwnedChange | None:
    """Return the change that a stream record shows of a task: of its status, its place or progress; None if none."""
    images = record["dynamodb"]
    if record["eventName"] == "REMOVE":
        at, last = moment_of_seconds(images["ApproximateCreationDateTime"]), task_of(images["OldImage"])
        # The sweep deletes expired tasks too; the record's time is in seconds, rounded down.
        is_over = is_expiry(record) or last.expires_at < at + _RECORDS_SECOND
        return change_on_removal(last, Removal.EXPIRED if is_over else Removal.REMOVED, at)
    before = None if record["eventName"] == "INSERT" else task_of(images["OldImage"])
    return change_on_save(before, task_of(images["NewImage"]))


def approvals_in(record: dict[str, Any]) -> tuple[ApprovalChange, ...]:
    """Return what a stream record shows of the questions to others of a task."""
    images = record["dynamodb"]
    at = moment_of_seconds(images["ApproximateCreationDateTime"])
    if record["eventName"] == "REMOVE":
        return tuple(approvals_of_removed(task_of(images["OldImage"]), at))
    before = None if record["eventName"] == "INSERT" else task_of(images["OldImage"])
    return tuple(approval_changes(before, task_of(images["NewImage"]), at))


class Heard(Struct, frozen=True):
    """What one record says."""

    at: datetime
    """When it was written."""
    event: OwnedChange | None
    approvals: tuple[ApprovalChange, ...] = ()

    def told(self, links_of: "Callable[[ApprovalChange], list[JsonObject]]") -> Iterator[Told]:
        """Yield what other systems hear of it: status, place in line, and questions to others.

        Progress is for callers alone.
        Whoever hears of an open question gets the links with which it is decided.
        """
        if self.event is not None and self.event.change.progress is None:
            kind = STATUS_CHANGE if self.event.change.in_line is None else PLACE_CHANGE
            yield Told(kind, self.at, self.event.detail())
        for one in self.approvals:
            if one.happened in OPEN:
                yield Told(QUESTION_ASKED, self.at, {**one.detail(), "links": links_of(one)})
            else:
                yield Told(QUESTION_CLOSED, self.at, one.detail())


def heard(record: dict[str, Any]) -> Heard:
    """Return what a record says; nothing that is rendered later can fail."""
    images = record["dynamodb"]
    at = moment_of_seconds(images["ApproximateCreationDateTime"])
    found = Heard(at, change_in(record), approvals_in(record))
    _ = list(found.told(lambda _: []))
    return found


class EventBus(Struct, frozen=True, dict=True):
    """An event bus, by name or ARN. The client is built with the first event."""

    name: str
    build_client: "Callable[[], EventBridgeClient]"

    @cached_property
    def _client(self) -> "EventBridgeClient":
        return self.build_client()

    def put(self, events: Sequence[Told]) -> int:
        """Put events on the bus, and return how many were accepted.

        Counted up to the first failure: later entries may have been accepted too.
        """
        for start in range(0, len(events), _MOST_ENTRIES):
            entries = [self._entry(event) for event in events[start : start + _MOST_ENTRIES]]
            answers = self._client.put_events(Entries=entries)["Entries"]
            for number, answer in enumerate(answers):
                if "ErrorCode" in answer:
                    return start + number
        return len(events)

    def _entry(self, event: Told) -> "PutEventsRequestEntryTypeDef":
        return {
            "EventBusName": self.name,
            "Source": SOURCE,
            "DetailType": event.detail_type,
            "Time": event.at,
            "Detail": write(event.detail),
        }


class StatusChangesHandler(Struct, frozen=True, dict=True):
    """Handles the stream of the task table: events for callers, the inbox of approvers, and the event bus."""

    build_client: "Callable[[], EventBridgeClient]" = events_client
    build_table_client: "Callable[[], DynamoDBClient]" = patient_dynamodb_client
    build_queue_client: Callable[[], Any] = sqs_client
    build_secrets_client: "Callable[[], SecretsManagerClient]" = secrets_manager_client

    @builds_once
    def __call__(self, event: dict[str, Any], _context: object) -> dict[str, Any]:
        """Process a batch; records from the first failure on are delivered again.

        Lambda continues at the record that is named here, so each step gets only what the step before it has done.
        """
        records, found = event["Records"], list[Heard]()
        for record in records:
            try:
                found.append(heard(record))
            except Exception as fault:  # noqa: BLE001 - the records before it are published, and it is delivered again
                Logger().error("a change of a task could not be read", fault=type(fault).__name__)
                break
        for done in (self._listed, self._recorded, self._published):
            found = found[: done(found)]
        left = [one["dynamodb"]["SequenceNumber"] for one in records[len(found) :]]
        return {"batchItemFailures": [{"itemIdentifier": number} for number in left[:1]]}

    def _listed(self, found: list[Heard]) -> int:
        """Keep the inbox of approvers, and return for how many records: those before a fault."""
        for number, one in enumerate(found):
            try:
                for change in one.approvals:
                    self._approvals.record(change)
            except Exception as fault:  # noqa: BLE001 - it is delivered again
                Logger().error("a question could not be listed for its approvers", fault=type(fault).__name__)
                return number
        return len(found)

    def _recorded(self, found: list[Heard]) -> int:
        """Record the events of callers, and return for how many records: all, or none."""
        events = [one.event for one in found if one.event is not None]
        approvals = [change for one in found for change in one.approvals]
        if self._recording is None or not (events or approvals):
            return len(found)
        try:
            events += told(DynamoDbSubscribers(self._table), approvals, self._recording.now()) if approvals else ()
            self._recording.record(events)
        except Exception as fault:  # noqa: BLE001 - it is delivered again
            Logger().error("the events of callers could not be recorded", fault=type(fault).__name__)
            return 0
        return len(found)

    def _published(self, found: list[Heard]) -> int:
        """Put what other systems hear on the bus, and return for how many records: those before one not taken."""
        if self._bus is None:
            return len(found)
        told = [(number, event) for number, one in enumerate(found) for event in one.told(self._links.of)]
        taken = self._bus.put([event for _, event in told])
        if taken == len(told):
            return len(found)
        Logger().error("the event bus did not take all events", left=len(told) - taken)
        return told[taken][0]

    @cached_property
    def _approvals(self) -> ApprovalRecording:
        return ApprovalRecording(DynamoDbInbox(self._table), write_audit_entry)

    @cached_property
    def _table(self) -> Table:
        return Table(required(os.environ, "TABLE_NAME"), self.build_table_client)

    @cached_property
    def _links(self) -> Links:
        mode = read_link_mode(os.environ)
        if mode is LinkMode.OFF:
            return Links(mode, "", lambda: b"")
        secret = Secret(required(os.environ, "SECRET_ARN"), self.build_secrets_client)
        return Links(mode, origin_of(required(os.environ, "RESOURCE")), secret)

    @cached_property
    def _bus(self) -> EventBus | None:
        name = os.environ.get("EVENT_BUS", "")
        return EventBus(name, self.build_client) if name else None

    @cached_property
    def _recording(self) -> Recording | None:
        if not is_on(os.environ, "EVENTS"):
            return None
        return Recording(
            DynamoDbEventStore(self._table),
            DynamoDbSubscriptionStore(self._table),
            Doorbells(required(os.environ, "WEBHOOK_QUEUE"), self.build_queue_client).ring,
            partial(datetime.now, UTC),
        )
