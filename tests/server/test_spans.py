"""Requests, tasks and deliveries as spans in the log, and requests in the traces of AWS X-Ray."""

import json
from collections.abc import Callable
from typing import Any, Final

import pytest

from stepwire.audit import AuditEntry
from stepwire.aws.audit_log import write_audit_entry
from stepwire.aws.request_spans import RequestSpans, trace_of_x_ray
from stepwire.aws.spans import with_tasks
from stepwire.server.mcp_server import McpServer
from stepwire.tracing import follow
from tests.kits import OPTIONAL, World
from tests.server.answers import Json
from tests.server.clients import PLAIN_HEADERS, LegacyClient, ModernClient, RawSender

TRACE_ID: Final = "0af7651916cd43dd8448eb211c80319c"
PARENT: Final = f"00-{TRACE_ID}-b7ad6b7169203331-01"
SECONDS: Final = 1_785_585_600
X_RAY: Final = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1;Lineage=a:0"
SECRET: Final = "customer-17"
Printed = Callable[[], str]


class Audit(list[AuditEntry]):
    """The audit log, which writes each entry at once, and the spans of tasks."""

    def append(self, entry: AuditEntry) -> None:
        with_tasks(write_audit_entry)(entry)
        super().append(entry)


class Ids:
    """Random bytes that count."""

    def __init__(self) -> None:
        self.given = 0

    def __call__(self, length: int) -> bytes:
        self.given += 1
        return self.given.to_bytes(length)


def traced(world: World, *, x_ray: bool = False, writes: bool = True) -> World:
    """Return the world with a server that makes requests spans."""
    spans = RequestSpans(x_ray=x_ray, writes=writes, now=lambda: SECONDS * 1_000_000_000, randomness=Ids())
    world.server = McpServer(world.services, frozenset(), world.faults.append, spans)
    return world


def spans_in(text: str) -> list[dict[str, Any]]:
    """Return the spans among the lines of a log, their attributes as a mapping."""
    lines = [line for line in map(json.loads, text.splitlines()) if "resourceSpans" in line]
    found = [line["resourceSpans"][0]["scopeSpans"][0]["spans"][0] for line in lines]
    return [{**one, "attributes": attributes_of(one)} for one in found]


def attributes_of(holder: dict[str, Any]) -> dict[str, str]:
    return {one["key"]: next(iter(one["value"].values())) for one in holder["attributes"]}


def test_a_call_is_a_span_by_the_conventions_for_mcp_below_that_of_its_client(world: World, printed: Printed) -> None:
    client = ModernClient(traced(world))

    task_id = client.ask(
        "tools/call", {"name": "optional", "arguments": {"text": SECRET}}, meta={"traceparent": PARENT}
    ).id_in()

    text = printed()
    (span,) = spans_in(text)
    assert (span["name"], span["kind"]) == ("tools/call optional", 2)
    assert (span["traceId"], span["parentSpanId"]) == (TRACE_ID, PARENT[36:52])
    assert span["startTimeUnixNano"] == f"{SECONDS}000000000"
    assert {**span["attributes"], "jsonrpc.request.id": "any"} == {
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": "2026-07-28",
        "gen_ai.tool.name": "optional",
        "gen_ai.operation.name": "execute_tool",
        "jsonrpc.request.id": "any",
        "network.transport": "tcp",
        "network.protocol.name": "http",
        "http.response.status_code": "200",
    }
    assert "status" not in span
    assert SECRET not in text
    assert task_id not in text


def test_what_a_call_begins_is_below_its_span(world: World, printed: Printed) -> None:
    client = ModernClient(traced(world))

    client.ask("tools/call", {"name": "optional", "arguments": {"text": "x"}}, meta={"traceparent": PARENT})

    (span,) = spans_in(printed())
    (start,) = world.workflows.starts
    assert start.trace_header == f"Root=1-{TRACE_ID[:8]}-{TRACE_ID[8:]};Parent={span['spanId']};Sampled=1"


@pytest.mark.parametrize(
    ("x_ray", "header", "trace_id", "parent"),
    [
        (False, X_RAY, f"{SECONDS:08x}{2:024x}", None),
        (True, X_RAY, "5759e988bd862e3fe1be46a994272793", "53995c3f42cd8ad8"),
        (True, "", f"{SECONDS:08x}{2:024x}", None),
    ],
    ids=["a new trace", "that of X-Ray", "without one of X-Ray"],
)
def test_a_request_without_a_trace_gets_one(
    world: World,
    printed: Printed,
    monkeypatch: pytest.MonkeyPatch,
    x_ray: bool,
    header: str,
    trace_id: str,
    parent: str,
) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", header)

    ModernClient(traced(world, x_ray=x_ray)).ask("tools/list")

    (span,) = spans_in(printed())
    assert (span["traceId"], span.get("parentSpanId")) == (trace_id, parent)


@pytest.mark.parametrize(("sent", "shown"), [(None, "1-5759e988-bd862e3fe1be46a994272793"), (PARENT, "1-0af76519-")])
def test_with_x_ray_alone_a_task_belongs_to_the_trace_of_its_call_or_else_of_the_invocation(
    world: World, printed: Printed, monkeypatch: pytest.MonkeyPatch, sent: str | None, shown: str
) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", X_RAY)
    client = ModernClient(traced(world, x_ray=True, writes=False))

    client.ask("tools/call", {"name": "optional", "arguments": {"text": "x"}}, meta={"traceparent": sent})

    (start,) = world.workflows.starts
    assert start.trace_header is not None
    assert start.trace_header.startswith(f"Root={shown}")
    assert spans_in(printed()) == []


