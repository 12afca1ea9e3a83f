"""A version serves registered tools of its own and of earlier versions, and refuses those that it cannot run."""

from typing import Any, Final

import pytest

from stepwire.catalog.compiled import Compiled, entries_in
from stepwire.catalog.live import LiveCatalog, Published
from stepwire.catalog.tools import (
    FORMAT,
    FORMATS,
    OBJECT_FORMAT,
    RACE_FORMAT,
    RETRY_FORMAT,
    RUN_FORMAT,
    SHAPED_FORMAT,
    SLOTS_FORMAT,
    read_catalog,
)
from stepwire.errors import CatalogError, UnknownTool
from stepwire.json_text import JsonObject, as_object, load_json, write
from tests.fakes import FixedClock
from tests.kits import catalog_of
from tests.upgrades.catalogs import MANIFESTS, ROLE, catalog_shards, published
from tests.upgrades.records import VERSIONS

RECORDED: Final[dict[str, list[JsonObject]]] = {
    version: content["catalog"] for version, content in VERSIONS.items() if "catalog" in content
}
FORMAT_OF: Final = {
    "plain": FORMAT,
    "with_context": SHAPED_FORMAT,
    "with_constants": SHAPED_FORMAT,
    "with_a_form": SHAPED_FORMAT,
    "express": RUN_FORMAT,
    "express_with_a_form": RUN_FORMAT,
    "elsewhere": RUN_FORMAT,
    "retried": RETRY_FORMAT,
    "racing": RACE_FORMAT,
    "racing_with_slots": SLOTS_FORMAT,
    "leaving": OBJECT_FORMAT,
}


def test_each_tool_has_the_oldest_format_whose_readers_run_it_as_meant() -> None:
    shards = [load_json(shard) for shard in published().shards()]

    found = {tool["name"]: shard["format"] for shard in shards for tool in shard["tools"]}

    assert found == FORMAT_OF
    assert set(FORMAT_OF) == set(MANIFESTS)


@pytest.mark.parametrize(
    ("known", "served"),
    [
        pytest.param([FORMAT], {"plain"}, id="8fe2b89"),
        pytest.param([FORMAT, SHAPED_FORMAT], {"plain", "with_context", "with_constants", "with_a_form"}, id="3dadc04"),
    ],
)
def test_an_earlier_version_serves_what_it_can_and_says_that_it_leaves_out_the_rest(
    known: list[int], served: set[str]
) -> None:
    """An unknown format stands here for each one that the earlier version does not know."""
    faults: list[Exception] = []
    live = LiveCatalog(catalog_of(), _Source(_as_met_by(known, published())), FixedClock().now, faults.append)

    assert set(live.tools) == served
    assert {str(fault) for fault in faults} == {
        "catalog.json is not what this version of Stepwire compiles: run `make catalog` again"
    }
    for name in set(MANIFESTS) - served:
        with pytest.raises(UnknownTool):
            live.find(name)


def test_a_release_is_refused_where_one_tool_needs_a_newer_version() -> None:
    (newest,) = (shard for shard in catalog_shards() if shard["format"] == SLOTS_FORMAT)

    with pytest.raises(CatalogError, match="not what this version of Stepwire compiles"):
        read_catalog(_beyond(newest), {})


@pytest.mark.parametrize("version", RECORDED)
def test_the_catalog_of_an_older_version_is_served(version: str) -> None:
    tools = {tool.name: tool for shard in RECORDED[version] for tool in read_catalog(write(shard), {}).in_order}

    assert set(tools) <= set(MANIFESTS)
    assert {name for name, tool in tools.items() if tool.is_express} == {"express", "express_with_a_form"}
    assert {name: tool.role for name, tool in tools.items() if tool.role} == {"elsewhere": ROLE}
    shaped = {name for name, tool in tools.items() if tool.output_shape}
    assert shaped - {"leaving"} == {"with_a_form", "express_with_a_form"}


@pytest.mark.parametrize("version", RECORDED)
def test_the_catalog_of_an_older_version_is_replaced_without_a_tool_missing(version: str) -> None:
    before = {name: tool for shard in RECORDED[version] for name, tool in entries_in(write(shard)).items()}

    after = published(previous=before)

    assert set(after.tools) == set(MANIFESTS)
    assert after.refusals == ()


def test_an_entry_that_was_published_in_too_old_a_format_gets_its_own() -> None:
    """The first versions with EXPRESS tools and roles published these in format 2."""
    entries = {name: tool for shard in catalog_shards() for name, tool in entries_in(write(shard)).items()}
    before = entries_in(write({"format": FORMAT, "tools": [entries["express"], entries["elsewhere"]]}))

    (shard,) = Compiled(before).shards()

    assert load_json(shard)["format"] == RUN_FORMAT


def test_what_is_published_today_has_the_shape_of_the_newest_record() -> None:
    newest = RECORDED[max(RECORDED, key=int)]

    assert [_shape(shard) for shard in catalog_shards()] == [_shape(shard) for shard in newest], (
        "What this version publishes is another than the newest record has. If an earlier version would misread it, "
        "give it a format of its own (format_of in stepwire.catalog.tools); then record it: "
        f"python -m tests.upgrades.recording {max(map(int, RECORDED)) + 1}"
    )


class _Source:
    def __init__(self, shards: tuple[str, ...]) -> None:
        self._shards = shards

    def read(self, known: str | None) -> Published | None:
        return Published("1", self._shards)


def _as_met_by(known: list[int], compiled: Compiled) -> tuple[str, ...]:
    documents = [as_object(load_json(shard)) for shard in compiled.shards()]
    return tuple(write(one) if one["format"] in known else _beyond(one) for one in documents)


def _beyond(shard: JsonObject) -> str:
    return write({**shard, "format": max(FORMATS) + 1})


def _shape(shard: JsonObject) -> Any:
    """Return names and types, with the format and the names of the tools."""
    entries: list[JsonObject] = shard["tools"]
    tools = [(tool["name"], {name: type(part).__name__ for name, part in tool.items()}) for tool in entries]
    return shard["format"], tools
