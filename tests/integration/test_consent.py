"""Which state machines an endpoint starts, and whose executions' events it gets."""

from collections.abc import Iterator

import pytest

from stepwire_local import at_once
from tests.integration.stacks import ROOT, Deployed, deployed
from tests.server.clients import ModernClient
from tests.waiting import until

ECHO = {"message": "hello", "seconds": 0}
TAG = "stepwire:endpoint"


@pytest.fixture(scope="module")
def stack() -> Iterator[Deployed]:
    with deployed(ROOT / "stack.yaml", at_once, WaitSeconds="0") as stack:
        yield stack


def machine_of(stack: Deployed) -> str:
    return stack.stack.physical_ids["WaitAndEcho"]


def tag(stack: Deployed, value: str) -> None:
    stack.stack.client("stepfunctions").tag_resource(resourceArn=machine_of(stack), tags=[{"key": TAG, "value": value}])


def test_a_state_machine_without_its_tag_is_not_started_and_its_executions_continue(
    stack: Deployed, refusals: list[str]
) -> None:
    client = ModernClient(stack)
    running = client.call("wait_and_echo", {"message": "hello", "seconds": 600}).id_in()
    endpoint = stack.stack.client("stepfunctions").list_tags_for_resource(resourceArn=machine_of(stack))["tags"]
    (name,) = [one["value"] for one in endpoint if one["key"] == TAG]

    tag(stack, "another")
    refused = client.call("wait_and_echo", ECHO)
    followed = client.task("get", running).result["status"]
    client.task("cancel", running)
    tag(stack, name)
    allowed = client.call("wait_and_echo", ECHO).id_in()

    assert "this server may not start its state machine" in refused.error["message"]
    assert "StartExecution" in refusals[0]
    assert followed == "working"
    assert stack.status_of(running) == "ABORTED"
    until(lambda: client.task("get", allowed).result["status"] == "completed")
    refusals.clear()


@pytest.mark.long
def test_a_state_machine_that_a_parameter_names_needs_no_tag() -> None:
    names = "arn:aws:states:us-east-1:123456789012:stateMachine:local-*"
    with deployed(ROOT / "stack.yaml", at_once, WaitSeconds="0", StateMachineArns=names) as stack:
        tag(stack, "another")

        task_id = ModernClient(stack).call("wait_and_echo", ECHO).id_in()

        until(lambda: ModernClient(stack).task("get", task_id).result["status"] == "completed")


@pytest.mark.long
def test_two_endpoints_of_one_account_get_only_events_of_their_own_executions(stack: Deployed) -> None:
    heard: list[str] = []
    with deployed(ROOT / "stack.yaml", at_once, WaitSeconds="0") as other:
        function = other.stack.functions["ExecutionEventsFunction"]
        begin = function.invoke

        def listen(event: str, alias: str = "") -> object:
            heard.append(event)
            return begin(event, alias)

        function.invoke = listen  # pyright: ignore[reportAttributeAccessIssue] - a fake of the thing itself
        mine = ModernClient(stack).call("wait_and_echo", ECHO).id_in()
        theirs = ModernClient(other).call("wait_and_echo", ECHO).id_in()
        until(lambda: ModernClient(stack).task("get", mine).result["status"] == "completed")
        until(lambda: ModernClient(other).task("get", theirs).result["status"] == "completed")

    assert [theirs in event for event in heard] == [True]
