"""What fastmcp 4.1 gets of first calls, long calls, questions and cancels. It runs in an environment of its own.

.venv-fastmcp/bin/python tests/integration/over_http/fastmcp_4.py URL < plan.json

The `mode` of the plan is "legacy" (2025-11-25), "auto" (2026-07-28), or "tasks": 2026-07-28 with fastmcp-tasks, which
has no tasks in the older version. Where the URL says that the client searches for tools, it calls them by `call_tool`.
"""
# pyright: basic, reportMissingImports=false

import asyncio
import json
import re
import sys
from typing import Any

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult

NEXT_STEP = re.compile(r"Next: call (\w+) with (\{.*?\}+)[.,]")
REFUND = {"order_id": "A-1002", "amount": "100.00", "currency": "EUR", "reason": "It wobbles."}
LONG = {"message": "patience", "seconds": 8}
NEVER = {"message": "never", "seconds": 3600}


def called(tool: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the tool to call and its arguments."""
    searches = "/discover/1" in sys.argv[1]
    return ("call_tool", {"name": tool, "arguments": arguments}) if searches else (tool, arguments)


def shown(result: Any) -> dict[str, Any]:
    """Return what a caller has of a result."""
    return {"text": result.content[0].text, "structured": result.structured_content, "is_error": result.is_error}


async def fetched(client: Client, tool: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """Call a tool, then what each result names next, and return all of the results."""
    results = []
    step: tuple[str, dict[str, Any]] | None = called(tool, arguments)
    while step is not None:
        results.append(shown(await client.call_tool(*step)))
        found = NEXT_STEP.search(results[-1]["text"])
        step = None if found is None else (found[1], json.loads(found[2]))
    return results


async def cancelled_by_tool(client: Client) -> dict[str, Any]:
    """Start work that never ends, and stop it with a tool."""
    unfinished = shown(await client.call_tool(*called("wait_and_echo", NEVER)))
    return shown(
        await client.call_tool("task_cancel", {"task_id": unfinished["structured"]["stepwire/task"]["taskId"]})
    )


async def cancelled_by_task(client: Client) -> dict[str, Any]:
    """Start a task that never ends, and cancel it."""
    from fastmcp_tasks import call_tool_task  # noqa: PLC0415 - the import makes every client declare tasks

    handle = await call_tool_task(client, *called("wait_and_echo", NEVER))
    await handle.cancel()
    return {"status": (await handle.status()).status}


async def main(url: str, mode: str) -> None:
    """Go through all cases in one session."""
    has_tasks = mode == "tasks"
    if has_tasks:
        import fastmcp_tasks  # noqa: F401, PLC0415 - the import makes every client declare tasks

    asked = []

    async def answer(message: str, response_type: Any, params: Any, context: Any) -> ElicitResult:
        asked.append(message)
        return ElicitResult(action="accept", content={"amount": 60})

    async with Client(url, mode="auto" if has_tasks else mode, elicitation_handler=answer) as client:
        seen = {
            "version": client.protocol_version,
            "listed": [tool.name for tool in await client.list_tools()],
            "first": await fetched(client, "wait_and_echo", {"message": "hello"}),
            "long": await fetched(client, "wait_and_echo", LONG),
            "question": await fetched(client, "approve_refund", REFUND),
            "asked": asked,
            "cancelled": await (cancelled_by_task(client) if has_tasks else cancelled_by_tool(client)),
        }
    sys.stdout.write(json.dumps(seen))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], json.load(sys.stdin)["mode"]))
