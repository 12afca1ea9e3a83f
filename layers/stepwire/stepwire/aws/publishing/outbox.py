"""The table's stream as a transactional outbox: an event is published if and only if its change was written.

This is the composition root of function status_changes, apart from `bootstrap`, so that the other functions do not
import it.
"""

import os
from collections.abc import Callable
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools import Logger

from stepwire.aws.clients import events_client
from stepwire.aws.publishing.event_bus import EventBus
from stepwire.aws.settings import read_event_bus
from stepwire.aws.storage.items import moment_of, task_of
from stepwire.aws.storage.table_stream import is_expiry
from stepwire.background.status_changes import Removal, TaskStatusChange, change_on_removal, change_on_save
from stepwire.lean_dataclasses import dataclass

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

_RECORDS_SECOND: Final = timedelta(seconds=1)


def status_change_of(record: dict[str, Any]) -> TaskStatusChange | None:
    """Return the status change of a stream record about a task; None if the status is unchanged."""
    images = record["dynamodb"]
    at = moment_of(images["ApproximateCreationDateTime"])
    if record["eventName"] == "REMOVE":
        last = task_of(images["OldImage"])
        # The sweep deletes expired tasks too; the record's time is in seconds, rounded down.
        is_over = is_expiry(record) or last.expires_at < at + _RECORDS_SECOND
        return change_on_removal(last, Removal.EXPIRED if is_over else Removal.REMOVED, at)
    before = None if record["eventName"] == "INSERT" else task_of(images["OldImage"])
    return change_on_save(before, task_of(images["NewImage"]), at)


@dataclass(frozen=True)
class StatusChangesHandler:
    """Handles the stream of the task table: puts status change events on an event bus."""

    build_client: "Callable[[], EventBridgeClient]" = events_client

    def __call__(self, event: dict[str, Any], _context: object) -> dict[str, Any]:
        """Process a batch; records from the first failure on are delivered again."""
        numbers, changes, failed = list[str](), list[TaskStatusChange](), list[str]()
        for record in event["Records"]:
            number: str = record["dynamodb"]["SequenceNumber"]
            try:
                change = status_change_of(record)
                if change is not None:
                    change.detail()  # a record that cannot be rendered fails here, before the others are put
            except Exception as fault:  # noqa: BLE001 - the records before it are published, and it is delivered again
                Logger().error("a change of a task could not be read", fault=type(fault).__name__)
                failed.append(number)
                break
            if change is not None:
                numbers.append(number)
                changes.append(change)
        taken = self._bus.put(changes)
        if taken < len(changes):
            Logger().error("the event bus did not take all changes of status", left=len(changes) - taken)
        # Lambda continues at the first of these.
        return {"batchItemFailures": [{"itemIdentifier": number} for number in [*numbers[taken:], *failed][:1]]}

    @cached_property
    def _bus(self) -> EventBus:
        return EventBus(read_event_bus(os.environ), self.build_client)
