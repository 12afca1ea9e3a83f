"""Streamable HTTP as the library has it, with four repairs of what passes. The rule: nothing else is changed.

1. `mcp` 2.3 holds each answer to `tools/call` against the shape of a tool result, also in 2025-11-25, where a server
   may answer with a task. So such an answer gets an empty `content` beside its `task`.
2. It holds results against the tool's output schema, with Python's patterns, which may take for ever. So a schema with
   such a pattern is left out of the list of tools.
3. When a connection closes, it answers each question of the server that is open with an error, which may end what
   waits for the answer. So such an answer is not sent: whoever comes back is asked again.
4. It fails if a response arrives between the end of the session, which closes both streams, and that of the transport.
   So the transport alone closes them.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self, TypeAlias, cast

import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import CONNECTION_CLOSED, ErrorData, JSONRPCError, JSONRPCResponse

from stepwire_client.patterns import has_slow_pattern

Item: TypeAlias = SessionMessage | Exception


class _Messages:
    """A stream of messages, which the transport closes."""

    def __init__(self, messages: Any) -> None:
        self._messages = messages

    async def aclose(self) -> None:
        """Leave the stream open."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class Outgoing(_Messages):
    """The messages to the server."""

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message, unless it answers a question because the connection closes."""
        match item.message:
            case JSONRPCError(error=ErrorData(code=code)) if code == CONNECTION_CLOSED:
                pass
            case _:
                await self._messages.send(item)


class WithTasks(_Messages):
    """The messages from the server."""

    @property
    def last_context(self) -> Any:
        """The context of the message's sender; the library restores it."""
        return getattr(self._messages, "last_context", None)

    async def receive(self) -> Item:
        """Return the next message."""
        return _repaired(await self._messages.receive())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        return _repaired(await self._messages.__anext__())


@asynccontextmanager
async def streams(url: str, http: httpx2.AsyncClient, largest: int) -> AsyncGenerator[Any]:
    """Open the library's transport for Streamable HTTP; an event has at most so many bytes."""
    transport = streamable_http_client(url, http_client=http, max_sse_event_size=largest)
    async with http, transport as (incoming, outgoing):
        yield WithTasks(incoming), Outgoing(outgoing)


def _repaired(item: Item) -> Item:
    match item:
        case SessionMessage(message=JSONRPCResponse(result={"task": dict()} as result)) if "content" not in result:
            result["content"] = []
        case SessionMessage(message=JSONRPCResponse(result={"tools": list()} as result)):
            for tool in cast("list[object]", result["tools"]):
                _spared(tool)
        case _:
            pass
    return item


def _spared(tool: object) -> None:
    members = cast("dict[str, Any]", tool) if isinstance(tool, dict) else {}
    if has_slow_pattern(members.get("outputSchema")):
        del members["outputSchema"]
