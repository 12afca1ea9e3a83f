"""What fastmcp 4.1 gets from long work by Stepwire's tools. It runs in an environment of its own, with nothing of ours.

.venv-fastmcp/bin/python tests/clients/fastmcp_4.py URL < plan.json
"""
# pyright: basic, reportMissingImports=false

import asyncio
import json
import re
import sys
from typing import Any

import mcp_types
from fastmcp import Client

NEXT_STEP = re.compile(r"Next: call (\w+) with (\{.*?\}+)[.,]")


async def fetched(client: Client, tool: str, arguments: dict[str, Any]) -> list[Any]:
    """Call a tool, then what each result names next, and return all of the results.

    `call_tool` also makes objects of the structured content, by the output schema: it must be able to.
    """
    results = []
    step: tuple[str, dict[str, Any]] | None = (tool, arguments)
    while step is not None:
        result = await client.call_tool(*step)
        results.append({"structuredContent": result.structured_content, "isError": result.is_error})
        found = NEXT_STEP.search(result.content[0].text)
        step = None if found is None else (found[1], json.loads(found[2]))
    return results


async def main(url: str, plan: dict[str, Any]) -> None:
    """Call each tool of the plan in one session."""
    info = mcp_types.Implementation(name=plan["name"], version="1")
    async with Client(url, mode=plan["mode"], client_info=info) as client:
        listed = [tool.name for tool in await client.list_tools()]
        results = {tool: await fetched(client, tool, plan["arguments"]) for tool in plan["tools"]}
    sys.stdout.write(json.dumps({"listed": listed, "results": results}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], json.load(sys.stdin)))
