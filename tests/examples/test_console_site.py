"""The console's JSON API, on a stack with the endpoint and the examples: what the page reads, and who may not."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from stepwire_cli.app import run
from stepwire_cli.exits import Exit
from stepwire_local import LocalStack
from stepwire_local.console import Console, Watchers
from stepwire_local.console.guard import HEADER
from tests.waiting import HANG_GUARD, until

ROOT = Path(__file__).parents[2]
Json = dict[str, Any]
CAPABILITIES: Json = {"elicitation": {"form": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}}
REFUND: Json = {"order_id": "A-1002", "amount": "100.00", "currency": "EUR", "reason": "The chair wobbles."}


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    stack = LocalStack(ROOT / "stack.yaml", others=[ROOT / "examples/template.yaml"])
    console = Console(stack, lambda: "a-token")
    stack.watcher, stack.front = Watchers(console), console.in_front_of
    with stack:
        yield stack


@pytest.fixture
def http(stack: LocalStack) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=stack.base_url, timeout=HANG_GUARD) as client:
        yield client


def read(http: httpx.Client, path: str) -> Any:
    answer = http.get(f"/console/api/{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def newest(http: httpx.Client) -> Json:
    """Return the newest task that the page has heard of; it hears of a task after its caller does."""
    found: list[Json] = read(http, "tasks")
    return found[0] if found else {}


def modern(http: httpx.Client, method: str, named: str = "", **params: Any) -> Json:
    prefix = "io.modelcontextprotocol/"
    meta = {f"{prefix}protocolVersion": "2026-07-28", f"{prefix}clientCapabilities": CAPABILITIES}
    meta[f"{prefix}clientInfo"] = {"name": "test", "version": "1"}
    headers = {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        "accept": "application/json, text/event-stream",
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    return http.post("/mcp", json=body, headers={**headers, **({"mcp-name": named} if named else {})}).json()["result"]


def legacy(http: httpx.Client, method: str, **params: Any) -> Json:
    headers = {"mcp-protocol-version": "2025-11-25", "accept": "application/json, text/event-stream"}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return http.post("/mcp", json=body, headers=headers).json()["result"]


def test_an_mcp_client_at_the_consoles_address_is_told_the_endpoints(
    stack: LocalStack, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["--url", f"{stack.base_url}/", "--auth", "none", "tools"])

    assert code != Exit.DONE
    assert capsys.readouterr().err == f"error: This is the console. The MCP endpoint is {stack.base_url}/mcp.\n"


def test_a_task_is_watched_from_its_start_to_its_end(http: httpx.Client) -> None:
    called = modern(http, "tools/call", "approve_refund", name="approve_refund", arguments=REFUND)
    task_id = called["taskId"]
    until(lambda: newest(http).get("status") == "input_required")
    (asked,) = until(lambda: read(http, f"tasks/{task_id}")["executions"])
    answer = {"action": "accept", "content": {"amount": 80}}
    modern(http, "tasks/update", task_id, taskId=task_id, inputResponses={"approval": answer})
    until(lambda: newest(http).get("status") == "completed")
    (ended,) = read(http, f"tasks/{task_id}")["executions"]

    assert (newest(http)["taskId"], newest(http)["tool"]) == (task_id, "approve_refund")
    assert asked["states"]["AskForApproval"]["status"] == "waiting"
    assert (asked["status"], ended["status"]) == ("RUNNING", "SUCCEEDED")
    assert ended["states"]["MakeRefund"]["status"] == "succeeded"
    assert ["WhatIsTheAnswer", "MakeRefund"] in ended["taken"]
    drawn = read(http, f"graphs/{ended['graph']}")
    assert {"AskForApproval", "NothingRefunded"} <= {node["name"] for node in drawn["states"]}
    state = read(http, f"states/{task_id}?execution={ended['name']}&state=AskForApproval")
    assert '"amount": 80' in state["visits"][0]["output"]
    assert state["definition"]["Type"] == "Task"


def by_id(tasks: list[Json]) -> dict[str, Json]:
    return {one["taskId"]: one for one in tasks}


def test_the_messages_of_both_eras_are_shown_of_a_task_and_of_all(http: httpx.Client) -> None:
    arguments = {"message": "hello"}
    task_id = legacy(http, "tools/call", name="wait_and_echo", arguments=arguments, task={})["task"]["taskId"]
    modern(http, "tasks/get", task_id, taskId=task_id)
    legacy(http, "tasks/get", taskId=task_id)
    modern(http, "tools/list")

    until(lambda: len(read(http, f"messages?task={task_id}")) == 3)
    shown = read(http, f"messages?task={task_id}")
    assert [one["method"] for one in shown] == ["tools/call", "tasks/get", "tasks/get"]
    assert [one["era"] for one in shown] == ["2025-11-25", "2026-07-28", "2025-11-25"]
    everything = until(lambda: [one for one in read(http, "messages") if one["method"] == "tools/list"])
    assert "inputSchema" in everything[-1]["response"]
    assert read(http, f"messages?after={everything[-1]['number']}&task={task_id}") == []


def test_a_retried_task_shows_its_attempts_in_order(http: httpx.Client) -> None:
    arguments = {"item": "chair", "in_stock_at_attempt": 2}
    task_id = legacy(http, "tools/call", name="reserve_stock", arguments=arguments, task={})["task"]["taskId"]

    def both() -> Any:
        found = read(http, f"tasks/{task_id}")["executions"]
        return found if [one["status"] for one in found] == ["FAILED", "SUCCEEDED"] else None

    until(lambda: by_id(read(http, "tasks")).get(task_id, {}).get("status") == "completed")
    first, second = until(both)
    assert first["states"]["OutOfStock"]["status"] == "failed"
    assert second["name"] == f"{first['name']}-r2"


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/", {}, 200),
        ("GET", "/", {"host": "rebound.example"}, 403),
        ("GET", "/console/api/tasks", {"origin": "https://evil.example"}, 403),
        ("GET", "/console/api/messages", {"sec-fetch-site": "cross-site"}, 403),
        ("GET", "/console/console.js", {"sec-fetch-site": "cross-site"}, 403),
        ("POST", "/console/api/token", {}, 403),
        ("POST", "/console/api/token", {"origin": "https://evil.example", HEADER: "1"}, 403),
        ("POST", "/console/api/approvals/a-question?as=Ann", {}, 403),
        ("POST", "/console/api/approvals/a-question?as=Ann", {"origin": "https://evil.example", HEADER: "1"}, 403),
        ("GET", "/console/api/token", {}, 404),
        ("GET", "/console/api/nothing", {}, 404),
        ("GET", "/console/../site.py", {}, 404),
        ("GET", "/console/%2e%2e/site.py", {}, 404),
        ("GET", "/console/", {}, 200),
        ("GET", "/console/", {"host": "rebound.example"}, 403),
        ("GET", "/console/api/graphs/unknown", {}, 404),
        ("DELETE", "/console/api/tasks", {}, 403),
    ],
)
def test_who_is_served_and_who_is_not(
    http: httpx.Client, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    assert http.request(method, path, headers=headers).status_code == status


def test_a_token_is_for_the_page_alone(http: httpx.Client, stack: LocalStack) -> None:
    answer = http.post("/console/api/token", headers={"origin": stack.base_url, HEADER: "1"})

    assert answer.json() == {"token": "a-token"}
    assert answer.headers["cache-control"] == "no-store"


def test_no_page_loads_from_elsewhere_or_is_framed_elsewhere(http: httpx.Client) -> None:
    page, frame = (http.get(path).headers["content-security-policy"] for path in ("/", "/console/frame.html"))

    assert "default-src 'none'; script-src 'self'" in page
    assert "frame-ancestors 'none'" in page
    assert "frame-ancestors 'self'; sandbox allow-scripts" in frame
    assert not any("http" in policy or "*" in policy for policy in (page, frame))


def test_the_api_is_served_beside_it_as_before(http: httpx.Client) -> None:
    assert http.get("/nothing").json() == {"message": "Not Found"}
    assert http.get("/mcp").status_code == 405
