"""Print what `mcp` 1.30 reads of the card, with a task on it. It runs in a separate environment, without our code.

.venv-legacy/bin/python tests/extras/cards/mcp_1.py URL < plan.json
"""
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportOptionalSubscript=false

import json
import sys
from typing import Any

import anyio
import mcp.types as t
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


async def main(url: str, plan: dict[str, Any]) -> None:
    """Declare the extension, read the card, call a tool, and read its task as the card does."""
    opening = t.InitializeRequestParams(
        protocolVersion=t.LATEST_PROTOCOL_VERSION,
        capabilities=t.ClientCapabilities(**plan["capabilities"]),
        clientInfo=t.Implementation(name="a host", version="1"),
    )
    async with (
        streamable_http_client(url) as (incoming, outgoing, _session),
        ClientSession(incoming, outgoing) as session,
    ):
        request = t.ClientRequest(t.InitializeRequest(method="initialize", params=opening))
        await session.send_request(request, t.InitializeResult)
        await session.send_notification(
            t.ClientNotification(t.InitializedNotification(method="notifications/initialized"))
        )
        listed = await session.list_resources()
        (card,) = (one.uri for one in listed.resources if str(one.uri).startswith("ui://"))
        read = await session.read_resource(card)
        templates = await session.list_resource_templates()
        tools = await session.list_tools()
        called = await session.call_tool(plan["tool"], plan["arguments"])
        task_id = called.meta["stepwire/card"]["taskId"]
        seen = await session.call_tool("card_task", {"task_id": task_id})
    shown = {"listed": listed, "read": read, "templates": templates, "tools": tools, "called": called, "seen": seen}
    as_json = {name: one.model_dump(mode="json", by_alias=True, exclude_none=True) for name, one in shown.items()}
    sys.stdout.write(json.dumps(as_json))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], json.load(sys.stdin))
