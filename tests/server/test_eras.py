"""Which era a request belongs to: its own content decides, not an earlier request."""

import pytest

from tests.kits import World
from tests.server.answers import Json
from tests.server.clients import (
    FORM_CAPABILITY,
    META_CAPABILITIES,
    META_VERSION,
    PLAIN_HEADERS,
    RELATED_TASK,
    TASKS_CAPABILITY,
    LegacyClient,
    ModernClient,
    RawSender,
    nothing_happened,
)
from tests.wire_oracle import MODERN

NOT_MODERN = (
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "tasks/result",
    "tasks/list",
    "prompts/list",
    "completion/complete",
    "tools/Call",
    "x",
)
NOT_LEGACY = (
    "server/discover",
    "tasks/update",
    "subscriptions/listen",
    "prompts/list",
    "resources/subscribe",
    "logging/setLevel",
    "sampling/createMessage",
)


# A1, A2
def test_one_endpoint_serves_both_eras_at_the_same_time(legacy: LegacyClient, modern: ModernClient) -> None:
    before = legacy.initialize()

    between = modern.ask("server/discover")
    after = legacy.ask("ping")

    assert before.result["protocolVersion"] == "2025-11-25"
    assert between.result["supportedVersions"] == [MODERN]
    assert after.result == {}


# A2, M15
def test_a_modern_version_in_the_headers_alone_makes_a_request_modern(world: World) -> None:
    headers = {**PLAIN_HEADERS, "mcp-protocol-version": MODERN, "mcp-method": "tools/list"}

    answer = RawSender(world).send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers, version=MODERN)

    assert (answer.status, answer.code) == (400, -32602)
    assert META_VERSION in answer.error["message"]


# A2
def test_the_routing_headers_of_the_modern_era_do_not_make_a_legacy_request_modern(legacy: LegacyClient) -> None:
    headers = {"mcp-method": "something/else", "mcp-name": "nothing"}

    answer = legacy.ask("tools/list", headers=headers)

    assert [tool["name"] for tool in answer.result["tools"]]


# A2, A3, M18, M55, X29, G
@pytest.mark.parametrize("method", NOT_MODERN)
def test_a_method_that_the_modern_era_does_not_have_is_not_found(modern: ModernClient, method: str) -> None:
    answer = modern.ask(method, {"taskId": "0" * 36, "level": "debug", "uri": "file:///a"})

    assert (answer.status, answer.code) == (404, -32601)


# A3, L3, L13, G
@pytest.mark.parametrize("method", NOT_LEGACY)
@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26"])
def test_a_method_that_the_legacy_era_does_not_have_is_not_found_in_a_200(
    world: World, method: str, version: str
) -> None:
    params: Json = {"taskId": "0" * 36, "inputResponses": {}, "notifications": {}}

    answer = LegacyClient(world, version).ask(method, params)

    assert (answer.status, answer.code) == (200, -32601)


# A5
def test_a_legacy_client_that_declares_the_extension_gets_nothing_of_it(world: World, legacy: LegacyClient) -> None:
    params: Json = {"name": "required", "arguments": {"text": "hello"}}

    capabilities = legacy.initialize(capabilities=dict(TASKS_CAPABILITY)).result["capabilities"]
    answer = legacy.ask("tools/call", {**params, "_meta": dict(TASKS_CAPABILITY)})

    assert "extensions" not in capabilities
    assert answer.code == -32601
    assert nothing_happened(world)


# A7
def test_a_legacy_request_reaches_its_task_whatever_modern_clients_do(
    legacy: LegacyClient, modern: ModernClient
) -> None:
    task_id = legacy.start()

    modern_view = modern.task("get", task_id)
    legacy_view = legacy.task("get", task_id)
    cancelled = legacy.task("cancel", task_id)

    assert modern_view.result["taskId"] == legacy_view.result["taskId"] == task_id
    assert cancelled.result["status"] == "cancelled"


# A8, T2
def test_the_legacy_parameter_task_does_not_declare_modern_tasks(world: World) -> None:
    client = ModernClient(world, capabilities=FORM_CAPABILITY)

    answer = client.call("optional", more={"task": {"ttl": 60_000}})

    assert answer.result["resultType"] == "input_required"
    assert "taskId" not in answer.result


# A10, L4, L9
@pytest.mark.parametrize("http_method", ["GET", "DELETE", "PUT", "PATCH", "OPTIONS", "HEAD"])
def test_methods_other_than_post_are_refused(world: World, http_method: str) -> None:
    answer = RawSender(world).send(b"", {"accept": "text/event-stream"}, http_method=http_method)

    assert answer.status == 405
    assert answer.response.headers["allow"] == "POST"


# A10, L10, L11
def test_the_modern_era_has_no_sessions(modern: ModernClient) -> None:
    answer = modern.ask("tools/list", headers={"mcp-session-id": "made-up", "last-event-id": "7"})

    assert {name.lower() for name in answer.response.headers} == {"content-type"}
    assert answer.result["tools"]


# A11, L12
def test_a_request_without_a_version_is_treated_as_one_of_the_oldest_version(world: World) -> None:
    client = LegacyClient(world, "2025-03-26")

    listed = client.ask("tools/list", headers={"mcp-protocol-version": None})
    task = client.ask("tasks/list", headers={"mcp-protocol-version": None})

    assert all("execution" not in tool for tool in listed.result["tools"])
    assert task.code == -32601


# T29
def test_the_related_task_in_the_metadata_does_not_replace_the_task_id(legacy: LegacyClient) -> None:
    asked, other = legacy.start(), legacy.start()

    answer = legacy.ask("tasks/get", {"taskId": asked, "_meta": {RELATED_TASK: {"taskId": other}}})

    assert answer.result["taskId"] == asked


# M15, A2: whatever the headers say
@pytest.mark.parametrize("missing", [META_VERSION, META_CAPABILITIES])
@pytest.mark.parametrize("version", [MODERN, "2025-11-25", None])
def test_incomplete_modern_metadata_is_refused_as_a_modern_request(
    modern: ModernClient, missing: str, version: str | None
) -> None:
    answer = modern.ask("tools/list", meta={missing: None}, headers={"mcp-protocol-version": version})

    assert (answer.status, answer.code) == (400, -32602)
    assert missing in answer.error["message"]
