"""RedriveExecution: recorded answers, and the fakes that stand for it. The local stack's engine does not have it."""

from collections.abc import Callable
from typing import Any

import pytest

from stepwire.aws.step_functions import StepFunctionsWorkflows, execution_arn_of, state_of
from stepwire.engine.ports import Workflows
from stepwire.errors import KeyDenied, RedriveRefused, RoleDenied, WorkflowsThrottled, WorkflowsUnavailable
from stepwire.tasks.outcomes import Aborted, ExecutionFailed, Running, TimedOut
from stepwire.tasks.task import Execution
from tests.contracts.step_functions_wire import EXECUTION, READ_TIMEOUT, Wire, refusal
from tests.fake_workflows import FakeWorkflows
from tests.fakes import FixedClock
from tests.model.handlers import Boundary
from tests.recorded import recorded
from tests.simulated.step_functions import StepFunctions

DONE = (200, {"redriveDate": 1785585602.75})


def test_a_redrive_sends_the_execution_and_its_token_also_when_a_response_was_lost() -> None:
    wire = Wire([READ_TIMEOUT, DONE])

    wire.workflows().redrive(EXECUTION, "a-task-1-1")

    assert wire.asked == [{"executionArn": execution_arn_of(EXECUTION), "clientToken": "a-task-1-1"}] * 2


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (refusal("ExecutionNotRedrivable"), RedriveRefused),
        (refusal("ExecutionDoesNotExist"), RedriveRefused),
        (refusal("ValidationException"), RedriveRefused),
        (refusal("AccessDeniedException"), RedriveRefused),
        (refusal("ThrottlingException"), WorkflowsThrottled),
        (refusal("ExecutionLimitExceeded"), WorkflowsUnavailable),
        (refusal("KmsAccessDeniedException"), KeyDenied),
        (refusal("AccessDenied"), RoleDenied),
        (refusal("InternalFailure", 500), WorkflowsUnavailable),
        (READ_TIMEOUT, WorkflowsUnavailable),
    ],
)
def test_a_refusal_is_told_from_a_service_that_does_not_answer(answer: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Wire([answer]).workflows().redrive(EXECUTION, "a-task-1-1")


@pytest.mark.parametrize("kind", ["failed", "timed_out", "aborted"])
def test_an_end_says_how_often_it_was_redriven(kind: str) -> None:
    detail = recorded(f"execution_{kind}")["detail"]

    first, third = (state_of({**detail, "redriveCount": count}) for count in (None, 2))

    assert isinstance(first, ExecutionFailed | TimedOut | Aborted)
    assert isinstance(third, ExecutionFailed | TimedOut | Aborted)
    assert (first.redrives, third.redrives) == (0, 2)


def fake() -> tuple[Workflows, Callable[[Execution], None]]:
    workflows = FakeWorkflows()
    return workflows, workflows.fail


def moved() -> tuple[Workflows, Callable[[Execution], None]]:
    boundary, world = Boundary(), StepFunctions(FixedClock())
    boundary.answer_for_step_functions = world.answer
    failing = {"error": "Some.Error", "cause": "it broke"}
    workflows = StepFunctionsWorkflows(lambda: boundary.step_functions)
    return workflows, lambda execution: world.end(execution_arn_of(execution), "FAILED", failing)


@pytest.mark.parametrize("place", [fake, moved])
def test_a_failed_execution_goes_on_once_per_token(place: Any, aws: None) -> None:
    workflows, fail = place()
    workflows.start(EXECUTION, "{}")
    fail(EXECUTION)

    workflows.redrive(EXECUTION, "one")
    assert workflows.describe(EXECUTION) == Running()
    fail(EXECUTION)
    workflows.redrive(EXECUTION, "one")

    ended = workflows.describe(EXECUTION)
    assert isinstance(ended, ExecutionFailed)
    assert ended.redrives == 1


@pytest.mark.parametrize("place", [fake, moved])
def test_an_execution_that_runs_or_is_not_there_is_not_redriven(place: Any, aws: None) -> None:
    workflows, _ = place()
    with pytest.raises(RedriveRefused):
        workflows.redrive(EXECUTION, "one")
    workflows.start(EXECUTION, "{}")

    with pytest.raises(RedriveRefused):
        workflows.redrive(EXECUTION, "one")
