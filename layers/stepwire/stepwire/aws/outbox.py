"""The table's stream as an outbox: what is written is told, and what was not written is not, whoever dies in between.

What function status_changes is made of; apart from `bootstrap`, so that the other functions import nothing of it.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools import Logger

from stepwire.aws.clients import events_client
from stepwire.aws.event_bus import EventBus
from stepwire.aws.items import moment_of, task_of
from stepwire.aws.settings import read_event_bus
from stepwire.aws.streams import is_expiry
from stepwire.status_changes import Removal, TaskStatusChange, gone, saved

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

_RECORDS_SECOND: Final = timedelta(seconds=1)


def status_change_of(record: dict[str, Any]) -> TaskStatusChange | None:
    """Read a record about a task; None where it tells of no change of its status."""
    images = record["dynamodb"]
    at = moment_of(images["ApproximateCreationDateTime"])
    if record["eventName"] == "REMOVE":
        last = task_of(images["OldImage"])
        # The sweep, too, removes what has expired; the record's time is in seconds, rounded down.
        is_over = is_expiry(record) or last.expires_at < at + _RECORDS_SECOND
        return gone(last, Removal.EXPIRED if is_over else Removal.REMOVED, at)
    before = None if record["eventName"] == "INSERT" else task_of(images["OldImage"])
    return saved(before, task_of(images["NewImage"]), at)


@dataclass(frozen=True)
class StatusChangesHandler:
    """Tells an event bus how the status of tasks changes, as the stream of their table has it."""

    build_client: "Callable[[], EventBridgeClient]" = events_client

    def __call__(self, event: dict[str, Any], _context: object) -> dict[str, Any]:
        """Take a batch; what could not be told comes again, from the first that failed."""
        numbers, changes, failed = list[str](), list[TaskStatusChange](), list[str]()
        for record in event["Records"]:
            number: str = record["dynamodb"]["SequenceNumber"]
            try:
                change = status_change_of(record)
                if change is not None:
                    change.detail()  # what cannot be told fails here, and keeps nothing else back
            except Exception as fault:  # noqa: BLE001 - those before it are told, and it comes again
                Logger().error("a change of a task could not be read", fault=type(fault).__name__)
                failed.append(number)
                break
            if change is not None:
                numbers.append(number)
                changes.append(change)
        taken = self._bus.put(changes)
        if taken < len(changes):
            Logger().error("the event bus did not take all changes of status", left=len(changes) - taken)
        # The first of them is where Lambda goes on.
        return {"batchItemFailures": [{"itemIdentifier": number} for number in [*numbers[taken:], *failed][:1]]}

    @cached_property
    def _bus(self) -> EventBus:
        return EventBus(read_event_bus(os.environ), self.build_client)
