"""A server with tasks, made with `mcp` 1.30 and without our code. It prints its port.

It runs in a separate environment. Its tools: `count` ends after the requested number of polls, `ask` asks its user,
`plain` is no task, and `broken` fails.
"""
# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportMissingImports=false

import asyncio
import contextlib
import json
import socket
import sys
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.experimental.tasks.in_memory_task_store import InMemoryTaskStore
from mcp.types import TASK_FORBIDDEN, TASK_REQUIRED, CallToolResult, TextContent, Tool, ToolExecution
from starlette.applications import Starlette
from starlette.routing import Mount


class Store(InMemoryTaskStore):
    """Tasks, and the number of polls of each."""

    def __init__(self) -> None:
        super().__init__()
        self.polls: dict[str, int] = {}
        self.polled = asyncio.Condition()

    async def create_task(self, metadata: Any, task_id: str | None = None) -> Any:
        """Create a task with a short poll interval."""
        task = await super().create_task(metadata, task_id)
        self._tasks[task.taskId].task.pollInterval = 10
        return await super().get_task(task.taskId)

    async def get_task(self, task_id: str) -> Any:
        """Count the poll."""
        async with self.polled:
            self.polls[task_id] = self.polls.get(task_id, 0) + 1
            self.polled.notify_all()
        return await super().get_task(task_id)


server = Server("theirs")
store = Store()
server.experimental.enable_tasks(store=store)


def tool(name: str, mode: str) -> Tool:
    """Describe a tool."""
    schema = {"type": "object", "properties": {"polls": {"type": "integer"}}}
    return Tool(name=name, description=name, inputSchema=schema, execution=ToolExecution(taskSupport=mode))


def said(text: str, *, is_error: bool = False) -> CallToolResult:
    """Return a result."""
    return CallToolResult(content=[TextContent(type="text", text=text)], isError=is_error)


@server.list_tools()
async def list_tools() -> list[Tool]:
    """List the tools."""
    return [*(tool(name, TASK_REQUIRED) for name in ("count", "ask", "broken")), tool("plain", TASK_FORBIDDEN)]


@server.call_tool()
async def call_tool(name: str, arguments: dict[str, Any]) -> Any:
    """Call a tool."""

    async def work(task: Any) -> CallToolResult:
        match name:
            case "count":
                async with store.polled:
                    await store.polled.wait_for(lambda: store.polls.get(task.task_id, 0) >= arguments["polls"])
                return said("counted")
            case "ask":
                schema = {"type": "object", "properties": {"amount": {"type": "integer"}}}
                answer = await task.elicit("How many?", schema)
                return said(json.dumps(answer.content))
            case _:
                raise ValueError("it broke")

    if name == "plain":
        return [TextContent(type="text", text="at once")]
    return await server.request_context.experimental.run_task(work)


def main() -> None:
    """Run the server."""
    manager = StreamableHTTPSessionManager(app=server)

    @contextlib.asynccontextmanager
    async def lifespan(_app: Any) -> Any:
        async with manager.run():
            yield

    app = Starlette(routes=[Mount("/mcp", app=manager.handle_request)], lifespan=lifespan)
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    sys.stdout.write(f"{listening.getsockname()[1]}\n")
    sys.stdout.flush()
    config = uvicorn.Config(app, log_level="error")
    asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))


if __name__ == "__main__":
    main()
