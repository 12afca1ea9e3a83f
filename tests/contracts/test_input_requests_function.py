"""Function input_requests as it is built for AWS: a state invokes it and waits, and the table has the question."""

from typing import Any

import pytest
from msgspec.structs import replace

from packages.local.tests.simulated import Account, waiting_for_a_token
from stepwire.aws.background_functions import InputRequestsHandler
from stepwire.aws.clients import dynamodb_client, step_functions_client
from stepwire.aws.invocations import SystemClock
from stepwire.aws.step_functions import StepFunctionsWorkflows, execution_arn_of
from stepwire.aws.storage.table import Table
from stepwire.aws.storage.task_store import DynamoDbTaskStore, task_store
from stepwire.tasks.inputs import Callback
from stepwire.tasks.outcomes import ExecutionFailed, Running
from stepwire.tasks.task import Task
from tests.fakes import FixedClock
from tests.kits import OPTIONAL, World, plan_of
from tests.recorded import recorded
from tests.tables import new_table
from tests.waiting import until


@pytest.fixture(scope="module")
def store(aws: None) -> DynamoDbTaskStore:
    return task_store(Table(new_table(), dynamodb_client))


@pytest.fixture
def handler(store: DynamoDbTaskStore, monkeypatch: pytest.MonkeyPatch) -> InputRequestsHandler:
    monkeypatch.setenv("TABLE_NAME", store.table.name)
    return InputRequestsHandler()


def waiting() -> tuple[Task, dict[str, Any]]:
    """Start the execution of a new task; return the task and the event with which its state asks."""
    account = Account()
    queue = account.queue()
    machine = account.machine(waiting_for_a_token(queue))
    new = World(clock=FixedClock(SystemClock().now())).call(replace(OPTIONAL, plan=plan_of(machine)))
    new = replace(new, version=0)
    StepFunctionsWorkflows(step_functions_client).start(new.execution, "{}")
    (message,) = account.messages(queue)
    event = recorded("input_requested")
    return new, {**event, "execution_arn": execution_arn_of(new.execution), "task_token": message["token"]}


def test_the_question_of_a_state_is_recorded_in_the_table(
    store: DynamoDbTaskStore, handler: InputRequestsHandler
) -> None:
    task, event = waiting()
    store.create(task)

    handler(event, None)

    found = store.load(task.key)
    assert found is not None
    assert [(one.key, one.destination) for one in found.input_requests] == [("approval", Callback(event["task_token"]))]
    workflows = StepFunctionsWorkflows(step_functions_client)
    assert workflows.describe(task.execution) == Running()
    workflows.stop(task.execution, "the test is over")


def test_a_state_whose_question_cannot_be_answered_fails(
    store: DynamoDbTaskStore, handler: InputRequestsHandler
) -> None:
    task, event = waiting()

    handler(event, None)

    def ended() -> Any:
        state = StepFunctionsWorkflows(step_functions_client).describe(task.execution)
        return None if state == Running() else state

    state = until(ended)
    assert isinstance(state, ExecutionFailed)
    assert state.error == "Stepwire.InputNotSupported"
    assert "The execution does not belong to a task" in state.cause
