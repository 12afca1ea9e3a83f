"""Scenarios of a client of 2025-11-25, with the library `mcp` 1.30, which tell what the client saw as JSON.

    .venv-legacy/bin/python tests/integration/over_http/mcp_1.py

It runs scenarios in sequence, because importing the library takes longer than most of them: it reads the arguments of
each as a JSON line, `URL SCENARIO [ARGUMENT ...] [--version V] [--answer A] ...`, and writes a JSON line with what the
client saw, or with a traceback.

It runs in a separate environment, because 1.x and 2.x of the library exclude each other. So it imports nothing of ours,
and only running it shows whether it fits the library.
"""
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false

import argparse
import json
import sys
import time
import traceback
import warnings
from typing import Any

import anyio
import httpx
import mcp.types
from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

warnings.simplefilter("ignore", DeprecationWarning)  # 1.30 warns about all its experimental methods

NEWEST = mcp.types.LATEST_PROTOCOL_VERSION
TOOL = "wait_and_echo"
LONG = 3600  # seconds
THREE_DAYS = 259_200_000  # milliseconds


def as_sent(model: Any) -> dict[str, Any]:
    """Return a message as it is on the wire."""
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)


async def error_of(request: Any) -> dict[str, Any]:
    """Return the error that a request gets."""
    try:
        return {"unexpected": as_sent(await request)}
    except McpError as error:
        return as_sent(error.error)


async def start(session: ClientSession, **arguments: Any) -> str:
    """Start a task; return its id."""
    return (await session.experimental.call_tool_as_task(TOOL, arguments)).task.taskId


async def result_of(session: ClientSession, task_id: str) -> dict[str, Any]:
    """Fetch a task's result, and wait for it."""
    return as_sent(await session.experimental.get_task_result(task_id, mcp.types.CallToolResult))


async def followed(session: ClientSession, task_id: str) -> list[dict[str, Any]]:
    """Poll a task to its end."""
    return [as_sent(task) async for task in session.experimental.poll_task(task_id)]


async def run_to_the_end(session: ClientSession) -> Any:
    created = await session.experimental.call_tool_as_task(TOOL, {"message": "hello", "seconds": 1}, ttl=THREE_DAYS)
    polls = await followed(session, created.task.taskId)
    return {"created": as_sent(created), "polls": polls, "result": await result_of(session, created.task.taskId)}


async def ask_for_the_result_at_once(session: ClientSession) -> Any:
    task_id = await start(session, message="patience", seconds=2)
    before = as_sent(await session.experimental.get_task(task_id))
    return {"before": before, "result": await result_of(session, task_id)}


async def list_pages(session: ClientSession, count: str) -> Any:
    started = [await start(session, message=f"message {number}") for number in range(int(count))]
    pages: list[list[str]] = []
    cursor = None
    while True:
        page = await session.experimental.list_tasks(cursor)
        pages.append([task.taskId for task in page.tasks])
        cursor = page.nextCursor
        if cursor is None:
            return {"started": started, "pages": pages}


async def cancel(session: ClientSession) -> Any:
    task_id = await start(session, message="never", seconds=LONG)
    return {
        "cancelled": as_sent(await session.experimental.cancel_task(task_id)),
        "afterwards": as_sent(await session.experimental.get_task(task_id)),
        "again": await error_of(session.experimental.cancel_task(task_id)),
    }


async def fail_with_a_tool_error(session: ClientSession) -> Any:
    task_id = await start(session, message="x", error="Shop.Closed", cause="Come back tomorrow.")
    return {"polls": await followed(session, task_id), "result": await result_of(session, task_id)}


async def fail_with_a_protocol_error(session: ClientSession, cause: str) -> Any:
    task_id = await start(session, message="x", error="Stepwire.ProtocolError", cause=cause)
    polls = await followed(session, task_id)
    error = await error_of(session.experimental.get_task_result(task_id, mcp.types.CallToolResult))
    return {"polls": polls, "error": error}


async def name_an_unknown_task(session: ClientSession) -> Any:
    return {
        "get": await error_of(session.experimental.get_task("nobody-knows-it")),
        "result": await error_of(session.experimental.get_task_result("nobody-knows-it", mcp.types.CallToolResult)),
        "cancel": await error_of(session.experimental.cancel_task("nobody-knows-it")),
    }


async def call_without_tasks(session: ClientSession) -> Any:
    tools = (await session.list_tools()).tools
    result = as_sent(await session.call_tool(TOOL, {"message": "plain"}))
    return {"tools": [as_sent(tool) for tool in tools], "result": result}


async def call(session: ClientSession, tool: str, arguments: str) -> Any:
    progress: list[Any] = []

    async def note(done: float, total: float | None, message: str | None) -> None:
        progress.append([done, total, message])

    began = time.monotonic()
    result = await session.call_tool(tool, json.loads(arguments), progress_callback=note)
    return {"result": as_sent(result), "progress": progress, "seconds": time.monotonic() - began}


async def call_as_a_task(session: ClientSession, tool: str, arguments: str) -> Any:
    created = await session.experimental.call_tool_as_task(tool, json.loads(arguments))
    result = await result_of(session, created.task.taskId)
    afterwards = as_sent(await session.experimental.get_task(created.task.taskId))
    return {"created": as_sent(created), "result": result, "afterwards": afterwards}


