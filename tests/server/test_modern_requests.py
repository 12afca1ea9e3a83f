"""What a modern client learns before its first call: `server/discover`, and how long results may be cached."""

import pytest

from stepwire import __version__
from tests.extras import parts
from tests.kits import BAD_ARGUMENTS, World
from tests.server.answers import Json
from tests.server.clients import (
    META_CAPABILITIES,
    SERVER_INFO,
    TASKS_CAPABILITY,
    TASKS_EXTENSION,
    ModernClient,
    nothing_happened,
)


# A4, M30, M54, L16, X1
def test_discover_returns_the_versions_and_capabilities_of_the_server(modern: ModernClient) -> None:
    result = modern.ask("server/discover").result

    assert result["supportedVersions"] == ["2026-07-28"]
    more: list[Json] = [part.CLAIMED for part in parts("idle")]
    assert result["capabilities"] == {
        "tools": {},
        **{name: one for claimed in more for name, one in claimed.items()},
        "extensions": {TASKS_EXTENSION: {}} | {name: one for part in more for name, one in part["extensions"].items()},
    }
    assert result["instructions"]
    info = result["_meta"][SERVER_INFO]
    assert (info["name"], info["title"], info["version"]) == ("stepwire", "Stepwire", __version__)


# M31
@pytest.mark.parametrize("method", ["server/discover", "tools/list"])
def test_a_cacheable_result_has_a_ttl_and_a_scope(modern: ModernClient, method: str) -> None:
    check_cacheable(modern.ask(method).result)


def check_cacheable(result: Json) -> None:
    """Check what a result says of its caching."""
    assert isinstance(result["ttlMs"], int)
    assert result["ttlMs"] >= 0
    assert result["cacheScope"] in {"public", "private"}


# M32
def test_the_list_of_tools_is_not_shared_between_users(modern: ModernClient) -> None:
    result = modern.ask("tools/list").result

    assert result["cacheScope"] == "private"


# M31
def test_no_result_about_a_task_may_be_cached(modern: ModernClient) -> None:
    task_id = modern.start()

    results = [
        modern.call("optional").result,
        modern.task("get", task_id).result,
        modern.task("update", task_id, inputResponses={}).result,
        modern.task("cancel", task_id).result,
    ]

    assert not any("cacheScope" in result for result in results)


# M30, M31
@pytest.mark.parametrize("method", ["server/discover", "tools/list"])
def test_results_that_are_the_same_for_all_callers_need_no_read_of_the_store(
    modern: ModernClient, world: World, method: str
) -> None:
    answer = modern.ask(method)

    assert answer.status == 200
    assert (world.store.calls, world.workflows.described) == ([], [])


# M23, M24, M29, M41
@pytest.mark.parametrize(
    "meta",
    [
        {"io.modelcontextprotocol/clientInfo": {"name": "a test", "version": "1"}},
        {META_CAPABILITIES: {"extensions": {"com.example/other": {}, TASKS_EXTENSION: {}}, "com.example": 1}},
        {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "baggage": "user=alice"},
        {"io.modelcontextprotocol/logLevel": "debug"},
    ],
)
def test_what_the_server_does_not_use_changes_nothing(modern: ModernClient, meta: Json) -> None:
    assert modern.ask("tools/list", meta=meta).body == modern.ask("tools/list").body


# A6, M19, M22, M24, X2, X3, G, H
@pytest.mark.parametrize(
    "capabilities",
    [
        {},
        {"tasks": {"requests": {"tools": {"call": {}}}, "list": {}, "cancel": {}}},
        {"extensions": None},
        {"extensions": []},
        {"extensions": "all"},
        {"extensions": {}},
        {"extensions": {TASKS_EXTENSION.upper(): {}}},
    ],
)
def test_a_tool_that_is_always_a_task_needs_a_client_that_declares_them(world: World, capabilities: Json) -> None:
    ModernClient(world).call("forbidden", BAD_ARGUMENTS)  # what it declares counts for this request alone

    answer = ModernClient(world, capabilities=capabilities).call("required")

    assert (answer.status, answer.code) == (400, -32021)
    assert answer.error["data"] == {"requiredCapabilities": TASKS_CAPABILITY}
    assert nothing_happened(world)


# M27
def test_no_error_has_a_reserved_code(modern: ModernClient) -> None:
    answers = [
        modern.ask("nothing"),
        modern.ask("tools/list", {"cursor": "?"}),
        modern.call("nothing"),
        modern.ask("tools/list", headers={"mcp-method": None}),
        modern.task("get", "nothing"),
    ]

    codes = {answer.code for answer in answers}

    assert codes == {-32601, -32602, -32020}
