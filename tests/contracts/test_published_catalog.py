"""The compiled catalog in the table: consistent at every moment, and read with the fewest possible calls."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from msgspec import Struct
from msgspec.structs import replace

from stepwire.aws.storage.compiled_catalog import DynamoDbPublisher
from stepwire.aws.storage.table import Table
from stepwire.catalog.tools import CompiledTool
from stepwire.errors import SaveConflict
from stepwire.json_text import parse
from stepwire.manifests.published import Compiled, Refusal
from stepwire_local.account.engine import simulated_aws
from stepwire_local.account.isolation import REGION
from stepwire_local.iam.clients import aws_client
from tests.kits import OPTIONAL
from tests.tables import new_table, table_behind

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.fixture
def catalog() -> Iterator[DynamoDbPublisher]:
    with simulated_aws():
        client: Any = aws_client("dynamodb", REGION)
        yield DynamoDbPublisher(Table(new_table(), lambda: client))


def tools(*names: str, size: int = 10) -> Compiled:
    made = (replace(OPTIONAL, name=name, description=name * size) for name in names)
    return Compiled({tool.name: CompiledTool(tool, "a parameter") for tool in made})


def publish(catalog: DynamoDbPublisher, compiled: Compiled, over: str | None, at: datetime) -> None:
    catalog.publish(compiled, over, at, at)


def names_in(catalog: DynamoDbPublisher) -> list[str]:
    _, found = catalog.load()
    return sorted(found)


def test_without_a_published_catalog_nothing_is_read(catalog: DynamoDbPublisher) -> None:
    assert catalog.read(None) is None
    assert catalog.load() == (None, {})


def test_a_published_catalog_is_read_once(catalog: DynamoDbPublisher) -> None:
    publish(catalog, tools("a", "b"), None, NOW)

    published = catalog.read(None)

    assert published is not None
    assert published.shards == tools("a", "b").shards()
    assert catalog.read(published.version) is None
    assert catalog.load() == (published.version, tools("a", "b").tools)


def test_several_hundred_large_tools_are_published_and_read(catalog: DynamoDbPublisher) -> None:
    large = tools(*(f"tool_{number:03}" for number in range(500)), size=900)
    assert len(large.shards()) > 10

    publish(catalog, large, None, NOW)

    assert catalog.load()[1] == large.tools


def test_of_two_concurrent_publications_one_fails(catalog: DynamoDbPublisher) -> None:
    publish(catalog, tools("a"), None, NOW)
    version, _ = catalog.load()
    publish(catalog, tools("a", "b"), version, NOW)

    with pytest.raises(SaveConflict):
        publish(catalog, tools("a", "c"), version, NOW)
    with pytest.raises(SaveConflict):
        publish(catalog, tools("d"), None, NOW)

    assert names_in(catalog) == ["a", "b"]


class Colour(Struct, frozen=True):
    """What an extra serves beside the tools."""

    name: str


def with_colours(compiled: Compiled, *names: str, size: int = 10) -> Compiled:
    return replace(compiled, files={"colours": tuple(Colour(name * size) for name in names)})


def colours_of(catalog: DynamoDbPublisher) -> list[Colour]:
    published = catalog.read_files("colours", None)
    assert published is not None
    found = (parse(shard)["extras"]["colours"] for shard in published.shards)
    return [Colour(**one) for part in found for one in part]


def test_what_an_extra_serves_is_published_with_the_tools_and_read_apart_from_them(catalog: DynamoDbPublisher) -> None:
    compiled = with_colours(tools("a", "b"), *(f"tool_{number:03}" for number in range(200)), size=900)
    assert len(compiled.file_shards()["colours"] or ()) > 3

    publish(catalog, compiled, None, NOW)

    published = catalog.read(None)
    assert published is not None
    assert published.shards == tools("a", "b").shards()
    assert colours_of(catalog) == list(compiled.files["colours"] or ())
    assert catalog.read_files("colours", published.version) is None


def test_a_change_of_what_an_extra_serves_is_a_new_version_and_leaves_the_tools(
    catalog: DynamoDbPublisher,
) -> None:
    publish(catalog, with_colours(tools("a"), "a"), None, NOW)
    first, _ = catalog.load()

    publish(catalog, with_colours(tools("a"), "a", size=20), first, NOW)
    second, _ = catalog.load()
    publish(catalog, tools("a"), second, NOW)

    assert first != second
    assert names_in(catalog) == ["a"]
    assert colours_of(catalog) == []


def test_what_was_not_read_anew_stays_as_it_is(catalog: DynamoDbPublisher) -> None:
    before = with_colours(tools("a"), "a")
    publish(catalog, before, None, NOW)
    version, _ = catalog.load()

    publish(catalog, replace(tools("a", "b"), files={"colours": None}), version, NOW)

    assert names_in(catalog) == ["a", "b"]
    assert colours_of(catalog) == list(before.files["colours"] or ())


def test_an_unchanged_catalog_is_not_published_again(catalog: DynamoDbPublisher) -> None:
    publish(catalog, tools("a"), None, NOW)
    version, _ = catalog.load()

    publish(catalog, tools("a"), version, NOW)

    assert catalog.load()[0] == version


def test_a_replaced_part_is_kept_for_a_day_for_readers_of_the_old_head(catalog: DynamoDbPublisher) -> None:
    publish(catalog, tools("a"), None, NOW)
    old = {item["pk"]["S"] for item in parts(catalog)}
    publish(catalog, tools("b"), catalog.load()[0], NOW)

    expiring = {item["pk"]["S"]: item.get("expires_at", {}).get("N") for item in parts(catalog)}

    assert {key: at for key, at in expiring.items() if at} == dict.fromkeys(
        old, str(int((NOW + timedelta(days=1)).timestamp()))
    )


def test_a_part_that_is_published_again_no_longer_expires(catalog: DynamoDbPublisher) -> None:
    for names in ("a", "b", "a"):
        publish(catalog, tools(names), catalog.load()[0], NOW)

    (kept,) = [item for item in parts(catalog) if "expires_at" not in item]

    assert names_in(catalog) == ["a"]
    assert kept


def test_a_part_that_comes_back_survives_whoever_marks_its_predecessor_late(catalog: DynamoDbPublisher) -> None:
    """One compiler replaces the head, another publishes the old tools again, then the first marks what it replaced."""
    client = catalog.table.client
    late = LateMarks(client)
    slow = DynamoDbPublisher(Table(catalog.table.name, lambda: cast(Any, late)))
    publish(catalog, tools("a"), None, NOW)
    publish(slow, tools("b"), catalog.load()[0], NOW)
    publish(catalog, tools("a"), catalog.load()[0], NOW)

    late.write()

    (kept,) = [item for item in parts(catalog) if "expires_at" not in item]
    assert names_in(catalog) == ["a"]
    assert kept["pk"]["S"].endswith("-3")


class LateMarks:
    """A DynamoDB client whose updates wait until `write`."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._updates: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def update_item(self, **update: Any) -> None:
        self._updates.append(update)

    def write(self) -> None:
        for update in self._updates:
            self._client.update_item(**update)


def test_the_reasons_of_refused_tools_are_stored_for_operators(catalog: DynamoDbPublisher) -> None:
    publish(catalog, Compiled({}, (Refusal("a", "/stepwire/mine/tools/a", "line 1: what", False),)), None, NOW)

    client: Any = catalog.table.client
    item = client.get_item(TableName=catalog.table.name, Key={"pk": {"S": "catalog"}, "sk": {"S": "refusals"}})["Item"]

    assert '"reason":"line 1: what"' in item["refused"]["S"]


def parts(catalog: DynamoDbPublisher) -> list[Any]:
    assert table_behind(catalog.table.name)
    found: Any = catalog.table.client.scan(TableName=catalog.table.name)["Items"]
    return [item for item in found if item["sk"]["S"] == "shard"]
