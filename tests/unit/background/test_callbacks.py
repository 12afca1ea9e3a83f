"""The events of states that ask a question: read from the sample event, and recorded in their task."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from stepwire.aws.workflow_events import question_of
from stepwire.tasks.inputs import Callback, FormElicitation
from tests.fakes import START_OF_TIME
from tests.kits import OPTIONAL, World, plan_of, state_machine_arn
from tests.recorded import recorded

WAIT_AND_ECHO = replace(OPTIONAL, name="wait_and_echo", plan=plan_of(state_machine_arn("WaitAndEcho")))


def test_the_sample_event_has_the_execution_the_question_and_the_timeout() -> None:
    event = recorded("input_requested")

    question = question_of(event)

    assert question.execution == World().call(WAIT_AND_ECHO).execution
    assert (question.token, question.key) == (event["task_token"], "approval")
    assert question.elicitation == event["elicitation"]
    assert question.timeout_seconds == 86_400


def test_the_sample_event_adds_a_question_to_its_task() -> None:
    world = World()
    task = world.call(WAIT_AND_ECHO)

    world.requests.record(question_of(recorded("input_requested")))

    (request,) = world.stored(task).input_requests
    assert isinstance(request.asked, FormElicitation)
    assert request.asked.message == "Refund 250.00 EUR for order 1001 (a chair)?"
    assert request.destination == Callback(recorded("input_requested")["task_token"])
    assert request.expires_at == START_OF_TIME + timedelta(days=1)


@pytest.mark.parametrize("seconds", [0, -1, True, "soon", "90", 1e300, 31_622_401, [], {}])
def test_an_invalid_timeout_fails_the_state(seconds: Any) -> None:
    world = World()
    task = world.call()
    event = {**recorded("input_requested"), "timeout_seconds": seconds}
    question = replace(question_of(event), execution=task.execution)
    world.workflows.waiting.add(question.token)

    world.requests.record(question)

    (broken,) = world.workflows.resumptions
    assert broken.error == "Stepwire.InvalidInputRequest"
    assert "timeout_seconds" in (broken.cause or "")


def test_optional_fields_may_be_missing() -> None:
    event = recorded("input_requested")
    for name in ("timeout_seconds", "key", "elicitation"):
        del event[name]

    question = question_of(event)

    assert (question.timeout_seconds, question.key, question.elicitation) == (None, None, None)


@pytest.mark.parametrize("name", ["execution_arn", "task_token"])
def test_an_event_without_a_token_or_execution_is_refused(name: str) -> None:
    event = recorded("input_requested")
    del event[name]

    with pytest.raises(KeyError):
        question_of(event)
