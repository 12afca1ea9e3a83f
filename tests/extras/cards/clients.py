"""What tests of the card do again and again: open clients whose host shows cards, and call the card's tools."""

import json
from dataclasses import replace
from typing import Final

from stepwire.principal import Caller, Principal
from stepwire.protocol.http import HttpRequest
from tests.kits import ALICE, World
from tests.server.answers import Answer, Json
from tests.server.clients import CARD_CAPABILITY, PLAIN_HEADERS, Endpoint, LegacyClient, ModernClient

Client = ModernClient | LegacyClient
CARD: Final = "stepwire/card"
ANSWER: Final[Json] = {"amount": 7}
"""A valid answer to the question of `World.ask`."""


def asked_at(world: World, query: str, client: Client) -> list[str]:
    """Return the names of the tools that a client is listed at a URL with a query; the oracle knows no URLs."""
    if isinstance(client, ModernClient):
        message = client.message("tools/list")
        headers = client.headers("tools/list", message["params"])
    else:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        headers = {**PLAIN_HEADERS, "mcp-protocol-version": client.version, "mcp-session-id": client.session or ""}
    response = world.server.handle(
        HttpRequest("POST", headers, json.dumps(message).encode(), Caller(client.owner), query=query)
    )
    return [tool["name"] for tool in json.loads(response.body)["result"]["tools"]]


def client_of(era: str, world: Endpoint, capabilities: Json = CARD_CAPABILITY, owner: Principal = ALICE) -> Client:
    """Return a client of an era, whose host shows cards unless told otherwise."""
    if era == "modern":
        return ModernClient(world, owner, capabilities)
    return LegacyClient.opened(world, owner=owner, capabilities=capabilities, name="a host that does not resume")


def begun(client: Client, tool: str = "optional") -> str:
    """Call a tool, and return the id of the task that its card shows."""
    return client.call(tool).result["_meta"][CARD]["taskId"]


def seen(client: Client, task_id: str) -> Json:
    """Return what the card reads of a task."""
    return client.call("card_task", {"task_id": task_id}).result["structuredContent"]


def token_for(client: Client, task_id: str, key: str) -> str:
    """Return the token that the card gets for a question."""
    return client.call("card_task", {"task_id": task_id}).result["_meta"][CARD]["tokens"][key]


def answer(
    client: Client, task_id: str, key: str, token: str, content: Json | None = None, action: str = "accept"
) -> Answer:
    """Answer a question on the card."""
    arguments: Json = {"task_id": task_id, "question": key, "token": token, "action": action}
    return client.call("card_answer", {**arguments, **({} if content is None else {"content": content})})


def with_capabilities(client: Client, *capabilities: Json) -> Client:
    """Return the same kind of client, which declares other capabilities."""
    merged: Json = {}
    for one in capabilities:
        extensions = {**merged.get("extensions", {}), **one.get("extensions", {})}
        merged = {**merged, **one, **({"extensions": extensions} if extensions else {})}
    if isinstance(client, ModernClient):
        return replace(client, capabilities=merged)
    return LegacyClient.opened(client.endpoint, owner=client.owner, capabilities=merged)
