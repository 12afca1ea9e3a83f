"""Print what `mcp` 1.30 gets from long work with tools only. It runs in a separate environment, without our code.

.venv-legacy/bin/python tests/interop/mcp_1.py URL < plan.json
"""
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false

import json
import re
import sys
from typing import Any

import anyio
import mcp.types
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

NEXT_STEP = re.compile(r"Next: call (\w+) with (\{.*?\}+)[.,]")


async def fetched(session: ClientSession, tool: str, arguments: dict[str, Any]) -> list[Any]:
    """Call a tool, then the tools that the results name next; return all results."""
    results = []
    step: tuple[str, dict[str, Any]] | None = (tool, arguments)
    while step is not None:
        result = await session.call_tool(*step)
        results.append(result.model_dump(mode="json", by_alias=True))
        found = NEXT_STEP.search(result.content[0].text)
        step = None if found is None else (found[1], json.loads(found[2]))
    return results


async def main(url: str, plan: dict[str, Any]) -> None:
    """Call each tool of the plan in one session."""
    info = mcp.types.Implementation(name=plan["name"], version="1")
    async with (
        streamable_http_client(url) as (incoming, outgoing, _session),
        ClientSession(incoming, outgoing, client_info=info) as session,
    ):
        await session.initialize()
        listed = [tool.name for tool in (await session.list_tools()).tools]
        results = {tool: await fetched(session, tool, plan["arguments"]) for tool in plan["tools"]}
    sys.stdout.write(json.dumps({"listed": listed, "results": results}))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], json.load(sys.stdin))
