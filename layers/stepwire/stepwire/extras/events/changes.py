"""What function status_changes does for callers who have asked for events: it records them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from stepwire.aws.clients import sqs_client
from stepwire.aws.settings import required
from stepwire.changes import ChangeServices, TaskChange
from stepwire.extras.events.doorbells import Doorbells
from stepwire.extras.events.events import added_types, caller_events
from stepwire.extras.events.record import Recording
from stepwire.extras.events.store import DynamoDbEventStore, DynamoDbSubscriptionStore
from stepwire.hooks import TableGround


def recorded(services: ChangeServices, changes: Sequence[TaskChange]) -> int:
    """Record the events of callers, and return for how many changes: all, or none."""
    try:
        types = added_types(services.extras)
        events = [event for change in changes for event in caller_events(services, change, types)]
        if events:
            services.of(recording_of).record(events)
    except Exception as fault:  # noqa: BLE001 - it is delivered again
        services.report("the events of callers could not be recorded", fault)
        return 0
    return len(changes)


def recording_of(ground: TableGround) -> Recording:
    """Build what records events."""
    return Recording(
        DynamoDbEventStore(ground.table),
        DynamoDbSubscriptionStore(ground.table),
        Doorbells(required(ground.environment, "WEBHOOK_QUEUE"), sqs_client).ring,
        partial(datetime.now, UTC),
    )
