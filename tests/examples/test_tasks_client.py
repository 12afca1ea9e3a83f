"""The tasks extension of the example client: how it handles each status of a task, above all questions and answers."""

from collections.abc import Mapping
from typing import Any, cast

import pytest
from mcp.client import ClientSession
from mcp.client.extension import ClaimContext
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult, InputRequest, InputResponse, Request

from examples.tasks_client import TaskCancelled, TaskHandle, TaskNeedsInput, Tasks, update_task

Json = dict[str, Any]
pytestmark = pytest.mark.anyio

ASK: Json = {
    "method": "elicitation/create",
    "params": {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}},
}
DONE: Json = {"status": "completed", "result": {"content": [], "resultType": "complete"}}


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio, as the library's users do."""
    return "asyncio"


class Server:
    """A session whose server answers tasks/get with the given statuses in order."""

    def __init__(self, *states: Json) -> None:
        self._states = list(states)
        self.sent: list[Json] = []
        self.mirrored: list[str | None] = []

    async def send_request(self, request: Request[Any, Any], result_type: Any) -> Any:
        """Record the request; answer with the next status, or with an acknowledgement."""
        self.sent.append(request.model_dump(by_alias=True, mode="json", exclude_none=True))
        self.mirrored.append(type(request).name_param)
        if request.method != "tasks/get":
            return result_type.model_validate({"resultType": "complete"})
        state = {"resultType": "complete", **task(), **self._states.pop(0)}
        return result_type.validate_python(state)

    @property
    def methods(self) -> list[str]:
        """The methods of the requests, in order."""
        return [request["method"] for request in self.sent]


def task() -> Json:
    """Return what every task shows."""
    moment = "2026-11-21T00:00:00Z"
    return {"taskId": "t1", "createdAt": moment, "lastUpdatedAt": moment, "ttlMs": None, "pollIntervalMs": 1}


async def resolve(tasks: Tasks, server: Server) -> Any:
    """Let the extension follow a task to its end, as the library's client does."""
    claim = tasks.claims()[0]
    handle = TaskHandle.model_validate({**task(), "resultType": "task", "status": "working"})
    context = ClaimContext(session=cast("ClientSession", server), tool_name="tool", read_timeout_seconds=None)
    return await claim.resolve(handle, context)


async def accept(requests: Mapping[str, InputRequest]) -> Mapping[str, InputResponse]:
    """Accept every request."""
    return {key: ElicitResult(action="accept", content={}) for key in requests}


async def test_each_request_is_answered_once_under_its_key() -> None:
    server = Server(
        {"status": "input_required", "inputRequests": {"a": ASK}},
        {"status": "input_required", "inputRequests": {"a": ASK, "b": ASK}},
        {"status": "working"},
        DONE,
    )

    result = await resolve(Tasks(answer=accept), server)

    assert not result.is_error
    updates = [request for request in server.sent if request["method"] == "tasks/update"]
    assert [list(update["params"]["inputResponses"]) for update in updates] == [["a"], ["b"]]
    assert server.methods == ["tasks/get", "tasks/update", "tasks/get", "tasks/update", "tasks/get", "tasks/get"]


async def test_an_unanswered_question_is_an_error_that_names_it() -> None:
    server = Server({"status": "input_required", "inputRequests": {"confirm": ASK}})

    with pytest.raises(TaskNeedsInput, match="confirm"):
        await resolve(Tasks(), server)


async def test_a_failed_task_raises_the_error_of_the_call() -> None:
    server = Server({"status": "failed", "error": {"code": -32603, "message": "Internal error"}})

    with pytest.raises(MCPError) as raised:
        await resolve(Tasks(), server)

    assert raised.value.code == -32603


async def test_a_cancelled_task_has_no_result() -> None:
    with pytest.raises(TaskCancelled):
        await resolve(Tasks(), Server({"status": "cancelled"}))


async def test_the_watch_callback_gets_the_handle_and_every_status() -> None:
    seen: list[str] = []

    watching = Tasks(watch=lambda task: seen.append(f"{type(task).__name__} {task.status}"))
    await resolve(watching, Server({"status": "working"}, DONE))

    assert seen == ["TaskHandle working", "Working working", "Completed completed"]


async def test_the_task_id_goes_into_the_routing_header() -> None:
    server = Server()

    await update_task(cast("ClientSession", server), "t1", {})

    assert server.mirrored == ["taskId"]
    assert server.sent[0]["params"] == {"taskId": "t1", "inputResponses": {}}
