"""Responses that the server must not send, because they end healthy streams of released clients; and correct ends.

A client that resumes gets 200, events and an id to resume with, whatever fails on the server. A 405 or 204 is final for
one client, an answer without an id for another, and two errors in a row for all of them.
"""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from stepwire.errors import StoreBusy
from stepwire.server.services import Patience
from tests.fakes import LARGE
from tests.kits import BOB, OUTPUT, World
from tests.server.answers import Answer
from tests.server.clients import ASKING_CAPABILITY, PLAIN_HEADERS, STREAM_HEADERS, LegacyClient, RawSender
from tests.server.messages import answers_of, only_task, questions
from tests.wire_oracle import LEGACY, MODERN

Opened = Callable[[LegacyClient], Answer]
OPENED: dict[str, Opened] = {
    "the result of a task": lambda client: client.task("result", client.start(), message_id="r"),
    "a plain call": lambda client: client.call("optional", message_id="r"),
}


@pytest.fixture(params=OPENED.values(), ids=list(OPENED))
def opened(request: pytest.FixtureRequest) -> Opened:
    """Open a stream whose response is not ready."""
    return request.param


def resumed(client: LegacyClient, answer: Answer) -> Answer:
    """Resume the stream of an answer."""
    return client.resume(answer.last_event_id, opened_by=answer.request)


def can_be_resumed(answer: Answer) -> bool:
    """Tell whether every client resumes after this body: status 200, a retry time, and an event id first."""
    return answer.status == 200 and bool(answer.retry_ms) and answer.stream.events[0].event_id == answer.event_ids[0]


# ------------------------------------------------------------------------------------------------- what is no stream


# A10, M8: modern streams cannot be resumed
@pytest.mark.parametrize("event_id", ["0", None])
def test_a_modern_client_cannot_resume_a_stream(resuming: LegacyClient, event_id: str | None) -> None:
    first = OPENED["a plain call"](resuming)
    headers = {"mcp-protocol-version": MODERN, **({} if event_id is None else {"last-event-id": first.last_event_id})}

    answer = RawSender(resuming.endpoint).get({**STREAM_HEADERS, **headers}, opened_by=first.request)

    assert answer.status == 405


# L9, L10, G
@pytest.mark.parametrize("http_method", ["DELETE", "PUT", "HEAD", "OPTIONS"])
def test_a_session_cannot_be_ended(resuming: LegacyClient, http_method: str) -> None:
    headers = {**PLAIN_HEADERS, "mcp-protocol-version": LEGACY, "mcp-session-id": resuming.session or ""}

    answer = RawSender(resuming.endpoint).send(b"", headers, http_method=http_method)

    assert (answer.status, answer.response.headers["allow"]) == (405, "POST")
    assert resuming.ask("ping").result == {}


# M7
@pytest.mark.parametrize("accept", ["application/json", "text/html"])
def test_a_client_that_accepts_no_events_cannot_resume(resuming: LegacyClient, opened: Opened, accept: str) -> None:
    first = opened(resuming)

    answer = resuming.resume(first.last_event_id, opened_by=first.request, headers={"accept": accept})

    assert answer.status == 406
    assert can_be_resumed(resumed(resuming, first))


# M2, L5
def test_a_page_of_another_origin_cannot_resume_a_stream(resuming: LegacyClient, opened: Opened) -> None:
    first = opened(resuming)

    answer = resuming.resume(first.last_event_id, opened_by=first.request, headers={"origin": "https://evil.example"})

    assert answer.status == 403


# L8: TypeScript SDK 1.32 resumes once more after an error
@pytest.mark.parametrize("how", ["well", "with an error"])
def test_a_stream_that_has_ended_cannot_be_resumed(
    resuming: LegacyClient, world: World, opened: Opened, how: str
) -> None:
    first = opened(resuming)
    error = json.dumps({"code": 4001, "message": "Not on a Sunday."})
    if how == "well":
        world.succeed(only_task(world), OUTPUT)
    else:
        world.fail(only_task(world), "Stepwire.ProtocolError", error)
    last = resumed(resuming, first)
    assert last.is_answered

    again = resumed(resuming, last)

    assert (again.status, again.code) == (405, -32600)


# ------------------------------------------------------------------------------------------------- given up by clients


