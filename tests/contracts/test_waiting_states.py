"""The contract of Workflows for answers to waiting states, for the fake and for simulated Step Functions."""

from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

import pytest

from packages.local.tests.simulated import Account, waiting_for_a_token
from stepwire.aws.clients import step_functions_client
from stepwire.aws.step_functions import StepFunctionsWorkflows
from stepwire.engine.ports import Workflows
from stepwire.json_text import Json, parse, write
from stepwire.tasks.events import StateEntered
from stepwire.tasks.ids import RANDOM_BYTES, TaskKey, execution_name_of, new_task_id
from stepwire.tasks.outcomes import ExecutionFailed, ExecutionState, Running, Succeeded
from stepwire.tasks.task import Execution
from tests.fake_workflows import FakeWorkflows
from tests.fakes import START_OF_TIME, FixedClock
from tests.kits import ALICE, state_machine_arn
from tests.model.handlers import Boundary
from tests.simulated.step_functions import OneStateThatWaits
from tests.waiting import until

ANSWER = '{"action":"accept","content":{"note":"grüße","amount":1.5}}'
_numbers = count(1)


def an_execution(machine: str) -> Execution:
    """Return an execution with a name as that of a task."""
    random = next(_numbers).to_bytes(RANDOM_BYTES, "big")
    return Execution(machine, execution_name_of(TaskKey(ALICE, new_task_id(START_OF_TIME, random)), "sw-"))


class Place(Protocol):
    """One execution that waits in its state S0, whose answer is its output."""

    @property
    def workflows(self) -> Workflows:
        """The port."""
        ...

    def waiting(self) -> tuple[Execution, str]:
        """Start an execution; return the token with which it waits."""
        ...

    def settle(self, execution: Execution) -> ExecutionState:
        """Let an execution run until it has ended; return its end."""
        ...


@dataclass
class Fake:
    """The fake; the test does what the state does with its answer."""

    workflows: FakeWorkflows = field(default_factory=FakeWorkflows)

    def waiting(self) -> tuple[Execution, str]:
        execution = an_execution(state_machine_arn("Waits"))
        self.workflows.start(execution, "{}")
        self.workflows.current_states[execution] = "S0"
        self.workflows.waiting.add("a token")
        return execution, "a token"

    def settle(self, execution: Execution) -> ExecutionState:
        if execution in self.workflows.running():
            (got,) = self.workflows.resumptions
            broke = ExecutionFailed(got.error or "", got.cause or "")
            self.workflows.end(execution, broke if got.output is None else Succeeded(got.output))
        return self.workflows.describe(execution)


class StepFunctions:
    """Simulated Step Functions, where executions run in their own threads."""

    def __init__(self) -> None:
        self.workflows = StepFunctionsWorkflows(step_functions_client)
        self.account = Account()

    def waiting(self) -> tuple[Execution, str]:
        queue = self.account.queue()
        execution = an_execution(self.account.machine(waiting_for_a_token(queue)))
        self.workflows.start(execution, "{}")
        (message,) = self.account.messages(queue)
        return execution, message["token"]

    def settle(self, execution: Execution) -> ExecutionState:
        def look() -> ExecutionState | None:
            state = self.workflows.describe(execution)
            return None if state == Running() else state

        ended = until(look)
        assert ended is not None
        return ended


class ControlledStepFunctions:
    """The Step Functions that a test controls, behind the same API: an answer ends the execution at once."""

    def __init__(self) -> None:
        boundary, self._world = Boundary(), OneStateThatWaits(FixedClock())
        boundary.answer_for_step_functions = self._world.answer
        self.workflows = StepFunctionsWorkflows(lambda: boundary.step_functions)

    def waiting(self) -> tuple[Execution, str]:
        execution = an_execution(state_machine_arn("Waits"))
        self.workflows.start(execution, "{}")
        (token,) = self._world.states
        return execution, token

    def settle(self, execution: Execution) -> ExecutionState:
        return self.workflows.describe(execution)


@pytest.fixture(params=[Fake, StepFunctions, ControlledStepFunctions])
def place(request: pytest.FixtureRequest, aws: None) -> Place:
    build: Any = request.param
    return build()


def output_of(state: ExecutionState) -> Json:
    """Return the output of an execution."""
    assert isinstance(state, Succeeded)
    return parse(state.output or "null")


# --------------------------------------------------------------------------------------------------------------- state

with_history = pytest.mark.parametrize("place", [Fake, StepFunctions], indirect=True)


@with_history
def test_the_current_state_is_the_one_entered_last(place: Place) -> None:
    execution, token = place.waiting()

    assert place.workflows.current_state(execution) == StateEntered("S0", passed=("S0",))
    place.workflows.complete_callback(token, "{}")


@with_history
@pytest.mark.parametrize("how", ["answered", "stopped"])
def test_an_ended_execution_has_no_current_state(how: str, place: Place) -> None:
    execution, token = place.waiting()
    if how == "answered":
        place.workflows.complete_callback(token, "{}")
        place.settle(execution)
    else:
        place.workflows.stop(execution, "Cancelled by the caller.")

    assert until(lambda: place.workflows.current_state(execution) is None)  # the history lags a little behind


@with_history
def test_an_execution_that_never_started_has_no_current_state(place: Place) -> None:
    execution, token = place.waiting()
    other = Execution(execution.state_machine_arn, an_execution("").name)

    assert place.workflows.current_state(other) is None
    place.workflows.complete_callback(token, "{}")


# -------------------------------------------------------------------------------------------------------------- answers


def test_a_state_continues_with_its_answer(place: Place) -> None:
    """T29."""
    execution, token = place.waiting()

    place.workflows.complete_callback(token, ANSWER)

    assert write(output_of(place.settle(execution))) == ANSWER


def test_a_state_fails_with_the_given_error_name(place: Place) -> None:
    """T29."""
    execution, token = place.waiting()

    place.workflows.fail_callback(token, "Stepwire.InputNotSupported", "The client cannot ask its user.")

    ended = place.settle(execution)
    assert ended == ExecutionFailed("Stepwire.InputNotSupported", "The client cannot ask its user.")


def test_of_two_answers_the_first_counts(place: Place) -> None:
    """X16."""
    execution, token = place.waiting()
    place.workflows.complete_callback(token, ANSWER)

    place.workflows.complete_callback(token, '{"action":"decline"}')
    place.workflows.fail_callback(token, "Some.Error", "too late")

    assert write(output_of(place.settle(execution))) == ANSWER


@pytest.mark.parametrize("how", ["answered", "stopped"])
def test_an_answer_to_an_ended_execution_is_ignored(how: str, place: Place) -> None:
    execution, token = place.waiting()
    if how == "answered":
        place.workflows.complete_callback(token, ANSWER)
        place.settle(execution)
    else:
        place.workflows.stop(execution, "Cancelled by the caller.")
    ended = place.workflows.describe(execution)

    place.workflows.complete_callback(token, "{}")
    place.workflows.fail_callback(token, "Some.Error", "too late")

    assert place.workflows.describe(execution) == ended


def test_an_answer_to_an_unknown_token_is_ignored(place: Place) -> None:
    place.workflows.complete_callback("nobody's token", "{}")
    place.workflows.fail_callback("nobody's token", "Some.Error", "why")
