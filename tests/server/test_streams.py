"""SSE polling: a response that is not complete begins as a short body, and the client resumes it to get the rest."""

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwire.json_text import LARGEST_INTEGER
from stepwire.server.services import Patience
from tests.kits import OUTPUT, World
from tests.server.clients import RELATED_TASK, LegacyClient, ModernClient
from tests.server.messages import only_task, plain_call, progress_of
from tests.wire_oracle import StreamJudge

PROTOCOL_ERROR = json.dumps({"code": -31_990, "message": "Not on a Sunday.", "data": {"day": "Sunday"}})
MOST_POLLS = 959  # polls of one request; mcp 1.30 fails at the next one


def end(client: LegacyClient, world: World, task_id: str, how: str) -> None:
    """Let a task end in one of the possible ways."""
    match how:
        case "well":
            world.succeed(task_id, OUTPUT)
        case "badly":
            world.fail(task_id)
        case "with an error of the protocol":
            world.fail(task_id, "Stepwire.ProtocolError", PROTOCOL_ERROR)
        case _:
            client.task("cancel", task_id)


ENDS = ("well", "badly", "with an error of the protocol", "cancelled")


# ------------------------------------------------------------------------------------------------ the result of a task


# L8, T15, M8, K8
def test_a_result_that_is_not_ready_begins_as_a_stream(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.start()

    answer = resuming.task("result", task_id)

    assert (answer.status, answer.is_stream, answer.messages) == (200, True, [])
    assert answer.response.body.startswith("retry: 500\n\nid: ")
    assert answer.response.headers["cache-control"] == "no-store"
    assert answer.response.headers["x-accel-buffering"] == "no"
    assert world.clock.slept == []


# L8, T14, T16, T29
@pytest.mark.parametrize("how", ENDS)
def test_the_stream_of_a_task_ends_with_its_result(resuming: LegacyClient, world: World, how: str) -> None:
    task_id = resuming.start()
    first = resuming.task("result", task_id)

    messages = resuming.follow(first, between=lambda _: end(resuming, world, task_id, how))

    assert messages == [resuming.task("result", task_id).body]
    assert LegacyClient(world).task("result", task_id).body == messages[-1]


# T14, T16
@pytest.mark.parametrize("how", ENDS)
def test_the_result_of_an_ended_task_is_sent_at_once_in_json(resuming: LegacyClient, world: World, how: str) -> None:
    task_id = resuming.start()
    end(resuming, world, task_id, how)

    answer = resuming.task("result", task_id)

    assert not answer.is_stream
    assert (answer.status, world.clock.slept) == (200, [])


# T17, T34: an error is sent without a stream
@pytest.mark.parametrize("task_id", ["0" * 36, "nonsense", None])
def test_the_result_of_an_unknown_task_is_an_error_in_json(resuming: LegacyClient, task_id: str | None) -> None:
    answer = resuming.task("result", task_id)

    assert (answer.status, answer.is_stream, answer.code) == (200, False, -32602)


# T15, T30
def test_the_stream_of_a_task_that_waits_for_its_user_can_be_resumed(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.start()
    world.ask(task_id)

    first = resuming.task("result", task_id)
    second = resuming.resume(first.last_event_id, opened_by=first.request)

    assert [message["method"] for message in first.messages] == ["elicitation/create"]
    assert (second.status, second.messages) == (200, [])


# M25, L13: the client finds its response by the id, whatever that is
@given(st.text(max_size=256) | st.integers(-LARGEST_INTEGER, LARGEST_INTEGER))
def test_the_response_has_the_id_of_the_request_that_opened_the_stream(message_id: str | int) -> None:
    world = World()
    client = LegacyClient.opened(world)
    first = client.task("result", client.start(), message_id=message_id)
    world.succeed(only_task(world), OUTPUT)

    (response,) = client.follow(first, limit=2)

    assert (type(response["id"]), response["id"]) == (type(message_id), message_id)


# L13: JSON needs six characters for each character of this id
@pytest.mark.parametrize("message_id", ["\x01" * 256, "\u2028" * 256, "\U0010ffff" * 256, '"' * 256])
def test_the_longest_request_id_fits_into_an_event_id(resuming: LegacyClient, message_id: str) -> None:
    first = resuming.task("result", resuming.start(), message_id=message_id)

    second = resuming.resume(first.last_event_id, opened_by=first.request)

    assert (second.status, second.is_stream) == (200, True)


# -------------------------------------------------------------------------------------------------- calls without task


# T6: a result that is ready soon is sent without a stream
def test_a_plain_call_that_ends_within_the_inline_wait_is_answered_in_json(
    resuming: LegacyClient, world: World
) -> None:
    world.clock.on_sleep = lambda: world.succeed(only_task(world), OUTPUT)

    answer = resuming.call("optional")

    assert not answer.is_stream
    assert answer.result["structuredContent"] == OUTPUT


# T6, L8, K8
@pytest.mark.parametrize("tool", ["optional", "forbidden", "structured"])
def test_a_plain_call_that_takes_longer_is_resumed_until_its_result(
    resuming: LegacyClient, world: World, tool: str
) -> None:
    first, task_id = plain_call(resuming, tool)
    assert (first.is_stream, first.messages) == (True, [])
    assert sum(world.clock.slept) == pytest.approx(2)

    (response,) = resuming.follow(first, between=lambda _: world.succeed(task_id, OUTPUT))

    assert response["result"]["structuredContent"] == OUTPUT
    assert RELATED_TASK not in response["result"].get("_meta", {})


# T6: however long it takes
def test_a_plain_call_with_progress_that_takes_an_hour_gets_its_result(resuming: LegacyClient, world: World) -> None:
    first, task_id = plain_call(resuming, progress_token="t")
    pauses: list[float] = []

    def wait(_: object) -> None:
        pauses.append(5)
        world.clock.advance(seconds=5)
        if sum(pauses) > 3_500:
            world.succeed(task_id, OUTPUT)

    *_, response = resuming.follow(first, between=wait, limit=MOST_POLLS)

    assert response["result"]["structuredContent"] == OUTPUT
    assert len(pauses) < MOST_POLLS


# T14, T18
def test_a_plain_call_gets_the_protocol_error_that_its_workflow_chose(resuming: LegacyClient, world: World) -> None:
    first, task_id = plain_call(resuming)

    (response,) = resuming.follow(
        first, between=lambda _: world.fail(task_id, "Stepwire.ProtocolError", PROTOCOL_ERROR)
    )

    assert response["error"] == json.loads(PROTOCOL_ERROR)


# T20: the task of a plain call belongs to the caller as any other
def test_cancelling_the_task_of_a_plain_call_ends_its_stream(resuming: LegacyClient, world: World) -> None:
    first, task_id = plain_call(resuming)

    (response,) = resuming.follow(first, between=lambda _: resuming.task("cancel", task_id))

    assert response["result"]["isError"] is True
    assert "cancelled" in response["result"]["content"][0]["text"]


# L3: each stream has only the response of its own request
def test_concurrent_streams_do_not_mix(resuming: LegacyClient, world: World) -> None:
    ids = [resuming.start() for _ in range(3)]
    firsts = [resuming.task("result", task_id, message_id=f"r{task_id}") for task_id in ids]
    for number, task_id in enumerate(ids):
        world.succeed(task_id, {"answer": number})

    lasts = [resuming.resume(one.last_event_id, opened_by=one.request) for one in reversed(firsts)]

    assert [last.result["structuredContent"]["answer"] for last in lasts] == [2, 1, 0]
    assert [last.body["id"] for last in lasts] == [f"r{task_id}" for task_id in reversed(ids)]


# --------------------------------------------------------------------------------------------------- pauses and holds


# L8: TypeScript SDK 1.32 waits at most 60 s, and mcp 1.30 fails after 959 polls
def test_the_retry_time_grows_and_allows_hours_of_polling(resuming: LegacyClient) -> None:
    first = resuming.task("result", resuming.start())
    judge, answer = StreamJudge(first.request), first
    judge.check(first.response.body)

    pauses = [first.retry_ms or 0]
    while len(pauses) < MOST_POLLS:
        answer = resuming.resume(answer.last_event_id, opened_by=first.request)
        pauses.append(answer.retry_ms or 0)

    assert pauses[:12] == [500, 625, 781, 977, 1_221, 1_526, 1_907, 2_384, 2_980, 3_725, 4_657, 5_000]
    assert pauses == sorted(pauses)
    assert pauses[-1] == 20_000
    assert sum(pauses) > 4 * 60 * 60 * 1_000


# L8
@pytest.mark.parametrize("happens", ["nothing", "the end", "a question", "progress"])
def test_a_client_that_resumes_is_held_until_there_is_news(happens: str) -> None:
    world = World(patience=Patience(resuming_request=timedelta(seconds=10)))
    client = LegacyClient.opened(world, capabilities={"elicitation": {}})
    task_id = client.call("optional", task={}, progress_token="t").id_in("task")
    first = client.task("result", task_id)
    world.clock.slept.clear()
    actions: dict[str, Any] = {
        "nothing": lambda: None,
        "the end": lambda: world.succeed(task_id, OUTPUT),
        "a question": lambda: world.ask(task_id),
        "progress": lambda: world.progress(task_id, len(world.clock.slept)),
    }
    world.clock.on_sleep = lambda: actions[happens]() if happens == "progress" or len(world.clock.slept) == 3 else None

    second = client.resume(first.last_event_id, opened_by=first.request)

    seen = [message.get("method") for message in second.messages]
    if happens in {"the end", "a question"}:
        assert len(world.clock.slept) == 3
        assert seen[-1] == (None if happens == "the end" else "elicitation/create")
    else:
        assert sum(world.clock.slept) == pytest.approx(10)
        assert progress_of(second.messages) == (list(range(1, len(world.clock.slept) + 1)) if seen else [])


# K8: a client of either era can wait for the same task
def test_a_legacy_client_can_wait_for_a_task_of_a_modern_client(
    resuming: LegacyClient, modern: ModernClient, world: World
) -> None:
    task_id = modern.start()

    (response,) = resuming.follow(resuming.task("result", task_id), between=lambda _: world.succeed(task_id, OUTPUT))

    assert response["result"]["structuredContent"] == modern.task("get", task_id).result["result"]["structuredContent"]
