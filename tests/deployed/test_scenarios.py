"""Scenarios of clients of both eras with a deployed stack, from a request without a token to the end of a task."""

import json
from typing import Any, Final

import httpx
import pytest
from mcp_types import ElicitRequestParams, ElicitResult

from stepwire_client import Callbacks, TaskCancelled, TaskClient, UnknownTask, Working
from tests.deployed.endpoint import Endpoint
from tests.deployed.stack import aws

pytestmark = pytest.mark.anyio
TOOLS: Final = {"approve_refund", "measure_texts", "wait_and_echo"}
LISTING: Final = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
REFUND: Final = {"order_id": "A-1002", "amount": "249.00", "currency": "EUR", "reason": "It wobbles."}
HALF: Final = ElicitResult(action="accept", content={"amount": 120.5})
UNKNOWN: Final = -32602


def post(endpoint: Endpoint, token: str | None) -> httpx.Response:
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
    return httpx.post(endpoint.url, json=LISTING, headers=headers | endpoint.headers(token), timeout=30)


async def start(client: TaskClient, arguments: dict[str, Any]) -> Working:
    handle = await client.create_task("wait_and_echo", arguments)
    assert isinstance(handle, Working)
    return handle


# ---------------------------------------------------------- sign-in


def test_a_request_without_a_token_is_refused(endpoint: Endpoint) -> None:
    endpoint.token("alice")

    assert post(endpoint, None).status_code == 401


def test_a_token_that_was_changed_after_it_was_signed_is_refused(endpoint: Endpoint) -> None:
    header, claims, signature = endpoint.token("alice").split(".")
    flipped = ("A" if signature[0] != "A" else "B") + signature[1:]

    assert post(endpoint, f"{header}.{claims}.{flipped}").status_code == 401


def test_a_request_with_a_token_is_answered(endpoint: Endpoint) -> None:
    response = post(endpoint, endpoint.token("alice"))

    assert response.status_code == 200
    assert {tool["name"] for tool in response.json()["result"]["tools"]} >= TOOLS


@pytest.mark.parametrize("suffix", ["", "/mcp"])
def test_the_metadata_names_the_issuer_without_sign_in(endpoint: Endpoint, suffix: str) -> None:
    endpoint.token("alice")
    url = endpoint.url.removesuffix("/mcp") + f"/.well-known/oauth-protected-resource{suffix}"

    metadata = httpx.get(url, headers=endpoint.headers(None), timeout=30).json()

    assert metadata["resource"] == endpoint.url
    assert len(metadata["authorization_servers"]) == 1


# ---------------------------------------------------------- 2026-07-28


async def test_a_modern_client_discovers_the_server_and_its_tools(endpoint: Endpoint) -> None:
    async with endpoint.client() as client:
        version, tools = client.protocol_version, await client.tools()

    assert version == "2026-07-28"
    assert {tool.name for tool in tools} >= TOOLS


async def test_a_modern_task_runs_to_its_result(endpoint: Endpoint) -> None:
    seen: list[Any] = []

    async with endpoint.client() as client:
        result = await client.call_tool("wait_and_echo", {"message": "hello", "seconds": 1}, watch=seen.append)

    assert result.structured_content == {"message": "hello", "waited_seconds": 1}
    assert [seen[0].status, seen[-1].status] == ["working", "completed"]