async def ask_for_the_result_too_soon(session: ClientSession, tool: str, arguments: str) -> Any:
    created = await session.experimental.call_tool_as_task(tool, json.loads(arguments))
    began = time.monotonic()
    error = await error_of(session.experimental.get_task_result(created.task.taskId, mcp.types.CallToolResult))
    return {"error": error, "seconds": time.monotonic() - began}


async def run_many(session: ClientSession, count: str) -> Any:
    results: dict[str, Any] = {}

    async def run(message: str) -> None:
        task_id = await start(session, message=message, seconds=1)
        await followed(session, task_id)
        results[message] = await result_of(session, task_id)

    async with anyio.create_task_group() as group:
        for number in range(int(count)):
            group.start_soon(run, f"legacy {number}")
    return {"results": results}


SCENARIOS = {
    scenario.__name__: scenario
    for scenario in (
        run_to_the_end,
        ask_for_the_result_at_once,
        list_pages,
        cancel,
        fail_with_a_tool_error,
        fail_with_a_protocol_error,
        name_an_unknown_task,
        call_without_tasks,
        call,
        call_as_a_task,
        ask_for_the_result_too_soon,
        run_many,
    )
}


class Recorder:
    """A user with one fixed answer, a model, roots, and a record of the messages on the wire."""

    def __init__(self, options: argparse.Namespace, headers: dict[str, str | None]) -> None:
        self._answer = json.loads(options.answer) if options.answer else None
        self._samples = json.loads(options.samples) if options.samples else []
        self._roots = json.loads(options.roots) if options.roots else None
        self._headers = {name: value for name, value in headers.items() if value}
        self.asked: list[Any] = []
        self.wire: list[dict[str, Any]] = []

    @property
    def callbacks(self) -> dict[str, Any]:
        """The callbacks of the session; a client does not declare a capability without its callback."""
        return {
            "elicitation_callback": self._elicit if self._answer else None,
            "sampling_callback": self._sample if self._samples else None,
            "list_roots_callback": self._list_roots if self._roots else None,
        }

    async def _sample(self, context: Any, params: Any) -> Any:
        self.asked.append(as_sent(params))
        return mcp.types.CreateMessageResult.model_validate(self._samples.pop(0))

    async def _list_roots(self, context: Any) -> Any:
        self.asked.append("roots/list")
        return mcp.types.ListRootsResult.model_validate(self._roots)

    async def _elicit(self, context: Any, params: Any) -> Any:
        self.asked.append(as_sent(params))
        return mcp.types.ElicitResult.model_validate(self._answer)

    def http_client(self) -> Any:
        """Return the library's own HTTP client, which also records its responses."""
        client = create_mcp_http_client(headers=self._headers)
        client.event_hooks["response"].append(self._note)
        return client

    async def _note(self, response: httpx.Response) -> None:
        self.wire.append(
            {
                "method": response.request.method,
                "resumes": "last-event-id" in response.request.headers,
                "status": response.status_code,
                "type": response.headers.get("content-type", "").partition(";")[0],
            }
        )


async def main(options: argparse.Namespace) -> dict[str, Any]:
    """Open a session and run a scenario in it; return what the client saw."""
    # The library asks for its newest version. To act as an older client, it only has to ask for another.
    mcp.types.LATEST_PROTOCOL_VERSION = options.version or NEWEST
    info = mcp.types.Implementation(name=options.name, version="1") if options.name else None
    authorization = f"Bearer {options.token}" if options.token else None
    recorder = Recorder(options, {"authorization": authorization, "host": options.host})
    async with (
        recorder.http_client() as http,
        streamable_http_client(options.url, http_client=http) as (incoming, outgoing, _session),
        ClientSession(incoming, outgoing, client_info=info, **recorder.callbacks) as session,
    ):
        initialized = as_sent(await session.initialize())
        seen = await SCENARIOS[options.scenario](session, *options.arguments)
    return {"initialized": initialized, "asked": recorder.asked, "wire": recorder.wire, **seen}


def serve() -> None:
    """Run the scenarios that standard input asks for, until it ends."""
    for line in sys.stdin:
        try:
            answer = {"seen": anyio.run(main, options_of(json.loads(line)))}
        except (Exception, SystemExit):  # noqa: BLE001 - the test shows it
            answer = {"traceback": traceback.format_exc()}
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


def options_of(arguments: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("arguments", nargs="*")
    parser.add_argument("--version", help="the protocol version to ask for")
    parser.add_argument("--name", help="what the client calls itself")
    parser.add_argument("--token", help="the access token to send with every request")
    parser.add_argument("--host", help="the header Host to send, where that is not the URL's")
    parser.add_argument("--samples", help="JSON of the CreateMessageResults that the model gives, one after the other")
    parser.add_argument("--roots", help="JSON of the ListRootsResult")
    parser.add_argument("--answer", help="JSON of the ElicitResult that every question gets")
    return parser.parse_intermixed_args(arguments)


if __name__ == "__main__":
    serve()
