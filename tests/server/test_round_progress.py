"""Progress of a modern plain call: sent once, over all rounds of the call (MRTR)."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.kits import OUTPUT, World
from tests.server.answers import Json
from tests.server.clients import (
    ModernClient,
)
from tests.server.messages import again, of, on_sleep, only_task, progress_of

# ------------------------------------------------------------------------------------------------------------ progress


def steps(world: World, last: int, *, ends: bool) -> Callable[[], None]:
    """Report one step of progress in each sleep, and end the execution after the last."""

    def step() -> None:
        number = len(world.clock.slept)
        if number <= last:
            world.progress(only_task(world), number, last, f"step {number}")
        elif ends and world.workflows.running():
            world.succeed(only_task(world), OUTPUT)

    return step


# M42, M8, M7
@pytest.mark.parametrize("token", ["t", 7, 0, ""])
def test_progress_is_sent_before_the_result_in_one_sse_body(
    plain: ModernClient, world: World, token: str | int
) -> None:
    world.clock.on_sleep = steps(world, 3, ends=True)

    answer = plain.call("optional", progress_token=token)

    assert answer.is_stream
    assert of(answer.messages, "notifications/progress") == [
        {"progressToken": token, "progress": number, "total": 3, "message": f"step {number}"} for number in (1, 2, 3)
    ]
    assert answer.result["structuredContent"] == OUTPUT
    assert answer.response.headers["x-accel-buffering"] == "no"


# M42, M43
def test_progress_is_sent_before_a_round_that_asks_for_another_call(plain: ModernClient, world: World) -> None:
    world.clock.on_sleep = steps(world, 3, ends=False)
    first = plain.call("optional", progress_token="a")
    world.progress(only_task(world), 4, 4)

    second = again(plain, first, progress_token="b")

    assert progress_of(first.messages) == [1, 2, 3]
    assert first.result["resultType"] == second.result["resultType"] == "input_required"
    assert [params["progressToken"] for params in of(second.messages, "notifications/progress")] == ["b"]


# M42: progress that was sent in one round is not sent again in the next
def test_progress_is_sent_once_over_all_rounds(plain: ModernClient, world: World) -> None:
    world.clock.on_sleep = steps(world, 3, ends=False)
    first = plain.call("optional", progress_token="a")

    second = again(plain, first, progress_token="b")
    world.progress(only_task(world), 4, 4)
    third = again(plain, second, progress_token="c")

    assert (progress_of(first.messages), second.is_stream, progress_of(third.messages)) == ([1, 2, 3], False, [4])


# M42, M7
@pytest.mark.parametrize(
    ("token", "accept"), [(None, "application/json, text/event-stream"), ("t", "application/json"), (1.5, "*/*")]
)
def test_no_progress_is_sent_to_a_client_without_a_token_or_without_events(
    plain: ModernClient, world: World, token: Any, accept: str
) -> None:
    world.clock.on_sleep = steps(world, 3, ends=True)

    params: Json = {"name": "optional", "arguments": {"text": "hello"}}
    answer = plain.ask("tools/call", params, meta={"progressToken": token}, headers={"accept": accept})

    assert not answer.is_stream
    assert answer.result["structuredContent"] == OUTPUT


# M7, M42
def test_a_round_without_progress_is_answered_in_json(plain: ModernClient, world: World) -> None:
    on_sleep(world, 1, lambda: world.succeed(only_task(world), OUTPUT))

    answer = plain.call("optional", progress_token="t")

    assert not answer.is_stream


# M42, X22: a task shows its progress in the status message
def test_no_progress_is_sent_if_the_call_is_a_task(modern: ModernClient, world: World) -> None:
    answer = modern.call("optional", progress_token="t")
    world.progress(answer.id_in(), 1, 4)

    found = modern.task("get", answer.id_in()).result

    assert not answer.is_stream
    assert found["statusMessage"] == "25%"
