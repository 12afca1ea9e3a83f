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
    TASKS_EXTENSION,
    LegacyClient,
    ModernClient,
    RawSender,
    nothing_happened,
)
from tests.wire_oracle import LEGACY, MODERN

REMOVED_METHODS = (
    "initialize",
    "ping",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "tasks/result",
    "tasks/list",
)


# A1, A2
def test_one_endpoint_serves_both_eras_at_the_same_time(legacy: LegacyClient, modern: ModernClient) -> None:
    before = legacy.initialize()

    between = modern.ask("server/discover")
    after = legacy.ask("ping")

    assert before.result["protocolVersion"] == "2025-11-25"
    assert between.result["supportedVersions"] == [MODERN]
    assert after.result == {}


# A2
def test_initialize_with_modern_metadata_is_a_modern_request(modern: ModernClient) -> None:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a test", "version": "1"}}

    answer = modern.ask("initialize", params)

    assert (answer.status, answer.code) == (404, -32601)


# A2: a client that falls back may still send the header of the version that it tried first
def test_initialize_without_modern_metadata_opens_a_legacy_session_under_any_header(world: World) -> None:
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "it", "version": "1"}}

    answer = LegacyClient(world).ask("initialize", params, headers={"mcp-protocol-version": MODERN})

    assert answer.result["protocolVersion"] == LEGACY


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


# A3, M18, X29
@pytest.mark.parametrize("method", REMOVED_METHODS)
def test_a_method_that_the_modern_era_removed_is_not_found_in_it(modern: ModernClient, method: str) -> None:
    answer = modern.ask(method, {"taskId": "0" * 36, "level": "debug", "uri": "file:///a"})

    assert (answer.status, answer.code) == (404, -32601)


# A3
@pytest.mark.parametrize("method", ["server/discover", "tasks/update"])
@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26"])
def test_a_method_that_the_modern_era_added_is_not_found_in_legacy(world: World, method: str, version: str) -> None:
    client = LegacyClient(world, version)

    answer = client.ask(method, {"taskId": "0" * 36, "inputResponses": {}})

    assert (answer.status, answer.code) == (200, -32601)


# A4, X1, M30
def test_a_modern_client_gets_the_extension_and_not_the_legacy_capability(modern: ModernClient) -> None:
    capabilities = modern.ask("server/discover").result["capabilities"]

    assert capabilities["extensions"][TASKS_EXTENSION] == {}
    assert "tasks" not in capabilities


# A5
def test_a_legacy_client_that_declares_the_extension_gets_nothing_of_it(world: World, legacy: LegacyClient) -> None:
    params: Json = {"name": "required", "arguments": {"text": "hello"}}

    capabilities = legacy.initialize(capabilities=dict(TASKS_CAPABILITY)).result["capabilities"]
    answer = legacy.ask("tools/call", {**params, "_meta": dict(TASKS_CAPABILITY)})

    assert "extensions" not in capabilities
    assert answer.code == -32601
    assert nothing_happened(world)


# A6, X3
def test_a_modern_client_with_only_the_legacy_capability_has_not_declared_tasks(world: World) -> None:
    client = ModernClient(
        world, capabilities={"tasks": {"requests": {"tools": {"call": {}}}, "list": {}, "cancel": {}}}
    )

    answer = client.call("required")

    assert (answer.status, answer.code) == (400, -32021)
    assert answer.error["data"]["requiredCapabilities"] == TASKS_CAPABILITY


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


# A8
def test_the_legacy_parameter_task_changes_nothing_for_a_modern_client_with_tasks(modern: ModernClient) -> None:
    answer = modern.call("optional", more={"task": {"ttl": 86_400_000}})

    assert answer.result["resultType"] == "task"
    assert answer.result["ttlMs"] == 3_600_000


# A10, L9
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


# M22
def test_what_a_client_declared_in_one_request_is_forgotten_in_the_next(world: World) -> None:
    ModernClient(world).call("required")

    answer = ModernClient(world, capabilities={}).call("required")

    assert answer.code == -32021


# M22, A2
def test_a_legacy_client_is_served_without_initialize(legacy: LegacyClient) -> None:
    answer = legacy.call("optional", task={})

    assert answer.result["task"]["status"] == "working"


# T29
def test_the_related_task_in_the_metadata_does_not_replace_the_task_id(legacy: LegacyClient) -> None:
    asked, other = legacy.start(), legacy.start()

    answer = legacy.ask("tasks/get", {"taskId": asked, "_meta": {RELATED_TASK: {"taskId": other}}})

    assert answer.result["taskId"] == asked


# M23
def test_a_client_that_does_not_send_its_name_is_served_the_same(modern: ModernClient) -> None:
    named = modern.ask("tools/list", meta={"io.modelcontextprotocol/clientInfo": {"name": "a test", "version": "1"}})

    nameless = modern.ask("tools/list")

    assert named.body == nameless.body


# M15, A2
@pytest.mark.parametrize("missing", [META_VERSION, META_CAPABILITIES])
def test_incomplete_modern_metadata_is_refused_as_a_modern_request(modern: ModernClient, missing: str) -> None:
    answer = modern.ask("tools/list", meta={missing: None})

    assert (answer.status, answer.code) == (400, -32602)
    assert missing in answer.error["message"]


# M15, A2: whatever the headers say
@pytest.mark.parametrize("only", [META_VERSION, META_CAPABILITIES])
@pytest.mark.parametrize("version", ["2025-11-25", None])
def test_incomplete_modern_metadata_is_modern_whatever_the_headers_say(
    modern: ModernClient, only: str, version: str | None
) -> None:
    other = META_CAPABILITIES if only == META_VERSION else META_VERSION

    answer = modern.ask("tools/list", meta={other: None}, headers={"mcp-protocol-version": version})

    assert (answer.status, answer.code) == (400, -32602)
