"""SSE polling with `mcp` 1.30: elicitation, progress, and waits longer than any single response."""

import json
from typing import Any, Final

import pytest

from tests.integration.over_http.legacy import LegacyClient

RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
EVENTS: Final = "text/event-stream"
REFUND: Final = json.dumps({"order_id": "A-1002", "amount": "249.00", "currency": "EUR", "reason": "It wobbles."})
ACCEPT: Final = ["--answer", json.dumps({"action": "accept", "content": {"amount": 120.5, "note": "Half."}})]
DECLINE: Final = ["--answer", json.dumps({"action": "decline"})]
VS_CODE: Final = ["--name", "Visual Studio Code"]


@pytest.mark.long
def test_a_task_asks_while_a_client_waits_for_its_result(legacy_client: LegacyClient) -> None:
    seen = legacy_client("call_as_a_task", "approve_refund", REFUND, *ACCEPT)

    task_id = seen["created"]["task"]["taskId"]
    (asked,) = seen["asked"]
    assert asked["message"] == "Refund 249.00 EUR for order A-1002? Reason given: It wobbles."
    assert asked["_meta"][RELATED_TASK] == {"taskId": task_id}
    result = seen["result"]["structuredContent"]
    assert (result["status"], result["refunded"], result["note"]) == ("refunded", "120.50", "Half.")
    assert seen["result"]["_meta"][RELATED_TASK] == {"taskId": task_id}
    assert seen["afterwards"]["status"] == "completed"
    assert was_resumed(seen)


@pytest.mark.long
def test_a_plain_call_asks_before_its_result(legacy_client: LegacyClient) -> None:
    seen = legacy_client("call", "approve_refund", REFUND, *ACCEPT)

    (asked,) = seen["asked"]
    assert asked["requestedSchema"]["properties"]["amount"]["maximum"] == 249
    assert seen["result"]["structuredContent"]["refunded"] == "120.50"
    assert was_resumed(seen)


@pytest.mark.long
@pytest.mark.parametrize("scenario", ["call", "call_as_a_task"])
def test_a_declined_question_reaches_the_workflow(legacy_client: LegacyClient, scenario: str) -> None:
    seen = legacy_client(scenario, "approve_refund", REFUND, *DECLINE)

    assert seen["result"]["structuredContent"]["status"] == "declined"
    assert len(seen["asked"]) == 1


@pytest.mark.long
@pytest.mark.parametrize("scenario", ["call", "call_as_a_task"])
def test_a_client_that_cannot_ask_is_not_asked(legacy_client: LegacyClient, scenario: str) -> None:
    seen = legacy_client(scenario, "approve_refund", REFUND)

    assert seen["result"]["structuredContent"]["status"] == "not_asked"
    assert seen["asked"] == []


@pytest.mark.parametrize("scenario", ["call", "call_as_a_task"])
def test_a_tool_with_confirm_asks_before_it_starts(own_legacy_client: LegacyClient, scenario: str) -> None:
    answer = ["--answer", json.dumps({"action": "accept", "content": {"why": "They are old."}})]

    seen = own_legacy_client(scenario, "delete_records", '{"count": 3}', *answer)

    assert [asked["message"] for asked in seen["asked"]] == ["Delete 3 records?"]
    assert seen["result"]["structuredContent"] == {"count": 3, "confirmation": {"why": "They are old."}}


def test_a_declined_call_does_not_start(own_legacy_client: LegacyClient) -> None:
    seen = own_legacy_client("call", "delete_records", '{"count": 3}', *DECLINE)

    assert seen["result"]["isError"]
    assert seen["result"]["content"][0]["text"] == "The user declined, and nothing was started."


@pytest.mark.long
def test_a_call_of_75_seconds_gets_its_result_and_its_progress(own_legacy_client: LegacyClient) -> None:
    seen = own_legacy_client("call", "take_steps", '{"steps": 15, "step_seconds": 5}')

    assert seen["seconds"] > 75
    assert seen["result"]["structuredContent"] == {"steps": 15}
    steps = [done for done, _, _ in seen["progress"]]
    assert steps == sorted(set(steps))
    assert len(steps) > 5
    assert all(total == 15 for _, total, _ in seen["progress"])
    assert "step 1 taken" in [message for _, _, message in seen["progress"]]
    assert was_resumed(seen)


class TestAClientThatDoesNotComeBack:
    def test_a_call_that_takes_longer_than_the_wait_names_its_task(self, own_legacy_client: LegacyClient) -> None:
        seen = own_legacy_client("call", "take_steps", '{"steps": 1, "step_seconds": 3600}', *VS_CODE)

        assert seen["result"]["_meta"]["stepwire/task"]["status"] == "working"
        assert not streams(seen)

    def test_a_call_that_takes_less_gets_its_result(self, own_legacy_client: LegacyClient) -> None:
        seen = own_legacy_client("call", "take_steps", '{"steps": 1, "step_seconds": 1}', *VS_CODE)

        assert seen["result"]["structuredContent"] == {"steps": 1}
        assert not streams(seen)

    def test_a_result_that_takes_longer_is_an_error_that_says_so(self, own_legacy_client: LegacyClient) -> None:
        arguments = '{"steps": 1, "step_seconds": 3600}'

        seen = own_legacy_client("ask_for_the_result_too_soon", "take_steps", arguments, *VS_CODE)

        assert seen["error"]["code"] == -31001
        assert not streams(seen)

    @pytest.mark.long
    def test_a_task_is_polled_to_its_end(self, legacy_client: LegacyClient) -> None:
        seen = legacy_client("run_to_the_end", *VS_CODE)

        assert seen["result"]["structuredContent"]["message"] == "hello"
        assert not streams(seen)

    @pytest.mark.long
    @pytest.mark.parametrize("scenario", ["call", "call_as_a_task"])
    def test_its_user_cannot_be_asked(self, legacy_client: LegacyClient, scenario: str) -> None:
        seen = legacy_client(scenario, "approve_refund", REFUND, *ACCEPT, *VS_CODE)

        assert seen["result"]["structuredContent"]["status"] == "not_asked"
        assert not streams(seen)


def streams(seen: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the responses that were SSE streams."""
    return [response for response in seen["wire"] if response["type"] == EVENTS]


def was_resumed(seen: dict[str, Any]) -> bool:
    """Tell whether a response came in parts, to a POST and later GETs, and each part is well formed."""
    pieces = streams(seen)
    assert {piece["status"] for piece in pieces} <= {200}
    return any(piece["method"] == "POST" for piece in pieces) and any(piece["resumes"] for piece in pieces)
