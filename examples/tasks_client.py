"""The smallest program that runs a tool as a task: `.venv/bin/python -m examples.tasks_client URL TOOL ['{"a": 1}']`.

It prints each state and, last, the result. `stepwire_client` does the work; a task that is left runs on, and its id is
enough to come back: `await client.task_result(task_id)`.
"""

import asyncio
import json
import sys
from typing import Any

from mcp_types import CallToolResult

from stepwire_client import connect


async def run(url: str, tool: str, arguments: dict[str, Any]) -> CallToolResult:
    """Call a tool; print the states of its task on the way."""
    async with connect(url) as client:
        return await client.call_tool(
            tool, arguments, watch=lambda task: print(f"{task.task_id} {task.status} {task.status_message or ''}")
        )


if __name__ == "__main__":
    url, tool, *given = sys.argv[1:]
    print(asyncio.run(run(url, tool, json.loads(given[0]) if given else {})).model_dump_json(indent=2))
