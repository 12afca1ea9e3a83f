"""An unfinished result conforms to the listed output schema, by the validator of the Python SDK.

That released clients accept it with their own validators: tests/clients/test_fetching.py.
"""

import itertools
from typing import Any

import pytest
from jsonschema.validators import Draft202012Validator

from tests.clients.long_work import SCHEMAS, LongWork
from tests.clients.replayed.behaviours import Behaviour
from tests.clients.replayed.raw_client import RawClient, Returned
from tests.clients.replayed.timeline import FakeTimeline
from tests.server.clients import LegacyClient

Json = dict[str, Any]


def tools_and_unfinished_results() -> Json:
    """List the tools, and call each so that it outlasts the wait."""
    world = LongWork().world
    client = RawClient(Behaviour("a test", "anybody"), FakeTimeline(world.clock), itertools.repeat(world.server))
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
