"""What `stepwire upgrade --with` says of a REST API, before clients lose it."""

import pytest

from packages.command.tests.table import TableOfAnEndpoint


@pytest.mark.parametrize(
    ("door", "seen"), [("http", {}), ("private", {"the REST API that clients reach": "FrontDoor=private"})]
)
def test_a_door_is_in_use_where_it_is_another_api(door: str, seen: dict[str, str], table: TableOfAnEndpoint) -> None:
    assert table.seen("door", parameters={"FrontDoor": door}) == seen