@pytest.mark.parametrize(
    "header",
    ["", "Root=1-5759e988;Parent=a", "Root=2-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8", "x" * 1_000],
)
def test_what_is_no_header_of_x_ray_is_no_trace(header: str) -> None:
    assert trace_of_x_ray(header) is None


def test_a_trace_that_x_ray_does_not_sample_is_followed_and_not_written(
    world: World, printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", X_RAY.replace("Sampled=1", "Sampled=0"))
    client = ModernClient(traced(world, x_ray=True))

    client.ask("tools/call", {"name": "optional", "arguments": {"text": "x"}})

    (start,) = world.workflows.starts
    assert start.trace_header is not None
    assert start.trace_header.endswith("Sampled=0")
    assert spans_in(printed()) == []


def unknown_tool(client: ModernClient) -> None:
    client.ask("tools/call", {"name": SECRET, "arguments": {}})


def unknown_method(client: ModernClient) -> None:
    client.ask(f"no/{SECRET}")


def failing(client: ModernClient) -> None:
    world = client.endpoint
    assert isinstance(world, World)
    world.fail(task_id := client.call("optional", {"text": "x"}).id_in())
    client.task("get", task_id)


@pytest.mark.parametrize(
    ("act", "name", "error", "code"),
    [
        (unknown_tool, "tools/call", "-32602", "-32602"),
        (unknown_method, "_OTHER", "-32601", "-32601"),
        (failing, "tasks/get", "tool_error", None),
    ],
)
def test_an_error_is_a_type_and_no_text_of_the_caller(
    world: World, printed: Printed, act: Callable[[ModernClient], None], name: str, error: str, code: str | None
) -> None:
    act(ModernClient(traced(world)))

    text = printed()
    span = spans_in(text)[-1]
    assert (span["name"], span["status"]) == (name, {"code": 2})
    assert span["attributes"]["error.type"] == error
    assert span["attributes"].get("rpc.response.status_code") == code
    assert SECRET not in text


@pytest.mark.parametrize(
    ("send", "method", "params", "name"),
    [
        (LegacyClient.ask, f"no/{SECRET}", {}, "_OTHER"),
        (LegacyClient.notify, f"no/{SECRET}", {}, "_OTHER"),
        (LegacyClient.ask, "tasks/get", {"taskId": SECRET}, "tasks/get"),
    ],
    ids=["method", "notification", "task"],
)
def test_what_is_not_there_is_in_no_span_in_the_older_era_either(
    world: World,
    printed: Printed,
    send: Callable[[LegacyClient, str, Json], object],
    method: str,
    params: Json,
    name: str,
) -> None:
    client = LegacyClient.opened(traced(world))

    send(client, method, params)

    text = printed()
    assert spans_in(text)[-1]["name"] == name
    assert SECRET not in text


def test_a_session_is_a_digest_and_a_notification_has_no_id(world: World, printed: Printed) -> None:
    client = LegacyClient.opened(traced(world))
    client.notify("notifications/initialized")

    spans = spans_in(text := printed())
    assert [one["name"] for one in spans][-1] == "notifications/initialized"
    assert "jsonrpc.request.id" not in spans[-1]["attributes"]
    assert len(spans[-1]["attributes"]["mcp.session.id"]) == 16
    assert str(client.session) not in text


def test_what_is_no_message_is_no_span(world: World, printed: Printed) -> None:
    client = ModernClient(traced(world))

    RawSender(client.endpoint).send(b"{", PLAIN_HEADERS)
    client.ask("tools/list")

    assert [one["name"] for one in spans_in(printed())] == ["tools/list"]


@pytest.mark.parametrize(("end", "is_error"), [("succeed", False), ("fail", True)])
def test_a_task_is_a_span_from_its_call_to_its_end(printed: Printed, end: str, is_error: bool) -> None:
    world = traced(World(audit=Audit()))
    task_id = ModernClient(world).ask(
        "tools/call", {"name": "optional", "arguments": {"text": SECRET}}, meta={"traceparent": PARENT}
    ).id_in()  # fmt: skip
    follow(None)

    world.succeed(task_id, {"answer": SECRET}) if end == "succeed" else world.fail(task_id)

    call, task = spans_in(text := printed())
    assert (task["name"], task["kind"], task["traceId"]) == (f"task {OPTIONAL.name}", 1, TRACE_ID)
    assert task["parentSpanId"] == call["spanId"]
    assert task["attributes"]["stepwire.task_id"] == task_id
    assert ("status" in task) is is_error
    assert SECRET not in text


def test_a_span_is_about_a_kilobyte_as_the_page_of_costs_says(
    world: World, printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "stepwire-prod")
    client = ModernClient(traced(world))

    client.ask("tools/call", {"name": "optional", "arguments": {"text": "x"}}, meta={"traceparent": PARENT})

    assert 900 <= len(printed()) <= 1_150
