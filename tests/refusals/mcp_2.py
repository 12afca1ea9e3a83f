"""What `mcp` 2.3 sees of refusals, all in one session, in either era."""

from typing import Any

from mcp import MCPError
from mcp.client import Client
from mcp_types import (
    ElicitRequestParams,
    ElicitResult,
    Implementation,
    Request,
    Result,
)
from pydantic import ConfigDict

from stepwire_client import Callbacks
from stepwire_client.extension import Tasks

Json = dict[str, Any]


class _Raw(Request[Json, str]):
    """Any request."""


class _Whole(Result):
    """Any result, with all that it has."""

    model_config = ConfigDict(extra="allow")


class User:
    """Gives one answer after the other."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.asked: list[str] = []

    async def elicit(self, context: object, params: ElicitRequestParams) -> ElicitResult:
        """Answer what a call asks."""
        self.asked.append(params.message)
        return ElicitResult.model_validate(self.answers.pop(0))

    async def answer(self, params: ElicitRequestParams) -> ElicitResult:
        """Answer what a task asks."""
        return await self.elicit(None, params)


async def asked(client: Client, method: str, params: Json) -> Json:
    """Send a request, and return its result or its error."""
    try:
        result = await client.session.send_request(_Raw(method=method, params=params), _Whole)
    except MCPError as error:
        return {"error": error.error.model_dump(mode="json")}
    return {"result": result.model_dump(mode="json", by_alias=True)}


async def walked(client: Client, requests: list[Any]) -> Json:
    """Send the requests of a way, and return what came of the last."""
    seen: Json = {}
    task_id = ""
    for method, params in requests:
        seen = await asked(client, method, {**params, "taskId": task_id} if params.get("taskId") == "$task" else params)
        task_id = task_id or seen.get("result", {}).get("task", {}).get("taskId", "")
    return seen


async def seen_by_mcp_2(url: str, plan: Json) -> Json:
    """Go each way, and after each make one more call in the same session."""
    user, seen = User(), dict[str, Any]()
    extensions = [Tasks(Callbacks(elicit=user.answer))] if plan["with_tasks"] else None
    callback = user.elicit if plan["can_ask"] else None
    info = Implementation(name=plan["name"], version="1")
    async with Client(
        url, mode=plan["mode"], extensions=extensions, elicitation_callback=callback, client_info=info
    ) as client:
        for name, requests in plan["ways"].items():
            seen[name] = [await walked(client, requests), await asked(client, *plan["then"])]
        for name, talk in plan["talks"].items():
            user.answers, user.asked = list(talk["answers"]), []
            result = await client.call_tool(talk["tool"], talk["arguments"])
            shown = {"asked": user.asked, "result": result.model_dump(mode="json", by_alias=True)}
            seen[name] = [shown, await asked(client, *plan["then"])]
    return seen
