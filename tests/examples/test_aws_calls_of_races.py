"""The AWS calls of a race, counted where botocore makes them: n starts, one write at its creation, at most n stops."""

from collections.abc import Iterator
from typing import Final

import pytest

from stepwire.tasks.ids import task_key_from_execution
from stepwire_local import LocalStack, never
from tests.examples.stacks import EXAMPLES, ROOT
from tests.integration.stacks import AwsCalls, Deployed
from tests.recorded import recorded
from tests.server.clients import TASKS_CAPABILITY, ModernClient
from tests.template.chosen import OFF

GOODS: Final = {"goods": "a piano"}


@pytest.fixture(scope="module")
def stack() -> Iterator[Deployed]:
    """The root template and the examples. No status event arrives, so only the actions of a test call AWS."""
    calls = AwsCalls()
    settings = {"WaitSeconds": "0", "PollsPerSecond": "0", **OFF}
    settings["MostActiveTasks"] = "3"
    rare = {"REPAIR_AFTER_SECONDS": "600"}
    served = LocalStack(
        ROOT / "stack.yaml", others=[EXAMPLES], events=never, parameters=settings, variables=rare, instances=1
    )
    with served as stack, calls.of_handlers():
        made = Deployed(stack, calls)
        made.list_tools()
        client(made).call("get_quote", GOODS)  # builds the clients
        cancel_all(made)
        calls.forget()
        yield made


@pytest.fixture(autouse=True)
def afterwards(stack: Deployed) -> Iterator[None]:
    """Leave no task to the next test."""
    yield
    cancel_all(stack)


def cancel_all(stack: Deployed) -> None:
    keys = {task_key_from_execution(arn.rpartition(":")[2]) for arn in _executions(stack)}
    for key in filter(None, keys):
        client(stack).task("cancel", key.task_id)


def client(stack: Deployed) -> ModernClient:
    return ModernClient(stack, capabilities=TASKS_CAPABILITY)


def started(stack: Deployed) -> list[str]:
    """Start a race, and return the ARNs of its executions."""
    before = set(_executions(stack))
    client(stack).call("get_quote", GOODS)
    return sorted(set(_executions(stack)) - before, key=lambda arn: arn[-1])


def _executions(stack: Deployed) -> list[str]:
    states = stack.stack.client("stepfunctions")
    machines = [one["stateMachineArn"] for one in states.list_state_machines()["stateMachines"]]
    pages = [states.list_executions(stateMachineArn=arn)["executions"] for arn in machines if "Carrier" in arn]
    return [one["executionArn"] for page in pages for one in page]


def ended(stack: Deployed, arn: str, recording: str) -> None:
    """Deliver the status event of an execution."""
    execution = stack.stack.client("stepfunctions").describe_execution(executionArn=arn)
    event = recorded(recording)
    known = {key: execution[key] for key in ("executionArn", "stateMachineArn", "name")}
    event["detail"] = {**event["detail"], **known}
    stack.stack.invoke("ExecutionEventsFunction", event)


def test_a_race_of_two_arms_that_start_and_one_that_waits(stack: Deployed) -> None:
    stack.calls.forget()
    started(stack)

    made = [one for one in stack.calls.made if one != "UpdateItem"]  # one or two of them reserve the slot
    assert made == ["PutItem", "StartExecution", "StartExecution", "SendMessage", "GetItem"]


def test_the_end_of_a_race_is_a_read_two_writes_the_slot_and_a_stop_for_each_loser(stack: Deployed) -> None:
    swift, _ = started(stack)
    stack.calls.forget()

    ended(stack, swift, "execution_succeeded")

    assert stack.calls.made == ["GetItem", "PutItem", "UpdateItem", "StopExecution", "PutItem"]


def test_a_failure_of_an_arm_is_a_read_and_a_write(stack: Deployed) -> None:
    swift, _ = started(stack)
    stack.calls.forget()

    ended(stack, swift, "execution_failed")

    assert stack.calls.made == ["GetItem", "PutItem"]


# R24
def test_a_race_holds_one_slot_until_its_end(stack: Deployed) -> None:
    swift, _ = started(stack)
    for _ in range(2):
        started(stack)

    refused = client(stack).call("get_quote", GOODS)
    ended(stack, swift, "execution_succeeded")
    admitted = client(stack).call("get_quote", GOODS)

    assert refused.code == -31002
    assert admitted.id_in()
