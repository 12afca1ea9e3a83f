"""The contract of Workflows, for the fake, for simulated Step Functions and for those of the model's runs."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Protocol

import pytest
from msgspec.structs import replace

from packages.local.tests.simulated import Account, waiting_for_a_token
from stepwire.aws.clients import step_functions_client
from stepwire.aws.step_functions import StepFunctionsWorkflows, execution_arn_of
from stepwire.engine.ports import Workflows
from stepwire.errors import StartRefused
from stepwire.json_text import parse, write
from stepwire.tasks.events import StateEntered
from stepwire.tasks.ids import RANDOM_BYTES, TaskKey, execution_name_of, new_task_id
from stepwire.tasks.outcomes import (
    Aborted,
    ExecutionEnd,
    ExecutionFailed,
    ExecutionState,
    Missing,
    Running,
    Succeeded,
    TimedOut,
)
from stepwire.tasks.task import Execution
from stepwire_local.account.isolation import REGION
from stepwire_local.iam.clients import aws_client
from tests.fake_workflows import FakeWorkflows
from tests.fakes import START_OF_TIME, FixedClock
from tests.kits import ALICE, state_machine_arn
from tests.model.handlers import Boundary
from tests.simulated.step_functions import RUNNING, OneStateThatWaits
from tests.waiting import until

INPUT = '{"text":"grüße","count":2}'
ANSWER = '{"action":"accept","content":{"note":"grüße","amount":1.5}}'
_numbers = count(1)

# The definition and the end of each kind of state machine.
MACHINES: dict[str, dict[str, object]] = {
    "echoes": {"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}},
    "fails": {"StartAt": "A", "States": {"A": {"Type": "Fail", "Error": "Example.Broken", "Cause": "on purpose"}}},
    "waits": {"StartAt": "A", "States": {"A": {"Type": "Wait", "Seconds": 3600, "End": True}}},
    "times out": {
        "TimeoutSeconds": 1,
        "StartAt": "A",
        "States": {"A": {"Type": "Wait", "Seconds": 3600, "End": True}},
    },
}
ENDS: dict[str, ExecutionEnd] = {
    "echoes": Succeeded(INPUT),
    "fails": ExecutionFailed("Example.Broken", "on purpose"),
    "times out": TimedOut(),
}


class Place(Protocol):
    """A place where workflows run."""

    @property
    def workflows(self) -> Workflows:
        """The port."""
        ...

    def machine(self, kind: str) -> str:
        """Return the ARN of a state machine of that kind."""
        ...

    def waiting(self) -> tuple[Execution, str]:
        """Start an execution that waits in its state S0, whose answer is its output; return it and its token."""
        ...

    def settle(self, execution: Execution) -> ExecutionState:
        """Let an execution run until it has ended; return its end."""
        ...


@dataclass
class Fake:
    """The fake: a test ends what would end by itself, and does what a state does with its answer."""

    workflows: FakeWorkflows

    def machine(self, kind: str) -> str:
        return state_machine_arn(kind)

    def waiting(self) -> tuple[Execution, str]:
        execution = an_execution(self.machine("asks"))
        self.workflows.start(execution, "{}")
        self.workflows.current_states[execution] = "S0"
        self.workflows.waiting.add("a token")
        return execution, "a token"

    def settle(self, execution: Execution) -> ExecutionState:
        end = ENDS.get(execution.state_machine_arn.rpartition(":")[2])
        for got in self.workflows.resumptions:
            broke = ExecutionFailed(got.error or "", got.cause or "")
            end = broke if got.output is None else Succeeded(got.output)
        if end is not None and execution in self.workflows.running():
            self.workflows.end(execution, end)
        return self.workflows.describe(execution)


@dataclass
class StepFunctions:
    """Simulated Step Functions, where executions run in their own threads."""

    workflows: StepFunctionsWorkflows

    def machine(self, kind: str) -> str:
        created = aws_client("stepfunctions", REGION).create_state_machine(
            name=f"contract-{next(_numbers)}",
            definition=json.dumps(MACHINES[kind]),
            roleArn="arn:aws:iam::123456789012:role/example",
        )
        return created["stateMachineArn"]

    def waiting(self) -> tuple[Execution, str]:
        account = Account()
        queue = account.queue()
        execution = an_execution(account.machine(waiting_for_a_token(queue)))
        self.workflows.start(execution, "{}")
        (message,) = account.messages(queue)
        return execution, message["token"]

    def settle(self, execution: Execution) -> ExecutionState:
        until(lambda: self.workflows.describe(execution) != Running())
        return self.workflows.describe(execution)


class ControlledStepFunctions:
    """The Step Functions of the model's runs, where a test or an answer ends executions, behind the same API."""

    def __init__(self) -> None:
        boundary, self._world = Boundary(), OneStateThatWaits(FixedClock())
        boundary.answer_for_step_functions = self._world.answer
        self.workflows = StepFunctionsWorkflows(lambda: boundary.step_functions)

    def machine(self, kind: str) -> str:
        return state_machine_arn(kind)

    def waiting(self) -> tuple[Execution, str]:
        execution = an_execution(self.machine("asks"))
        self.workflows.start(execution, "{}")
        (token,) = self._world.states
        return execution, token

    def settle(self, execution: Execution) -> ExecutionState:
        arn, kind = execution_arn_of(execution), execution.state_machine_arn.rpartition(":")[2]
        if kind in ENDS and self._world.executions[arn].status == RUNNING:
            self._world.end(arn, *_MOVED_ENDS[kind])
        return self.workflows.describe(execution)


