"""What `stepwire upgrade --with` says of an event bus, before it falls silent."""

import pytest

from packages.command.tests.table import TableOfAnEndpoint


@pytest.mark.parametrize(
    ("bus", "seen"), [("", {}), ("default", {"systems that hear of tasks on your bus": "EventBus=default"})]
)
def test_a_bus_is_in_use_where_one_is_named(bus: str, seen: dict[str, str], table: TableOfAnEndpoint) -> None:
    assert table.seen("event_bus", parameters={"EventBus": bus}) == seen
