"""The protocol's rules for descriptions of tools: the build checks them, or refuses the manifest."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from stepwire.catalog.tools import read_catalog
from stepwire.errors import CatalogError
from stepwire.json_text import write
from stepwire.manifests.reading import compile_directory
from tests.kits import OPTIONAL, World, catalog_of, state_machine_arn
from tests.server.answers import Json
from tests.server.clients import LegacyClient, ModernClient, nothing_happened

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def manifest(**changes: Any) -> Json:
    """Return a valid manifest with these changes."""
    known: Json = {
        "name": "a_tool",
        "description": "Does something.",
        "state_machine": "Some",
        "input_schema": {"type": "object"},
    }
    return {**known, **changes}


def compiled(folder: Path, document: Json) -> str:
    """Compile a folder with one manifest."""
    (folder / "a_tool.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    return compile_directory(folder)


# M34, M35
def test_a_tool_is_listed_as_its_manifest_describes_it(tmp_path: Path) -> None:
    schema = {"$schema": DIALECT, "type": "object", "properties": {"b": {"default": None}, "a": {}}}
    text = compiled(tmp_path, manifest(input_schema=schema))
    world = World(catalog=read_catalog(text, {"Some": state_machine_arn("Some")}))

    tool, _list = ModernClient(world).ask("tools/list").result["tools"]

    assert tool == {"name": "a_tool", "description": "Does something.", "inputSchema": schema}


# M34
@pytest.mark.parametrize("name", ["", "a tool", "a/tool", "tööl", "a" * 129, "a\n"])
def test_a_name_that_some_client_rejects_stops_the_build(tmp_path: Path, name: str) -> None:
    with pytest.raises(CatalogError, match=r"a_tool\.yaml: name: "):
        compiled(tmp_path, manifest(name=name))


# M35
@pytest.mark.parametrize("schema", [{}, {"type": "array"}, {"type": ["object", "null"]}, None, [], True])
def test_an_input_schema_must_describe_an_object(tmp_path: Path, schema: Any) -> None:
    with pytest.raises(CatalogError, match=r"a_tool\.yaml: input_schema"):
        compiled(tmp_path, manifest(input_schema=schema))


# M28
@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": "http://json-schema.org/draft-07/schema#"},
        {"properties": {"a": {"type": "text"}}},
        {"properties": {"a": {"$ref": "https://example.com/schema.json"}}},
        {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
        {"properties": {"a": {"$ref": "#/$defs/missing"}}},
        {"properties": {"a": {"pattern": "("}}},
    ],
    ids=["another dialect", "no type", "a reference to the network", "a reference to a file", "nowhere", "no pattern"],
)
@pytest.mark.parametrize("field", ["input_schema", "output_schema"])
def test_a_schema_that_cannot_be_evaluated_stops_the_build(tmp_path: Path, field: str, schema: Json) -> None:
    document = manifest(**{field: {"type": "object", **schema}})

    with pytest.raises(CatalogError, match=rf"a_tool\.yaml: {field}"):
        compiled(tmp_path, document)


# M28, M37
@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({"prefixItems": [{"type": "integer"}], "items": False}, [1], [1, 2]),
        ({"$defs": {"a": {"$anchor": "here", "type": "integer"}}, "$ref": "#here"}, 1, "1"),
        ({"type": "object", "dependentRequired": {"a": ["b"]}}, {"b": 1}, {"a": 1}),
        ({"type": "object", "properties": {"a": {}}, "unevaluatedProperties": False}, {"a": 1}, {"b": 1}),
        ({"if": {"const": 1}, "then": False}, 2, 1),
        ({"type": "string", "format": "date"}, "2026-08-01", "2026-02-30"),
        ({"type": "array", "contains": {"const": 1}, "maxContains": 1}, [1], [1, 1]),
    ],
)
@pytest.mark.parametrize("era", [LegacyClient, ModernClient])
def test_arguments_are_checked_by_the_2020_12_dialect(
    era: type[LegacyClient | ModernClient], schema: Json, right: Any, wrong: Any
) -> None:
    whole: Json = {"type": "object", "properties": {"value": schema}}
    world = World(catalog=catalog_of(replace(OPTIONAL, input_schema=write(whole))))
    client = era(world)

    refused = client.call("optional", {"value": wrong})
    nothing_yet = nothing_happened(world)
    client.call("optional", {"value": right})

    assert refused.result["isError"] is True
    assert "at /value" in refused.text
    assert nothing_yet
    assert len(world.workflows.starts) == 1
