"""Released clients read the card and a task on it, and its metadata conform to the schema of MCP Apps."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from jsonschema import Draft202012Validator
from mcp.client import Client
from mcp.client.extension import ClientExtension

from tests.clients.endpoint import serving
from tests.clients.programs import LEGACY_PYTHON, in_python
from tests.extras.cards.clients import CARD, client_of
from tests.kits import ARGUMENTS, World
from tests.npm import install
from tests.server.clients import CARD_CAPABILITY
from tests.wire_oracle.apps import APP_ONLY, APP_TYPE, UI_EXTENSION

Json = dict[str, Any]
ROOT: Final = Path(__file__).parents[3]
FOLDER: Final = ROOT / "tests/clients/apps"
SCHEMA: Final = FOLDER / "node_modules/@modelcontextprotocol/ext-apps/dist/src/generated/schema.json"


class Apps(ClientExtension):
    """Declares that the host shows MCP Apps."""

    identifier = UI_EXTENSION

    def settings(self) -> Json:
        """Return what the host can show."""
        return {"mimeTypes": [APP_TYPE]}


@pytest.fixture
def world() -> World:
    """Stepwire over the fakes, whose clock a call moves."""
    return World()


@pytest.fixture
def url(world: World) -> Iterator[str]:
    """The URL of its endpoint."""
    with serving(world.server.handle) as url:
        yield url


def cards_in(listed: Json) -> list[Json]:
    """Return the resources that are no files of skills."""
    return [one for one in listed["resources"] if not one["uri"].startswith("skill://")]


def check(seen: Json) -> None:
    """Compare what a client has read with what it should read."""
    (listed,), (content,) = cards_in(seen["listed"]), seen["read"]["contents"]
    assert listed["uri"] == content["uri"] == "ui://stepwire/task"
    assert listed["mimeType"] == content["mimeType"] == APP_TYPE
    assert content["text"].lower().startswith("<!doctype html>")
    assert seen["templates"]["resourceTemplates"] == []
    assert {tool["name"] for tool in seen["tools"]["tools"]} >= APP_ONLY
    assert seen["called"]["_meta"][CARD]["taskId"] == seen["seen"]["structuredContent"]["taskId"]
    assert seen["seen"]["structuredContent"]["status"] == "working"


# U2
@pytest.mark.long
def test_mcp_1_reads_the_card(url: str) -> None:
    plan = {"capabilities": CARD_CAPABILITY, "tool": "optional", "arguments": ARGUMENTS}

    check(in_python(LEGACY_PYTHON, Path(__file__).parent / "mcp_1.py", url, plan))


# U2
@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_mcp_2_reads_the_card(url: str, mode: str) -> None:
    async with Client(url, mode=mode, extensions=[Apps()]) as client:
        called = await client.call_tool("optional", ARGUMENTS)
        task_id = (called.meta or {})[CARD]["taskId"]
        shown = {
            "listed": await client.list_resources(),
            "read": await client.read_resource("ui://stepwire/task"),
            "templates": await client.list_resource_templates(),
            "tools": await client.list_tools(),
            "called": called,
            "seen": await client.call_tool("card_task", {"task_id": task_id}),
        }

    check({name: one.model_dump(mode="json", by_alias=True, exclude_none=True) for name, one in shown.items()})


# U4, U5
@pytest.mark.long
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_metadata_conform_to_the_schema_of_mcp_apps(era: str, world: World) -> None:
    install(FOLDER)
    client = client_of(era, world)

    tools = [tool["_meta"]["ui"] for tool in client.ask("tools/list").result["tools"] if "_meta" in tool]
    (listed,) = cards_in(client.ask("resources/list").result)
    (content,) = client.ask("resources/read", {"uri": listed["uri"]}).result["contents"]

    assert len(tools) > len(APP_ONLY)
    for tool in tools:
        shaped("McpUiToolMeta").validate(tool)
    for one in (listed, content):
        shaped("McpUiResourceMeta").validate(one["_meta"]["ui"])
    shaped("McpUiClientCapabilities").validate(CARD_CAPABILITY["extensions"][UI_EXTENSION])
    assert not shaped("McpUiToolMeta").is_valid({"resourceUri": 1})


def shaped(name: str) -> Any:
    """Return a validator of a type of MCP Apps."""
    whole = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": whole["$defs"]})
