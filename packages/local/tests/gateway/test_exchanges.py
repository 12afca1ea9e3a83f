"""The line that the terminal shows of a request and its answer."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from stepwire_local.gateway.exchanges import NONE, Exchange, HttpLine, Reader, RequestLine
from stepwire_local.gateway.http_api import Request, Response

AT = datetime(2026, 11, 22, 8, 30, tzinfo=UTC)
TASK = "01m80a032z4wjjwc7vk2endp01jrgksb79bk"
META = "io.modelcontextprotocol/"
Json = dict[str, Any]


def exchange(
    asked: Json | bytes,
    answered: Json | bytes = b"",
    status: int = 200,
    *,
    sent: Json | None = None,
    got: Json | None = None,
) -> Exchange:
    body = asked if isinstance(asked, bytes) else json.dumps({"jsonrpc": "2.0", **asked}).encode()
    answer = answered if isinstance(answered, bytes) else json.dumps(answered).encode()
    request = Request("POST", "/mcp", "", list((sent or {}).items()), body, "127.0.0.1")
    return Exchange(request, Response(status, list((got or {}).items()), answer), AT, 0.0344)


def read_by(reader: Reader, seen: Exchange) -> RequestLine:
    line = reader.line_of(seen)
    assert isinstance(line, RequestLine)
    return line


def line_of(*args: Any, **kwargs: Any) -> RequestLine:
    return read_by(Reader(), exchange(*args, **kwargs))


def test_the_line_of_a_modern_call_has_the_client_the_tool_and_the_task() -> None:
    meta = {f"{META}protocolVersion": "2026-07-28", f"{META}clientInfo": {"name": "Claude Code", "version": "3"}}
    asked = {"id": 1, "method": "tools/call", "params": {"name": "wait_and_echo", "_meta": meta}}
    answered = {"id": 1, "result": {"resultType": "task", "taskId": TASK, "status": "working"}}

    line = line_of(asked, answered, sent={"mcp-protocol-version": "2026-07-28"})

    assert line == RequestLine(
        time="2026-11-22T08:30:00.000+00:00",
        era="2026-07-28",
        client="Claude Code",
        method="tools/call",
        tool="wait_and_echo",
        task=TASK,
        status=200,
        milliseconds=34,
        task_status="working",
    )


def test_the_client_of_a_legacy_session_is_known_from_its_first_request() -> None:
    reader = Reader()
    params = {"protocolVersion": "2099-01-01", "clientInfo": {"name": "vscode"}}
    opened = {"id": 1, "result": {"protocolVersion": "2025-11-25"}}
    session = {"Mcp-Session-Id": "one"}

    first = read_by(reader, exchange({"id": 1, "method": "initialize", "params": params}, opened, got=session))
    later = read_by(reader, exchange({"id": 2, "method": "tasks/get", "params": {"taskId": TASK}}, sent=session))
    agent = {"mcp-session-id": "two", "user-agent": "x/1 (y)"}
    other = read_by(reader, exchange({"id": 3, "method": "ping"}, sent=agent))

    assert (first.client, first.era) == ("vscode", "2025-11-25")
    assert (later.client, later.era, later.task) == ("vscode", "2025-11-25", TASK)
    assert (other.client, other.era) == ("x/1", NONE)


def test_the_answer_is_found_in_a_body_of_events() -> None:
    answer = b'data: {"id":2,"result":{"task":{"taskId":"t","status":"working"}}}'
    events = b'retry: 500\n\nid: 1\ndata: {"method":"notifications/progress"}\n\n' + answer + b"\n\n"

    line = line_of({"id": 2, "method": "tools/call"}, events, got={"content-type": "text/event-stream"})

    assert (line.task, line.task_status) == ("t", "working")


@pytest.mark.parametrize(
    ("answered", "status", "error"),
    [
        ({"error": {"code": -32602, "message": "Unknown tool 'x'."}}, 200, "-32602 Unknown tool 'x'."),
        ({"result": {"isError": True, "content": []}}, 200, "the tool failed"),
        ({"result": {"isError": True, "content": [{"type": "text", "text": "a: no"}]}}, 200, "a: no"),
        (b'{"message": "Forbidden"}', 403, '{"message": "Forbidden"}'),
        ({"result": {}}, 200, ""),
    ],
)
def test_the_line_of_a_failed_call_has_the_reason(answered: Json | bytes, status: int, error: str) -> None:
    assert line_of({"id": 1, "method": "tools/call"}, answered, status).error == error


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"[[[",
        b"null",
        b"\xff\xfe",
        b'{"params": [], "method": {}}',
        b'{"method": "card"}',
        b"[" * 100_000,
    ],
)
def test_a_request_outside_mcp_is_named_by_its_path(body: bytes) -> None:
    line = Reader().line_of(exchange(body, b"not json either", 400))

    assert line == HttpLine(
        time="2026-11-22T08:30:00.000+00:00",
        method="POST",
        path="/mcp",
        status=400,
        milliseconds=34,
        error="not json either",
    )


def test_of_a_path_with_a_variable_the_route_is_named_for_it_may_be_a_link_that_authorizes() -> None:
    seen = exchange(b"")

    line = Reader().line_of(replace(seen, route="GET /links/{secret}"))
    whole = Reader().line_of(replace(seen, route="GET /{proxy+}"))

    assert isinstance(line, HttpLine)
    assert isinstance(whole, HttpLine)
    assert (line.path, whole.path) == ("/links/{secret}", "/mcp")


@pytest.mark.parametrize("name", ["MCP-Protocol-Version", "mcp-session-id", "Mcp-Method"])
def test_a_request_with_a_header_of_mcp_is_one_of_it_whatever_its_body(name: str) -> None:
    line = line_of(b"", sent={name: "x"})

    assert line.method == "POST /mcp"


def test_control_characters_of_a_request_are_escaped() -> None:
    asked = {"method": "tools/call", "params": {"name": "a\x1b[2Jb\nc\r\u202ed", "taskId": "t" * 5_000}}

    line = line_of(asked)

    assert line.tool == "a?[2Jb?c??d"
    assert len(line.task) == 300


def test_the_clients_of_a_thousand_sessions_are_remembered() -> None:
    reader = Reader()
    for number in range(1_001):
        params = {"clientInfo": {"name": f"client {number}"}}
        read_by(reader, exchange({"method": "initialize", "params": params}, got={"mcp-session-id": str(number)}))

    second, first = (read_by(reader, exchange({}, sent={"mcp-session-id": number})) for number in ("1", "0"))

    assert (first.client, second.client) == (NONE, "client 1")
