"""Return what `mcp` 2.3 sees of a plan, all in one session, in either era."""

import json
from typing import Any

from mcp import MCPError
from mcp.client import Client
from mcp_types import (
    ElicitRequestParams,
    ElicitResult,
    Implementation,
    Request,
    Result,
    TextContent,
)
from pydantic import ConfigDict

from stepwire_client import Callbacks
from stepwire_client.extension import Tasks
from tests.server.fetching import NEXT_STEP

Json = dict[str, Any]


class _Raw(Request[Json, str]):
    """Any request."""


class _Whole(Result):
    """Any result, with all its members."""

    model_config = ConfigDict(extra="allow")


class User:
    """A user who gives these answers in turn."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.asked: list[str] = []

    async def elicit(self, context: object, params: ElicitRequestParams) -> ElicitResult:
        """Answer the question of a call."""
        self.asked.append(params.message)
        return ElicitResult.model_validate(self.answers.pop(0))

    async def answer(self, params: ElicitRequestParams) -> ElicitResult:
        """Answer the question of a task."""
        return await self.elicit(None, params)


async def asked(client: Client, method: str, params: Json) -> Json:
    """Send a request, and return its result or its error."""
    try:
        result = await client.session.send_request(_Raw(method=method, params=params), _Whole)
    except MCPError as error:
        return {"error": error.error.model_dump(mode="json")}
    return {"result": result.model_dump(mode="json", by_alias=True)}


async def walked(client: Client, requests: list[Any]) -> Json:
    """Send the requests of a way; return the result of the last."""
    seen: Json = {}
    task_id = ""
    for method, params in requests:
        seen = await asked(client, method, {**params, "taskId": task_id} if params.get("taskId") == "$task" else params)
        task_id = task_id or seen.get("result", {}).get("task", {}).get("taskId", "")
    return seen


async def talked(client: Client, user: User, talk: Json) -> Json:
    """Call a tool that asks, answer as the plan says, and return the result and the questions."""
    user.answers, user.asked = list(talk["answers"]), []
    result = await client.call_tool(talk["tool"], talk["arguments"])
    return {"asked": user.asked, "result": result.model_dump(mode="json", by_alias=True)}


async def fetched(client: Client, tool: str, arguments: Json) -> list[Json]:
    """Call a tool, then the tools that the results name next; return all results."""
    results = list[Json]()
    step: tuple[str, Json] | None = (tool, arguments)
    while step is not None:
        result = await client.call_tool(*step)
        results.append(result.model_dump(mode="json", by_alias=True))
        words = result.content[0]
        found = NEXT_STEP.search(words.text) if isinstance(words, TextContent) else None
        step = None if found is None else (found[1], json.loads(found[2]))
    return results


async def seen_by_mcp_2(url: str, plan: Json) -> Json:
    """Send the requests of each way, talk, and fetch; ways and talks are each followed by one more call."""
    user = User()
    seen: Json = {"ways": {}, "talks": {}, "results": {}}
    extensions = [Tasks(Callbacks(elicit=user.answer))] if plan["with_tasks"] else None
    callback = user.elicit if plan["can_ask"] else None
    info = Implementation(name=plan["name"], version="1")
    async with Client(
        url, mode=plan["mode"], extensions=extensions, elicitation_callback=callback, client_info=info
    ) as client:
        for name, requests in plan["ways"].items():
            seen["ways"][name] = [await walked(client, requests), await asked(client, *plan["then"])]
        for name, talk in plan["talks"].items():
            seen["talks"][name] = [await talked(client, user, talk), await asked(client, *plan["then"])]
        if plan["tools"]:
            seen["listed"] = [tool.name for tool in (await client.list_tools()).tools]
        for tool in plan["tools"]:
            seen["results"][tool] = await fetched(client, tool, plan["arguments"])
    return seen
