"""Let `mcp` 1.30 have its user decide what waits for them, by elicitation on the stream of a plain call (2025-11-25).

    .venv-legacy/bin/python tests/extras/approvals/mcp_1.py URL < plan.json

`plan.answers` are the user's answers in turn. It runs in a separate environment, without our code.
"""
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportMissingImports=false

import json
import sys
from typing import Any

import anyio
from mcp import ClientSession, types
from mcp.client.streamable_http import streamable_http_client


async def main(url: str, plan: dict[str, Any]) -> None:
    """List what waits, have each decided, and print what the user was asked and what the tools said."""
    asked: list[str] = []

    async def elicit(_context: Any, params: Any) -> Any:
        asked.append(params.message)
        return types.ElicitResult(**plan["answers"].pop(0))

    info = types.Implementation(name="a test", version="1")
    async with (
        streamable_http_client(url) as (incoming, outgoing, _session),
        ClientSession(incoming, outgoing, elicitation_callback=elicit, client_info=info) as session,
    ):
        await session.initialize()
        listed = await session.call_tool("approvals_list", {})
        waiting = [one["approvalId"] for one in listed.structuredContent["approvals"]]
        results = [await session.call_tool("approval_answer", {"approval_id": one}) for one in waiting]
    said = [one.content[0].text for one in results]
    sys.stdout.write(json.dumps({"asked": asked, "said": said}))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], json.load(sys.stdin))
