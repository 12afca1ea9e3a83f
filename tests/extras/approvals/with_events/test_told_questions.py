"""Events of callers are recorded beside the questions to others, also while the bus refuses something."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from stepwire.extras.events.store import DynamoDbEventStore
from tests.extras.approvals.test_told_questions import HOUR, Outbox, outbox
from tests.kits import ALICE
from tests.unit.background.test_status_changes import ended

__all__ = ["outbox"]


def test_while_the_bus_refuses_the_events_of_callers_are_recorded_once(
    outbox: Callable[..., Outbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXTRAS", "events,approvals")
    monkeypatch.setenv("WEBHOOK_QUEUE", "a-queue")
    one = outbox()
    events, now = DynamoDbEventStore(one.table), datetime.now(UTC)
    opened = events.open_record(ALICE, now, now + HOUR)
    batch = {"Records": [ended(1), ended(2), ended(3)]}
    one.bus.deaf_to = {"tool 2"}

    for _ in range(3):
        assert one.handler(batch, None)["batchItemFailures"]
    one.bus.deaf_to.clear()
    one.handler({"Records": [*batch["Records"][1:], ended(4)]}, None)

    tools = [one.event.data["tool"] for one in events.read(ALICE, opened.number, 100)]
    assert tools == ["tool 1", "tool 2", "tool 3", "tool 4"]