async def test_a_modern_task_asks_and_is_answered(endpoint: Endpoint) -> None:
    asked: list[str] = []

    async def answer(params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        return HALF

    async with endpoint.client(callbacks=Callbacks(elicit=answer)) as client:
        result = await client.call_tool("approve_refund", REFUND)

    assert asked == ["Refund 249.00 EUR for order A-1002? Reason given: It wobbles."]
    assert result.structured_content is not None
    assert (result.structured_content["status"], result.structured_content["refunded"]) == ("refunded", "120.50")


async def test_a_modern_task_fans_out_to_a_function_of_another_stack(endpoint: Endpoint) -> None:
    async with endpoint.client() as client:
        result = await client.call_tool("measure_texts", {"texts": ["Ada", "Cleo"]})

    assert not result.is_error, result.content
    assert result.structured_content is not None
    assert result.structured_content == {"characters": [3, 4]}


async def test_a_modern_task_is_cancelled(endpoint: Endpoint) -> None:
    async with endpoint.client() as client:
        handle = await start(client, {"message": "never", "seconds": 3600})

        await client.cancel_task(handle.task_id)

        with pytest.raises(TaskCancelled):
            await client.task_result(handle.task_id)


async def test_a_task_of_another_caller_is_unknown(endpoint: Endpoint) -> None:
    endpoint.token("bob")
    async with endpoint.client() as alice, endpoint.client(caller="bob") as bob:
        handle = await start(alice, {"message": "private", "seconds": 1})

        with pytest.raises(UnknownTask) as foreign:
            await bob.get_task(handle.task_id)
        with pytest.raises(UnknownTask) as cancelled:
            await bob.cancel_task(handle.task_id)
        with pytest.raises(UnknownTask) as made_up:
            await bob.get_task(handle.task_id[::-1])

        result = await alice.task_result(handle.task_id)

    assert foreign.value.error.code == cancelled.value.error.code == UNKNOWN
    assert foreign.value.error == made_up.value.error
    assert result.structured_content == {"message": "private", "waited_seconds": 1}


# ---------------------------------------------------------- 2025-11-25


def test_a_legacy_client_initializes_and_its_task_runs_to_its_result(endpoint: Endpoint) -> None:
    seen = endpoint.legacy()("run_to_the_end")

    assert seen["initialized"]["protocolVersion"] == "2025-11-25"
    assert seen["created"]["task"]["status"] == "working"
    assert [poll["status"] for poll in seen["polls"]][-1] == "completed"
    assert seen["result"]["structuredContent"] == {"message": "hello", "waited_seconds": 1}


def test_a_legacy_client_lists_the_tools_and_calls_one_without_a_task(endpoint: Endpoint) -> None:
    seen = endpoint.legacy()("call_without_tasks")

    assert {tool["name"] for tool in seen["tools"]} >= TOOLS
    assert seen["result"]["structuredContent"]["message"] == "plain"


def test_a_legacy_task_asks_and_is_answered(endpoint: Endpoint) -> None:
    answer = HALF.model_dump_json(by_alias=True, exclude_none=True)

    seen = endpoint.legacy()("call_as_a_task", "approve_refund", json.dumps(REFUND), "--answer", answer)

    assert len(seen["asked"]) == 1
    assert seen["result"]["structuredContent"]["refunded"] == "120.50"


def test_a_legacy_task_is_cancelled(endpoint: Endpoint) -> None:
    seen = endpoint.legacy()("cancel")

    assert [seen["cancelled"]["status"], seen["afterwards"]["status"]] == ["cancelled", "cancelled"]
    assert seen["again"]["code"] == UNKNOWN


def test_a_legacy_client_sees_no_task_of_another_caller_in_the_list(endpoint: Endpoint) -> None:
    endpoint.token("bob")
    listed = endpoint.legacy()("list_pages", "1")

    others = endpoint.legacy("bob")("list_pages", "1")

    mine = {task_id for page in listed["pages"] for task_id in page}
    theirs = {task_id for page in others["pages"] for task_id in page}
    assert set(listed["started"]) <= mine
    assert mine.isdisjoint(theirs)


# ---------------------------------------------------------- at the end: tests run in the order of the file


def test_no_queue_of_the_stack_holds_a_dead_letter(endpoint: Endpoint) -> None:
    queues, client = endpoint.looked_at().of("AWS::SQS::Queue"), aws("sqs", endpoint.environment)

    assert queues
    for queue in queues:
        asked = {"QueueUrl": queue.physical_id, "AttributeNames": ["ApproximateNumberOfMessages"]}
        assert client.get_queue_attributes(**asked)["Attributes"] == {"ApproximateNumberOfMessages": "0"}, queue.name