# L15, M9
def test_cancelling_a_plain_call_stops_its_task_and_ends_its_stream(resuming: LegacyClient, world: World) -> None:
    first = OPENED["a plain call"](resuming)
    task_id = only_task(world)

    told = resuming.notify("notifications/cancelled", {"requestId": "r", "reason": "60 seconds are over"})

    assert (told.status, told.response.body) == (202, "")
    ended = resumed(
        resuming, first
    )  # with an error in a 200, because the Go SDK closes its session on any other status
    assert (ended.status, ended.code) == (200, -31005)
    assert resumed(resuming, ended).status == 405
    assert resuming.task("get", task_id).result["status"] == "cancelled"
    assert world.workflows.running() == ()


# L15: for a task, tasks/cancel must be used
def test_cancelling_tasks_result_ends_its_stream_and_not_the_task(resuming: LegacyClient, world: World) -> None:
    first = OPENED["the result of a task"](resuming)
    task_id = only_task(world)
    other = resuming.task("result", task_id, message_id="another")

    resuming.notify("notifications/cancelled", {"requestId": "r"})

    assert resumed(resuming, first).code == -31005
    assert can_be_resumed(resumed(resuming, other))
    assert resuming.task("get", task_id).result["status"] == "working"
    assert world.workflows.stops == []


# L15: invalid ones are ignored
@pytest.mark.parametrize(
    "params", [{}, {"requestId": None}, {"requestId": True}, {"requestId": ["r"]}, {"requestId": 1}]
)
def test_a_cancellation_without_a_request_id_is_ignored(
    resuming: LegacyClient, world: World, opened: Opened, params: dict[str, Any]
) -> None:
    first = opened(resuming)

    told = resuming.notify("notifications/cancelled", params)

    assert told.status == 202
    assert can_be_resumed(resumed(resuming, first))
    assert world.workflows.stops == []


# L15, L13: ids of different types are different
def test_a_cancellation_of_the_number_1_does_not_cancel_the_request_with_the_text_1(
    resuming: LegacyClient, world: World
) -> None:
    first = resuming.call("optional", message_id="1")

    resuming.notify("notifications/cancelled", {"requestId": 1})

    assert can_be_resumed(resumed(resuming, first))
    assert world.workflows.stops == []


# L11, L15, T24
@pytest.mark.parametrize("who", ["somebody else", "another session", "no session"])
def test_a_cancellation_from_another_session_cancels_nothing(
    resuming: LegacyClient, world: World, opened: Opened, who: str
) -> None:
    first = opened(resuming)
    others = {
        "somebody else": LegacyClient(world, owner=BOB, session=resuming.session),
        "another session": LegacyClient.opened(world, capabilities=ASKING_CAPABILITY),
        "no session": LegacyClient(world),
    }

    told = others[who].notify("notifications/cancelled", {"requestId": "r"})

    assert told.status == 202
    assert can_be_resumed(resumed(resuming, first))
    assert world.workflows.stops == []


# L15
def test_a_cancellation_after_the_end_changes_nothing(resuming: LegacyClient, world: World) -> None:
    OPENED["a plain call"](resuming)
    task_id = only_task(world)
    world.succeed(task_id, OUTPUT)

    resuming.notify("notifications/cancelled", {"requestId": "r"})

    assert resuming.task("get", task_id).result["status"] == "completed"
    assert world.workflows.stops == []


# -------------------------------------------------------------------------------------------------- tasks that are gone


# T13, T17, L8: only an error for the request ends the stream
@pytest.mark.parametrize("why", ["foreign", "expired", "lost"])
@pytest.mark.parametrize("message_id", ["r", 7, "7", 0, ""])
def test_a_stream_of_an_unknown_task_ends_with_an_error_for_its_request(
    resuming: LegacyClient, world: World, why: str, message_id: str | int
) -> None:
    task_id = resuming.start()
    first = resuming.task("result", task_id, message_id=message_id)
    client = LegacyClient.opened(world, owner=BOB) if why == "foreign" else resuming
    if why == "expired":
        world.clock.advance(hours=1)
    if why == "lost":
        world.store.tasks.clear()

    answer = client.resume(first.last_event_id, opened_by=first.request)

    assert can_be_resumed(answer)
    assert answer.code == -32602
    assert (type(answer.body["id"]), answer.body["id"]) == (type(message_id), message_id)
    assert client.resume(answer.last_event_id, opened_by=first.request).status == 405