_MOVED_ENDS: dict[str, tuple[str, dict[str, str]]] = {
    "echoes": ("SUCCEEDED", {"output": INPUT}),
    "fails": ("FAILED", {"error": "Example.Broken", "cause": "on purpose"}),
    "times out": ("TIMED_OUT", {}),
}
_PLACES: dict[str, Callable[[], Place]] = {
    "fake": lambda: Fake(FakeWorkflows()),
    "step functions": lambda: StepFunctions(StepFunctionsWorkflows(step_functions_client)),
    "moved": ControlledStepFunctions,
}


@pytest.fixture(params=_PLACES)
def place(request: pytest.FixtureRequest, aws: None) -> Place:
    return _PLACES[request.param]()


def an_execution(machine: str) -> Execution:
    """Return an execution of a state machine with a name as that of a task."""
    random = next(_numbers).to_bytes(RANDOM_BYTES, "big")
    return Execution(machine, execution_name_of(TaskKey(ALICE, new_task_id(START_OF_TIME, random)), "sw-"))


def rewritten(state: ExecutionState) -> ExecutionState:
    """Return an output in another notation: Step Functions keeps the value and not the text."""
    return Succeeded(write(parse(state.output))) if isinstance(state, Succeeded) and state.output else state


@pytest.mark.parametrize("kind", ENDS)
def test_a_started_execution_runs_to_its_end(kind: str, place: Place) -> None:
    execution = an_execution(place.machine(kind))

    place.workflows.start(execution, INPUT)

    assert rewritten(place.settle(execution)) == rewritten(ENDS[kind])


def test_an_execution_that_never_started_is_missing(place: Place) -> None:
    assert place.workflows.describe(an_execution(place.machine("echoes"))) == Missing()


def test_executions_of_a_state_machine_are_independent(place: Place) -> None:
    machine = place.machine("waits")
    one, other = an_execution(machine), an_execution(machine)
    place.workflows.start(one, INPUT)
    place.workflows.start(other, INPUT)

    place.workflows.stop(one, "the test is over")

    assert place.workflows.describe(one) == Aborted()
    assert place.workflows.describe(other) == Running()
    place.workflows.stop(other, "the test is over")


# --------------------------------------------------------------------------------------------------------------- start


def test_starting_a_running_execution_is_idempotent(place: Place) -> None:
    execution = an_execution(place.machine("waits"))
    place.workflows.start(execution, INPUT)

    place.workflows.start(execution, INPUT)

    assert place.workflows.describe(execution) == Running()
    place.workflows.stop(execution, "the test is over")


@pytest.mark.parametrize("kind", ["echoes", "fails"])
def test_starting_an_ended_execution_is_idempotent(kind: str, place: Place) -> None:
    execution = an_execution(place.machine(kind))
    place.workflows.start(execution, INPUT)
    ended = place.settle(execution)

    place.workflows.start(execution, INPUT)

    assert place.workflows.describe(execution) == ended


