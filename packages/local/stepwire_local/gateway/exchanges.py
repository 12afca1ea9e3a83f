"""Summaries of requests and responses, one line each: what was called, and the outcome; of MCP, which client called.

Pure, except for a memory of client names, which only the first request of a session contains. The rule: text from
clients and servers is shown as text; unprintable characters, such as escape sequences, become a question mark.
"""

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, cast

from stepwire.json_text import as_object
from stepwire_local.gateway.http_api import Request, Response

_META: Final = "io.modelcontextprotocol/"
_SESSIONS: Final = 1_000  # whose clients are remembered
_LONGEST: Final = 300  # characters of a text
_MCP_HEADERS: Final = ("mcp-protocol-version", "mcp-session-id", "mcp-method")
NONE: Final = "-"


@dataclass(frozen=True)
class Exchange:
    """A request, its response, its time of arrival and its duration."""

    request: Request
    response: Response
    at: datetime
    seconds: float
    route: str = ""
    """The key of the route; empty: there is none."""


@dataclass(frozen=True)
class HttpLine:
    """The fields of a line about a request that is no message of MCP."""

    time: str  # ISO 8601
    method: str
    path: str  # or the route, where the path may be a link that authorizes
    status: int
    milliseconds: int
    error: str = ""  # the body of a refusal


@dataclass(frozen=True)
class RequestLine:
    """The fields of a line about a message of MCP; `NONE` for a missing one."""

    time: str  # ISO 8601
    era: str  # the version of the protocol
    client: str
    method: str
    tool: str
    task: str
    status: int  # of HTTP
    milliseconds: int
    task_status: str = ""  # where the answer tells it
    error: str = ""  # why the call failed, where it did


@dataclass(frozen=True)
class _Session:
    client: str
    era: str


class Reader:
    """Turns exchanges into lines."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, _Session] = OrderedDict()

    def line_of(self, exchange: Exchange) -> RequestLine | HttpLine:
        """Return the line about an exchange."""
        request, response = exchange.request, exchange.response
        asked, answered = _first(_messages(request.headers, request.body)), _answer(response)
        if not _is_mcp(request, asked):
            return _http_line(exchange)
        params, result = as_object(asked.get("params")), as_object(answered.get("result"))
        session = self._session_of(request, response, params, result)
        tool = params.get("name") if asked.get("method") == "tools/call" else None
        task = params.get("taskId") or result.get("taskId") or as_object(result.get("task")).get("taskId")
        return RequestLine(
            time=exchange.at.isoformat(timespec="milliseconds"),
            era=session.era,
            client=session.client,
            method=_shown(asked.get("method") or f"{request.method} {request.path}"),
            tool=_shown(tool),
            task=_shown(task),
            status=response.status,
            milliseconds=round(exchange.seconds * 1000),
            task_status=_status(result),
            error=_error(response, answered, result),
        )

    def _session_of(
        self, request: Request, response: Response, params: Mapping[str, Any], result: Mapping[str, Any]
    ) -> _Session:
        meta = as_object(params.get("_meta"))
        client = as_object(params.get("clientInfo") or meta.get(f"{_META}clientInfo")).get("name")
        era = result.get("protocolVersion") or meta.get(f"{_META}protocolVersion")
        key = _header(request.headers, "mcp-session-id") or _header(response.headers, "mcp-session-id")
        known = self._sessions.get(key) or _Session(_agent(request), NONE)
        era = era or _header(request.headers, "mcp-protocol-version") or known.era
        session = _Session(_shown(client) if client else known.client, _shown(era))
        if key:
            self._remember(key, session)
        return session

    def _remember(self, key: str, session: _Session) -> None:
        self._sessions[key] = session
        self._sessions.move_to_end(key)
        if len(self._sessions) > _SESSIONS:
            self._sessions.popitem(last=False)


def _is_mcp(request: Request, asked: Mapping[str, Any]) -> bool:
    """Return whether a request is of MCP: a message of JSON-RPC, or what only its clients send, such as a DELETE."""
    return asked.get("jsonrpc") == "2.0" or any(_header(request.headers, name) for name in _MCP_HEADERS)


def _http_line(exchange: Exchange) -> HttpLine:
    request, response = exchange.request, exchange.response
    is_secret = "{" in exchange.route and "+}" not in exchange.route
    return HttpLine(
        time=exchange.at.isoformat(timespec="milliseconds"),
        method=_shown(request.method),
        path=_shown(exchange.route.partition(" ")[2] if is_secret else request.path),
        status=response.status,
        milliseconds=round(exchange.seconds * 1000),
        error=_error(response, {}, {}),
    )


def _agent(request: Request) -> str:
    words = _header(request.headers, "user-agent").split()
    return _shown(words[0]) if words else NONE


def _messages(headers: Sequence[tuple[str, str]], body: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a body: of JSON, or of the data of its SSE events."""
    is_stream = _header(headers, "content-type").startswith("text/event-stream")
    text = body.decode(errors="replace")
    texts = [line[5:] for line in text.splitlines() if line.startswith("data:")] if is_stream else [text]
    for one in texts:
        try:
            yield as_object(json.loads(one))
        except (ValueError, RecursionError):
            continue


def _first(messages: Iterator[dict[str, Any]]) -> dict[str, Any]:
    return next(messages, dict[str, Any]())


def _answer(response: Response) -> dict[str, Any]:
    """Return the JSON-RPC response among the messages of a body; notifications may precede it."""
    messages = _messages(response.headers, response.body)
    return _first(message for message in messages if "result" in message or "error" in message)


def _status(result: Mapping[str, Any]) -> str:
    status = result.get("status") or as_object(result.get("task")).get("status")
    return _shown(status) if status else ""


def _error(response: Response, answered: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    error = as_object(answered.get("error"))
    if error:
        return _shown(f"{error.get('code')} {error.get('message')}")
    if result.get("isError") is True:
        return _tool_error(result)
    refused = response.status >= 400  # noqa: PLR2004  # the bounds of HTTP
    return _shown(response.body.decode(errors="replace")) if refused and response.body else ""


def _tool_error(result: Mapping[str, Any]) -> str:
    """Return the tool's words: why it failed, or why the call was refused before anything began."""
    content = result.get("content")
    texts = (
        [as_object(block).get("text") for block in cast("list[object]", content)] if isinstance(content, list) else []
    )
    return _shown(next((text for text in texts if isinstance(text, str) and text), "the tool failed"))


def _header(headers: Sequence[tuple[str, str]], name: str) -> str:
    return next((value for key, value in headers if key.lower() == name), "")


def _shown(value: object) -> str:
    if value is None or value == "":
        return NONE
    return "".join(character if character.isprintable() else "?" for character in str(value)[:_LONGEST])