# ---------------------------------------------------------------------------------------------------- what breaks here


# L8
def test_a_stream_can_be_resumed_while_the_store_is_unavailable(
    resuming: LegacyClient, world: World, opened: Opened
) -> None:
    first = opened(resuming)
    world.store.is_available = False

    second = resumed(resuming, first)
    third = resumed(resuming, second)
    world.store.is_available = True
    world.succeed(only_task(world), OUTPUT)
    fourth = resumed(resuming, third)

    assert can_be_resumed(second)
    assert can_be_resumed(third)
    assert second.messages == third.messages == []
    assert len({second.last_event_id, third.last_event_id}) == 2
    assert fourth.result["structuredContent"] == OUTPUT
    assert [type(trouble) for trouble in world.troubles] == [StoreBusy] * 2


# L8
def test_a_stream_can_be_resumed_after_the_store_failed_during_the_wait() -> None:
    world = World(patience=Patience(resuming_request=timedelta(seconds=10)))
    client = LegacyClient.opened(world)
    task_id = client.call("optional", task={}, progress_token="t").id_in("task")
    first = client.task("result", task_id)

    def break_down() -> None:
        world.progress(task_id, 10)
        world.store.is_available = False

    world.clock.on_sleep = break_down
    second = client.resume(first.last_event_id, opened_by=first.request)
    world.clock.on_sleep = lambda: None
    world.store.is_available = True
    third = client.resume(second.last_event_id, opened_by=first.request)

    assert can_be_resumed(second)
    assert second.messages == []
    assert [message["method"] for message in third.messages] == ["notifications/tasks/status", "notifications/progress"]


# L8, T6: the workflow has started, and an error would make the client start it again
def test_a_plain_call_becomes_a_stream_if_the_store_fails_during_the_wait(resuming: LegacyClient, world: World) -> None:
    world.store.is_available = False

    first = resuming.call("optional")
    world.store.is_available = True
    world.succeed(only_task(world), OUTPUT)
    second = resumed(resuming, first)

    assert can_be_resumed(first)
    assert second.result["structuredContent"] == OUTPUT
    assert len(world.workflows.starts) == 1


# L8, T14
def test_a_stream_can_be_resumed_while_its_result_cannot_be_fetched(
    resuming: LegacyClient, world: World, opened: Opened
) -> None:
    output = {"text": "a" * LARGE}
    first = opened(resuming)
    world.succeed(only_task(world), output)
    world.store.serves_parts = False

    second = resumed(resuming, first)
    world.store.serves_parts = True
    third = resumed(resuming, second)

    assert can_be_resumed(second)
    assert not second.is_answered
    assert third.result["structuredContent"] == output
    assert [type(trouble) for trouble in world.troubles] == [StoreBusy]


# T14: also if the result was ready before the request
def test_tasks_result_is_a_stream_while_the_result_cannot_be_fetched(resuming: LegacyClient, world: World) -> None:
    output = {"text": "a" * LARGE}
    task_id = resuming.start()
    world.succeed(task_id, output)
    world.store.serves_parts = False

    first = resuming.task("result", task_id)
    world.store.serves_parts = True
    second = resumed(resuming, first)

    assert can_be_resumed(first)
    assert second.result["structuredContent"] == output


# L8
def test_a_stream_can_be_resumed_while_step_functions_is_unavailable(
    resuming: LegacyClient, world: World, opened: Opened
) -> None:
    first = opened(resuming)
    world.workflows.is_available = False
    world.clock.advance(seconds=45)

    second = resumed(resuming, first)

    assert can_be_resumed(second)
    assert second.messages == []


# L6: an answer that could not be recorded does not count
def test_an_answer_that_could_not_be_recorded_can_be_sent_again() -> None:
    world = World()
    client = LegacyClient.opened(world, capabilities=ASKING_CAPABILITY)
    task_id = client.start()
    world.ask(task_id)
    (asked,) = questions(client.task("result", task_id).messages)

    world.store.is_available = False
    failed = client.respond(asked, result={"action": "decline"})
    world.store.is_available = True
    taken = client.respond(asked, result={"action": "decline"})

    assert (failed.status, failed.code) == (503, -32603)
    assert [type(fault) for fault in world.faults] == [StoreBusy]
    assert taken.status == 202
    assert answers_of(world) == {"token of approval": {"action": "decline"}}