def test_starting_a_stopped_execution_is_idempotent(place: Place) -> None:
    """T23: a cancelled execution is not started again."""
    execution = an_execution(place.machine("waits"))
    place.workflows.start(execution, INPUT)
    place.workflows.stop(execution, "Cancelled by the caller.")

    place.workflows.start(execution, INPUT)

    assert place.workflows.describe(execution) == Aborted()


# ---------------------------------------------------------------------------------------------------------------- stop


@pytest.mark.parametrize("kind", ["echoes", "fails"])
def test_stopping_an_ended_execution_is_idempotent(kind: str, place: Place) -> None:
    execution = an_execution(place.machine(kind))
    place.workflows.start(execution, INPUT)
    ended = place.settle(execution)

    place.workflows.stop(execution, "Cancelled by the caller.")

    assert place.workflows.describe(execution) == ended


def test_only_the_running_executions_of_a_state_machine_are_listed(place: Place) -> None:
    runs, other = place.machine("waits"), place.machine("echoes")
    wanted = [an_execution(runs) for _ in range(5)]
    stopped, ended = an_execution(runs), an_execution(other)
    for execution in (*wanted, stopped, ended):
        place.workflows.start(execution, INPUT)
    place.workflows.stop(stopped, "why")
    place.settle(ended)

    found = [[name for page in place.workflows.list_running(machine) for name in page] for machine in (runs, other)]

    assert [sorted(names) for names in found] == [sorted(execution.name for execution in wanted), []]
    for execution in wanted:
        place.workflows.stop(execution, "the test is over")


def test_stopping_an_execution_that_never_started_reports_that(place: Place) -> None:
    execution = an_execution(place.machine("waits"))

    place.workflows.stop(execution, "Cancelled by the caller.")

    assert place.workflows.describe(execution) == Missing()


# --------------------------------------------------------------------------------------------------------------- state

with_history = pytest.mark.parametrize("place", ["fake", "step functions"], indirect=True)


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

    assert rewritten(place.settle(execution)) == Succeeded(ANSWER)


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

    assert rewritten(place.settle(execution)) == Succeeded(ANSWER)


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


# ---------------------------------------------------------------------------------------------- Step Functions' own


@pytest.mark.parametrize("qualifier", ["1", "live"])
def test_the_execution_of_a_version_or_an_alias_is_found_stopped_and_started_once(qualifier: str, aws: None) -> None:
    place = StepFunctions(StepFunctionsWorkflows(step_functions_client))
    machine, states = place.machine("waits"), aws_client("stepfunctions", REGION)
    version = states.update_state_machine(
        stateMachineArn=machine, definition=json.dumps(MACHINES["waits"]), publish=True
    )
    states.create_state_machine_alias(
        name="live",
        routingConfiguration=[{"stateMachineVersionArn": version.get("stateMachineVersionArn", ""), "weight": 100}],
    )
    execution = replace(an_execution(machine), qualifier=qualifier)

    place.workflows.start(execution, INPUT)
    place.workflows.start(execution, INPUT)

    until(lambda: place.workflows.current_state(execution) is not None)
    assert place.workflows.describe(execution) == Running()
    assert place.workflows.current_state(execution) == StateEntered("A", passed=("A",))
    assert list(place.workflows.list_running(machine)) == [{execution.name}]
    assert place.workflows.stop(execution, "the test is over")
    assert place.workflows.describe(execution) == Aborted()


def test_a_missing_alias_and_a_deleted_state_machine_refuse_to_start(aws: None) -> None:
    place = StepFunctions(StepFunctionsWorkflows(step_functions_client))

    for gone in (
        replace(an_execution(place.machine("echoes")), qualifier="gone"),
        an_execution(state_machine_arn("Gone")),
    ):
        with pytest.raises(StartRefused, match="its state machine no longer exists"):
            place.workflows.start(gone, INPUT)


def test_the_cause_of_a_stop_is_kept_for_the_operator(aws: None) -> None:
    place = StepFunctions(StepFunctionsWorkflows(step_functions_client))
    execution = an_execution(place.machine("waits"))
    place.workflows.start(execution, INPUT)

    place.workflows.stop(execution, "Cancelled by the caller.")

    name = f"{execution.state_machine_arn.replace(':stateMachine:', ':execution:')}:{execution.name}"
    described = step_functions_client().describe_execution(executionArn=name)
    assert (described.get("error"), described.get("cause")) == ("Stepwire.Cancelled", "Cancelled by the caller.")
