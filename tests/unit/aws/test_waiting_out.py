"""The functions for which no client waits wait out the weather of AWS, as long as their invocation lasts."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from botocore.exceptions import ClientError

from stepwire.aws.background_functions import ExecutionEventsHandler, InputRequestsHandler
from stepwire.aws.step_functions import execution_arn_of
from stepwire.errors import NotRecorded
from stepwire.tasks.ids import TaskKey
from stepwire.tasks.task import Task
from tests.kits import FORM, OUTPUT, World
from tests.stormy import Stormy

TOKEN = "a token"


@dataclass
class Invocation:
    """The context of an invocation, of which so much is left."""

    seconds: float = 120

    def get_remaining_time_in_millis(self) -> int:
        return int(self.seconds * 1000)


@pytest.fixture
def store() -> Stormy:
    return Stormy()


@pytest.fixture
def world(store: Stormy) -> World:
    world = World(store=store)
    store.clock = world.clock
    return world


def asking(world: World) -> tuple[InputRequestsHandler, dict[str, Any], Task]:
    """Return the function, and the event with which the workflow of a new task asks."""
    handler, task = InputRequestsHandler(), world.call()
    vars(handler)["_requests"] = world.requests
    world.workflows.waiting.add(TOKEN)
    event = {"execution_arn": execution_arn_of(task.execution), "task_token": TOKEN, "key": "approval"}
    return handler, {**event, "elicitation": FORM}, task


def test_a_question_is_recorded_when_the_weather_is_over(world: World, store: Stormy) -> None:
    handler, event, task = asking(world)
    store.busy = 10

    handler(event, Invocation())

    assert [one.key for one in world.stored(task).input_requests] == ["approval"]
    assert sum(world.clock.slept) == 1 + 2 + 4 + 7 * 5


def test_a_question_that_cannot_be_recorded_in_time_fails_its_state_in_our_words(
    world: World, store: Stormy, caplog: pytest.LogCaptureFixture
) -> None:
    handler, event, _ = asking(world)
    store.busy = 999

    handler(event, Invocation())

    (failure,) = world.workflows.resumptions
    assert (failure.error, failure.cause) == (
        "Stepwire.NotRecorded",
        "The question could not be recorded now. A Retry of the state asks it again.",
    )
    assert {record.levelname for record in caplog.records} == {"WARNING"}


def test_without_step_functions_too_the_state_fails_with_the_same_error(world: World, store: Stormy) -> None:
    handler, event, _ = asking(world)
    store.busy, world.workflows.is_available = 999, False

    with pytest.raises(NotRecorded) as raised:
        handler(event, Invocation())

    assert raised.type.__name__ == "Stepwire.NotRecorded"


def test_a_fault_that_does_not_pass_reaches_the_state_without_the_words_of_aws(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler, event, _ = asking(world)

    def denied(key: TaskKey) -> Task | None:
        raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": f"arn:aws {key}"}}, "GetItem")

    monkeypatch.setattr(world.store, "load", denied)

    with pytest.raises(NotRecorded, match="could not be recorded now") as raised:
        handler(event, Invocation())

    assert raised.value.__cause__ is None
    assert world.clock.slept == []


def test_the_end_of_an_execution_is_recorded_when_the_weather_is_over(world: World, store: Stormy) -> None:
    handler, task = ExecutionEventsHandler(), world.call()
    vars(handler)["_events"] = world.events
    named = {"stateMachineArn": task.execution.state_machine_arn, "name": task.execution.name}
    detail = {**named, "status": "SUCCEEDED", "output": json.dumps(OUTPUT)}
    event = {"source": "aws.states", "detail-type": "Step Functions Execution Status Change", "detail": detail}
    store.busy = 3

    handler(event, Invocation(30))

    assert world.stored(task).has_ended
