"""Print what `mcp` 1.30 sees of a plan, all in one session. It runs in a separate environment, without our code.

.venv-legacy/bin/python tests/clients/mcp_1.py URL < plan.json
"""
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false

import json
import re
import sys
import warnings
from typing import Any

import anyio
import mcp.types
from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamable_http_client

warnings.simplefilter("ignore", DeprecationWarning)  # 1.30 warns about all its experimental methods
NEXT_STEP = re.compile(r"Next: call (\w+) with (\{.*?\}+)[.,]")


async def asked(session: ClientSession, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send a request, and return its result or its error."""
    request = mcp.types.ClientRequest.model_validate({"method": method, "params": params})
    try:
        result = await session.send_request(request, mcp.types.Result)
    except McpError as error:
        return {"error": error.error.model_dump(mode="json")}
    return {"result": result.model_dump(mode="json", by_alias=True)}


async def walked(session: ClientSession, requests: list[Any]) -> dict[str, Any]:
    """Send the requests of a way; return the result of the last."""
    seen: dict[str, Any] = {}
    task_id = ""
    for method, params in requests:
        seen = await asked(
            session, method, {**params, "taskId": task_id} if params.get("taskId") == "$task" else params
        )
        task_id = task_id or seen.get("result", {}).get("task", {}).get("taskId", "")
    return seen


class User:
    """A user who gives these answers in turn."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.asked: list[str] = []

    async def elicit(self, _context: Any, params: Any) -> Any:
        self.asked.append(params.message)
        return mcp.types.ElicitResult.model_validate(self.answers.pop(0))


async def talked(session: ClientSession, user: User, talk: dict[str, Any], *, as_task: bool) -> dict[str, Any]:
    """Call a tool that asks, answer as the plan says, and return the result and the questions."""
    user.answers, user.asked = list(talk["answers"]), []
    if as_task:
        created = await session.experimental.call_tool_as_task(talk["tool"], talk["arguments"])
        result = await session.experimental.get_task_result(created.task.taskId, mcp.types.CallToolResult)
    else:
        result = await session.call_tool(talk["tool"], talk["arguments"])
    return {"asked": user.asked, "result": result.model_dump(mode="json", by_alias=True)}


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
    """Send the requests of each way, talk, and fetch; ways and talks are each followed by one more call."""
    user, seen = User(), {"ways": {}, "talks": {}, "results": {}}
    callback = user.elicit if plan["can_ask"] else None
    info = mcp.types.Implementation(name=plan["name"], version="1")
    async with (
        streamable_http_client(url) as (incoming, outgoing, _session),
        ClientSession(incoming, outgoing, elicitation_callback=callback, client_info=info) as session,
    ):
        await session.initialize()
        for name, requests in plan["ways"].items():
            seen["ways"][name] = [await walked(session, requests), await asked(session, *plan["then"])]
        for name, talk in plan["talks"].items():
            shown = await talked(session, user, talk, as_task=plan["as_task"])
            seen["talks"][name] = [shown, await asked(session, *plan["then"])]
        if plan["tools"]:
            seen["listed"] = [tool.name for tool in (await session.list_tools()).tools]
        for tool in plan["tools"]:
            seen["results"][tool] = await fetched(session, tool, plan["arguments"])
    sys.stdout.write(json.dumps(seen))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], json.load(sys.stdin))
