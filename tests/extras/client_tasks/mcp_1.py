"""Show what `mcp` 1.30 does with questions for which it creates tasks in its own task store.

    .venv-legacy/bin/python tests/extras/client_tasks/mcp_1.py URL < plan.json

`plan.what` selects the fate of its tasks. It runs in a separate environment, without our code.
"""
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportMissingImports=false, reportCallIssue=false

import json
import sys
import warnings
from typing import Any

import anyio
from mcp import ClientSession, McpError, types
from mcp.client.experimental.task_handlers import ExperimentalTaskHandlers
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.experimental.tasks.helpers import cancel_task
from mcp.shared.experimental.tasks.in_memory_task_store import InMemoryTaskStore

warnings.simplefilter("ignore", DeprecationWarning)  # 1.30 warns about all its experimental methods

LOST = types.ErrorData(code=types.INVALID_PARAMS, message="Task not found")
FAILED = types.ErrorData(code=-1, message="The user rejected it.")


class Host:
    """A host with a task store, which records the questions."""

    def __init__(self, plan: dict[str, Any], group: Any) -> None:
        self.plan = plan
        self.group = group
        self.store = InMemoryTaskStore()
        self.asked: list[str] = []

    def handlers(self) -> ExperimentalTaskHandlers:
        """Return the session's handlers for tasks."""
        return ExperimentalTaskHandlers(
            get_task=self.get,
            get_task_result=self.result,
            cancel_task=self.cancel,
            augmented_sampling=self.sample_as_task,
            augmented_elicitation=self.elicit_as_task,
        )

    async def elicit(self, _context: Any, _params: Any) -> Any:
        self.asked.append("elicitation/create")
        return types.ElicitResult(**self.plan["user"])

    async def sample(self, _context: Any, _params: Any) -> Any:
        self.asked.append("sampling/createMessage")
        return types.CreateMessageResult(**self.plan["model"])

    async def elicit_as_task(self, _context: Any, _params: Any, metadata: Any) -> Any:
        self.asked.append("elicitation/create with task")
        return await self.made(metadata, types.ElicitResult(**self.plan["user"]))

    async def sample_as_task(self, _context: Any, _params: Any, metadata: Any) -> Any:
        self.asked.append("sampling/createMessage with task")
        return await self.made(metadata, types.CreateMessageResult(**self.plan["model"]))

    async def made(self, metadata: Any, result: Any) -> Any:
        """Create a task, and let it run."""
        task = await self.store.create_task(metadata)
        self.group.start_soon(self.work, task.taskId, result)
        return types.CreateTaskResult(task=task)

    async def work(self, task_id: str, result: Any) -> None:
        """Let the user or the model think; then do what the plan says."""
        await anyio.sleep(0.7)
        match self.plan["what"]:
            case "completes":
                await self.store.store_result(task_id, result)
                await self.store.update_task(task_id, status="completed")
            case "fails":
                await self.store.update_task(task_id, status="failed")
            case "is cancelled":
                await self.store.update_task(task_id, status="cancelled")
            case "is lost":
                await self.store.delete_task(task_id)
            case _:
                pass  # it never ends

    async def get(self, _context: Any, params: Any) -> Any:
        self.asked.append("tasks/get")
        task = await self.store.get_task(params.taskId)
        return LOST if task is None else types.GetTaskResult(**task.model_dump())

    async def result(self, _context: Any, params: Any) -> Any:
        self.asked.append("tasks/result")
        found = await self.store.get_result(params.taskId)
        return (
            FAILED
            if found is None
            else types.GetTaskPayloadResult(**found.model_dump(by_alias=True, exclude_none=True))
        )

    async def cancel(self, _context: Any, params: Any) -> Any:
        self.asked.append("tasks/cancel")
        try:
            return await cancel_task(self.store, params.taskId)
        except McpError as error:
            return error.error


async def called(session: ClientSession, host: Host, plan: dict[str, Any], group: Any) -> Any:
    """Call the tool as the plan says; return its result."""
    if not plan["as_task"]:
        return await session.call_tool("optional", plan["arguments"])
    created = await session.experimental.call_tool_as_task("optional", plan["arguments"])
    if plan["what"] == "is not wanted":
        group.start_soon(give_up, session, host, created.task.taskId)
    return await session.experimental.get_task_result(created.task.taskId, types.CallToolResult)


async def give_up(session: ClientSession, host: Host, task_id: str) -> None:
    """Cancel the server's task once it asks about ours."""
    while host.asked.count("tasks/get") < 2:
        await anyio.sleep(0.05)
    await session.experimental.cancel_task(task_id)


async def main(url: str, plan: dict[str, Any]) -> None:
    """Call the tool; print the questions and the outcome."""
    info = types.Implementation(name="mcp", version="1")
    async with anyio.create_task_group() as group:
        host = Host(plan, group)
        async with (
            streamable_http_client(url) as (incoming, outgoing, _session),
            ClientSession(
                incoming,
                outgoing,
                elicitation_callback=host.elicit,
                sampling_callback=host.sample,
                experimental_task_handlers=host.handlers(),
                client_info=info,
            ) as session,
        ):
            await session.initialize()
            result = await called(session, host, plan, group)
            statuses = [task.status for task in host.store.get_all_tasks()]
    seen = {"asked": host.asked, "statuses": statuses, "result": result.model_dump(mode="json", by_alias=True)}
    sys.stdout.write(json.dumps(seen))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], json.load(sys.stdin))
