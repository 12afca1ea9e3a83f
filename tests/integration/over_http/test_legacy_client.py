"""`mcp` 1.30, the library's last release line for 2025-11-25, runs tasks from beginning to end."""

import json

import pytest

from tests.integration.over_http.legacy import LegacyClient

THREE_DAYS = 259_200_000  # milliseconds; requested by the client, and longer than the tool's own
RELATED_TASK = "io.modelcontextprotocol/related-task"


def test_a_task_runs_to_its_result(legacy_client: LegacyClient) -> None:
    seen = legacy_client("run_to_the_end")

    task = seen["created"]["task"]
    assert (task["status"], task["ttl"]) == ("working", THREE_DAYS)
    assert {poll["taskId"] for poll in seen["polls"]} == {task["taskId"]}
    assert [poll["status"] for poll in seen["polls"]][-1] == "completed"
    assert seen["result"]["structuredContent"] == {"message": "hello", "waited_seconds": 1}
    assert json.loads(seen["result"]["content"][0]["text"]) == seen["result"]["structuredContent"]
    assert not seen["result"]["isError"]


def test_a_request_for_the_result_of_a_running_task_waits(legacy_client: LegacyClient) -> None:
    seen = legacy_client("ask_for_the_result_at_once")

    assert seen["before"]["status"] == "working"
    assert seen["result"]["structuredContent"]["message"] == "patience"
    assert seen["result"]["_meta"][RELATED_TASK] == {"taskId": seen["before"]["taskId"]}


def test_without_sign_in_tasks_are_not_listed(legacy_client: LegacyClient) -> None:
    """T21."""
    seen = legacy_client("cancel")

    assert seen["initialized"]["capabilities"]["tasks"] == {"cancel": {}, "requests": {"tools": {"call": {}}}}


def test_a_cancelled_task_stays_cancelled(legacy_client: LegacyClient) -> None:
    seen = legacy_client("cancel")

    assert seen["cancelled"]["status"] == "cancelled"
    assert seen["afterwards"]["status"] == "cancelled"
    assert seen["again"]["code"] == -32602


def test_a_tool_error_is_a_failed_task_with_a_result(legacy_client: LegacyClient) -> None:
    seen = legacy_client("fail_with_a_tool_error")

    last = seen["polls"][-1]
    assert last["status"] == "failed"
    assert "Come back tomorrow." in last["statusMessage"]
    assert seen["result"]["isError"]
    assert "Shop.Closed" in seen["result"]["content"][0]["text"]


def test_a_protocol_error_is_a_failed_task_whose_result_is_that_error(legacy_client: LegacyClient) -> None:
    cause = {"code": 4001, "message": "Not for you.", "data": {"retry": False}}

    seen = legacy_client("fail_with_a_protocol_error", json.dumps(cause))

    assert seen["polls"][-1]["status"] == "failed"
    assert seen["error"] == cause


def test_an_unknown_task_is_an_error_everywhere(legacy_client: LegacyClient) -> None:
    seen = legacy_client("name_an_unknown_task")

    assert {seen[method]["code"] for method in ("get", "result", "cancel")} == {-32602}


def test_a_call_without_a_task_gets_its_result(legacy_client: LegacyClient) -> None:
    seen = legacy_client("call_without_tasks")

    support = {tool["name"]: tool["execution"]["taskSupport"] for tool in seen["tools"]}
    assert support["wait_and_echo"] == "optional"
    assert seen["result"]["structuredContent"]["message"] == "plain"


@pytest.mark.parametrize("version", ["2025-06-18", "2025-03-26"])
def test_a_client_of_an_older_version_gets_a_result_without_tasks(legacy_client: LegacyClient, version: str) -> None:
    seen = legacy_client("call_without_tasks", "--version", version)

    assert seen["initialized"]["protocolVersion"] == version
    assert "tasks" not in seen["initialized"]["capabilities"]
    assert all("execution" not in tool for tool in seen["tools"])
    assert seen["result"]["structuredContent"]["message"] == "plain"
