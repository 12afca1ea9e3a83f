"""An unfinished result conforms to the listed output schema, by the validators of released clients."""

import itertools
import json
from pathlib import Path
from typing import Any, Final

import pytest
from jsonschema.validators import Draft202012Validator
from msgspec.structs import replace

from stepwire.catalog.tools import Tool
from stepwire.json_text import JsonObject, write
from tests.clients.behaviours import Behaviour
from tests.clients.raw_client import RawClient, Returned
from tests.clients.timeline import Timeline
from tests.kits import OPTIONAL, OUTPUT_SCHEMA, World, catalog_of
from tests.npm import install, node
from tests.server.clients import LegacyClient

Json = dict[str, Any]
NODE: Final = Path(__file__).parents[1] / "refusals" / "node"
_RUN_SECONDS: Final = 60
SCHEMAS: Final[dict[str, JsonObject]] = {
    "plain": OUTPUT_SCHEMA,
    "closed": {**OUTPUT_SCHEMA, "additionalProperties": False},
    "with_a_dialect": {"$schema": "https://json-schema.org/draft/2020-12/schema", **OUTPUT_SCHEMA},
    "with_alternatives": {"type": "object", "oneOf": [OUTPUT_SCHEMA, {"type": "object", "required": ["question"]}]},
    "with_references": {
        "type": "object",
        "properties": {"answer": {"$ref": "#/$defs/answer"}},
        "required": ["answer"],
        "$defs": {"answer": {"type": "integer"}},
    },
}


def tool_of(name: str, schema: JsonObject) -> Tool:
    return replace(OPTIONAL, name=name, output_schema=write(schema))


def tools_and_unfinished_results() -> Json:
    """List the tools, and call each so that it outlasts the wait."""
    world = World(catalog=catalog_of(*(tool_of(name, schema) for name, schema in SCHEMAS.items())))
    client = RawClient(Behaviour("a test", "anybody"), Timeline(world.clock), itertools.repeat(world.server))
    client.connect()
    outcomes = {name: client.call(name) for name in SCHEMAS}
    results = {name: outcome.result for name, outcome in outcomes.items() if isinstance(outcome, Returned)}
    return {"tools": LegacyClient(world).ask("tools/list").result["tools"], "results": results}


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_validator_of_the_python_sdk_accepts_it(name: str) -> None:
    given = tools_and_unfinished_results()
    schema = next(tool for tool in given["tools"] if tool["name"] == name).get("outputSchema", {})
    validator: Any = Draft202012Validator(schema)

    assert validator.is_valid(given["results"][name]["structuredContent"])


@pytest.mark.parametrize("name", [name for name in SCHEMAS if name != "with_references"])
def test_the_schema_still_describes_a_finished_result(name: str) -> None:
    tools = tools_and_unfinished_results()["tools"]
    validator: Any = Draft202012Validator(next(tool for tool in tools if tool["name"] == name)["outputSchema"])

    assert validator.is_valid({"answer": 42})
    assert not validator.is_valid({"answer": "forty-two"})
    assert not validator.is_valid({"stepwire/task": {}})


@pytest.mark.long
@pytest.mark.parametrize("library", ["sdk", "client"])
def test_the_typescript_clients_accept_it(library: str) -> None:
    install(NODE)

    ended = node(NODE, ["validate.mjs", library], _RUN_SECONDS, json.dumps(tools_and_unfinished_results()))

    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == dict.fromkeys(SCHEMAS, "taken")
