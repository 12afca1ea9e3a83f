"""How a legacy session begins: `initialize`, `ping`, and the capabilities of each version."""

import pytest

from tests.extras import parts
from tests.kits import World
from tests.server.answers import Json
from tests.server.clients import LegacyClient

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26")
WITHOUT_TASKS = VERSIONS[1:]


# L1, L2, L3, L16, L17, T1
@pytest.mark.parametrize("version", VERSIONS)
def test_a_client_gets_the_version_that_it_asks_for(world: World, version: str) -> None:
    client = LegacyClient(world, version)

    result = client.initialize().result

    assert result["protocolVersion"] == version
    assert result["serverInfo"]["name"] == "stepwire"
    assert result["serverInfo"]["version"]
    assert "workflow" in result["instructions"]
    with_tasks: Json = {"tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}
    tasks = {} if version in WITHOUT_TASKS else with_tasks
    of_core: Json = {"tools": {}, **tasks}
    of_extras = {name: claim for part in parts("idle") for name, claim in part.CLAIMED.items() if name != "extensions"}
    assert of_core.items() <= result["capabilities"].items() <= {**of_extras, **of_core}.items()


# L2
@pytest.mark.parametrize("version", ["2024-11-05", "2099-01-01", "?", "1.0", "2026-07-28"])
def test_a_client_of_another_version_is_offered_the_latest_legacy_one(legacy: LegacyClient, version: str) -> None:
    answer = legacy.initialize(version)

    assert answer.result["protocolVersion"] == "2025-11-25"


# A2, L2: a client that falls back may still send the header of the version that it tried first
@pytest.mark.parametrize("header", ["2099-01-01", "2025-06-18", "2026-07-28", ""])
def test_initialize_ignores_the_version_in_its_headers(legacy: LegacyClient, header: str) -> None:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a test", "version": "1"}}

    answer = legacy.ask("initialize", params, headers={"mcp-protocol-version": header})

    assert answer.result["protocolVersion"] == "2025-11-25"


# L1, T34
@pytest.mark.parametrize("params", [{}, {"protocolVersion": None}, {"protocolVersion": 20251125}])
def test_initialize_without_a_version_is_refused(legacy: LegacyClient, params: dict[str, object]) -> None:
    answer = legacy.ask("initialize", params)

    assert (answer.status, answer.code) == (200, -32602)
    assert "protocolVersion" in answer.error["message"]


# L14
@pytest.mark.parametrize("version", VERSIONS)
def test_the_result_of_a_ping_is_empty(world: World, version: str) -> None:
    client = LegacyClient(world, version)

    answer = client.ask("ping")

    assert answer.result == {}
    assert world.store.calls == []


# L3, T1
@pytest.mark.parametrize("version", WITHOUT_TASKS)
@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"])
def test_an_older_version_has_no_methods_for_tasks(world: World, version: str, method: str) -> None:
    task_id = LegacyClient(world).start()
    client = LegacyClient(world, version)

    answer = client.ask(method, {"taskId": task_id})

    assert (answer.status, answer.code) == (200, -32601)


# T2
@pytest.mark.parametrize("version", WITHOUT_TASKS)
def test_an_older_version_does_not_know_the_parameter_task(world: World, version: str) -> None:
    client = LegacyClient(world, version)
    world.clock.on_sleep = lambda: end_all(world)

    answer = client.call("optional", task={"ttl": "not even a number"})

    assert answer.result["structuredContent"] == {"answer": 42}


# T4
@pytest.mark.parametrize("version", WITHOUT_TASKS)
def test_an_older_version_cannot_call_a_tool_that_is_always_a_task(world: World, version: str) -> None:
    client = LegacyClient(world, version)

    answer = client.call("required", task={})

    assert answer.code == -32601
    assert world.workflows.starts == []


def end_all(world: World) -> None:
    """End all running executions, and deliver their status changes."""
    for execution in world.workflows.running():
        world.workflows.succeed(execution, {"answer": 42})
    world.deliver()
