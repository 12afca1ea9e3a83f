"""What a stream carries besides the result: progress, status changes and resent messages, each sent once."""

from typing import Any

import pytest

from tests.kits import OUTPUT, World
from tests.server.clients import RELATED_TASK, LegacyClient
from tests.server.messages import of, only_task, plain_call, progress_of

# ------------------------------------------------------------------------------------------------------------ progress


# T32, M42
@pytest.mark.parametrize("token", ["a token", 7, 0, "", "7"])
def test_progress_is_sent_in_order_with_the_token_of_the_call(
    resuming: LegacyClient, world: World, token: str | int
) -> None:
    first, task_id = plain_call(resuming, progress_token=token)
    world.progress(task_id, 10, 80, "one in eight")

    def move(messages: Any) -> None:
        if progress_of(messages) == [10]:
            world.progress(task_id, 40, 80)
        else:
            world.succeed(task_id, OUTPUT)

    messages = resuming.follow(first, between=lambda told: move(told) if told else None)

    told = of(messages, "notifications/progress")
    assert [params["progress"] for params in told] == [10, 40]
    assert told[0] == {"progressToken": token, "progress": 10, "total": 80, "message": "one in eight"}
    assert {(type(params["progressToken"]), params["progressToken"]) for params in told} == {(type(token), token)}
    assert messages[-1]["result"]["structuredContent"] == OUTPUT


# T32
@pytest.mark.parametrize("token", [None, 1.5, True, {}, [], "x" * 257])
def test_no_progress_is_sent_without_a_token(resuming: LegacyClient, world: World, token: Any) -> None:
    first, task_id = plain_call(resuming, progress_token=token)
    world.progress(task_id, 10)

    second = resuming.resume(first.last_event_id, opened_by=first.request)

    assert second.messages == []


# T32: progress made before the first body is sent in it
def test_progress_and_the_result_may_come_in_one_body(resuming: LegacyClient, world: World) -> None:
    def move() -> None:
        task_id = only_task(world)
        world.progress(task_id, len(world.clock.slept) * 25)
        if len(world.clock.slept) == 4:
            world.succeed(task_id, OUTPUT)
            world.clock.on_sleep = lambda: None

    world.clock.on_sleep = move

    answer = resuming.call("optional", progress_token="t")

    assert answer.is_stream
    assert progress_of(answer.messages) == [25, 50, 75, 100]
    assert answer.result["structuredContent"] == OUTPUT


# T29, T32: the token of the call is used on the stream of its task too
def test_progress_on_the_stream_of_a_result_names_the_task(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.call("optional", task={}, progress_token="t").id_in("task")
    world.progress(task_id, 10, 80)

    messages = resuming.task("result", task_id).messages

    (params,) = of(messages, "notifications/progress")
    assert params == {
        "progressToken": "t",
        "progress": 10,
        "total": 80,
        "_meta": {RELATED_TASK: {"taskId": task_id}},
    }


# T32: no progress after a terminal status
def test_no_progress_is_sent_of_a_task_that_has_ended(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.call("optional", task={}, progress_token="t").id_in("task")
    first = resuming.task("result", task_id)
    world.progress(task_id, 10)
    world.succeed(task_id, OUTPUT)

    messages = resuming.follow(first)

    assert [message.get("method") for message in messages] == [None]


# L8: a lost body loses no message
@pytest.mark.parametrize("token", ["t", None])
def test_messages_are_sent_again_only_after_a_body_was_lost(
    resuming: LegacyClient, world: World, token: str | None
) -> None:
    task_id = resuming.call("optional", task={}, progress_token=token).id_in("task")
    first = resuming.task("result", task_id)
    world.clock.advance(seconds=5)
    world.progress(task_id, 10, message="a tenth")

    lost = resuming.resume(first.last_event_id, opened_by=first.request)
    again = resuming.resume(first.last_event_id, opened_by=first.request)
    further = resuming.resume(again.last_event_id, opened_by=first.request)

    assert lost.messages
    assert again.messages == lost.messages
    assert further.messages == []


# L8
def test_a_client_may_resume_from_any_event_of_a_body(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.call("optional", task={}, progress_token="t").id_in("task")
    first = resuming.task("result", task_id)
    world.clock.advance(seconds=5)
    world.progress(task_id, 10)
    world.ask(task_id)
    body = resuming.resume(first.last_event_id, opened_by=first.request)

    left = [resuming.resume(event_id, opened_by=first.request).messages for event_id in body.event_ids]

    assert [message["method"] for message in body.messages] == [
        "notifications/tasks/status",
        "notifications/progress",
        "elicitation/create",
    ]
    assert left == [body.messages[taken:] for taken in range(4)]


# -------------------------------------------------------------------------------------------------------------- status


# T31, T29
def test_a_change_of_a_task_is_sent_once_on_the_stream_of_its_result(resuming: LegacyClient, world: World) -> None:
    task_id = resuming.start()
    first = resuming.task("result", task_id)
    world.clock.advance(seconds=5)
    world.progress(task_id, 10, message="a tenth")
    shown = resuming.task("get", task_id).result

    second = resuming.resume(first.last_event_id, opened_by=first.request)
    third = resuming.resume(second.last_event_id, opened_by=first.request)

    assert of(second.messages, "notifications/tasks/status") == [shown]
    assert shown["statusMessage"] == "10%: a tenth"
    assert third.messages == []


# T31: the client of a plain call does not know its task
def test_no_status_of_a_task_is_sent_on_the_stream_of_a_plain_call(resuming: LegacyClient, world: World) -> None:
    first, task_id = plain_call(resuming)
    world.clock.advance(seconds=5)
    world.progress(task_id, 10, message="a tenth")

    messages = resuming.follow(first, between=lambda told: None, limit=3)

    assert messages == []
