"""Owners register, change, break and remove tools, with parameters and tags alone, while clients call."""

from collections.abc import Iterator

import pytest

from stepwire.catalog.live import REREAD_AFTER
from stepwire.manifests.registration import CONSENT_TOOLS
from stepwire_local import at_once
from tests.integration.clock import Clock
from tests.integration.owners import Owner
from tests.integration.stacks import ROOT, Deployed, deployed
from tests.server.clients import LegacyClient, ModernClient
from tests.waiting import until

ECHO = {"message": "hello", "seconds": 0}
ADOPTED = {"approve_refund", "measure_texts", "wait_and_echo"}


@pytest.fixture(scope="module")
def stack(clock: Clock) -> Iterator[Deployed]:
    with deployed(ROOT / "stack.yaml", at_once, 1, clock, WaitSeconds="0") as stack:
        yield stack


@pytest.fixture
def owner(stack: Deployed) -> Iterator[Owner]:
    owner = Owner(stack, stack.stack.physical_ids["WaitAndEcho"])
    yield owner
    owner.leave(ADOPTED)


def names(client: ModernClient | LegacyClient) -> list[str]:
    return [tool["name"] for tool in client.ask("tools/list").result["tools"]]


def listed_in_time(clock: Clock, owner: Owner, name: str, *, there: bool = True) -> None:
    """Wait until function catalog has run, and then as long as an instance may cache its list."""
    until(lambda: (name in owner.published()) is there)
    clock.move(seconds=REREAD_AFTER.total_seconds())


def test_polls_never_read_the_catalog_and_calls_read_it_once_in_30_seconds(stack: Deployed, clock: Clock) -> None:
    client = ModernClient(stack)
    clock.move(seconds=30)

    stack.calls.forget()
    client.ask("tools/list")
    client.ask("tools/list")
    assert (stack.calls.catalog_reads, stack.calls.made) == (["GetItem"], [])

    task_id = client.call("wait_and_echo", {"message": "hello", "seconds": 600}).id_in()
    clock.move(seconds=10)
    client.task("get", task_id)  # the first poll that reads the name of the state
    clock.move(seconds=30)
    stack.calls.forget()
    client.task("get", task_id)
    assert (stack.calls.catalog_reads, stack.calls.made) == ([], ["GetItem"]), "only the read of the task"
    client.task("cancel", task_id)


def test_a_tool_is_listed_called_changed_and_removed_without_a_deployment_of_the_endpoint(
    stack: Deployed, owner: Owner, clock: Clock
) -> None:
    modern, legacy = ModernClient(stack), LegacyClient.opened(stack)

    owner.register("registered_echo")
    listed_in_time(clock, owner, "registered_echo")
    assert "registered_echo" in names(modern)
    by_modern = modern.call("registered_echo", ECHO).id_in()
    by_legacy = legacy.call("registered_echo", ECHO, task={}).id_in("task")
    until(lambda: modern.task("get", by_modern).result["status"] == "completed")
    until(lambda: legacy.task("get", by_legacy).result["status"] == "completed")
    assert names(modern) == sorted(names(modern))
    assert names(legacy)[: len(names(modern))] == names(modern), "Stepwire's own tools come last"

    running = modern.call("registered_echo", {"message": "hello", "seconds": 600}).id_in()
    owner.remove("registered_echo")
    listed_in_time(clock, owner, "registered_echo", there=False)
    assert "registered_echo" not in names(modern)

    assert modern.call("registered_echo", ECHO).code == -32602
    assert modern.task("get", running).result["status"] == "working"
    modern.task("cancel", running)
    assert stack.status_of(running) == "ABORTED"


@pytest.mark.long
def test_a_manifest_that_breaks_keeps_serving_as_it_was_and_names_its_fault(
    stack: Deployed, owner: Owner, clock: Clock
) -> None:
    client = ModernClient(stack)
    owner.register("steady_echo")
    listed_in_time(clock, owner, "steady_echo")
    assert "steady_echo" in names(client)

    owner.register("steady_echo", descriptoin="x")
    until(lambda: "steady_echo" in owner.refusals())
    clock.move(seconds=REREAD_AFTER.total_seconds())

    assert "did you mean description?" in owner.refusals()["steady_echo"]["reason"]
    assert owner.refusals()["steady_echo"]["serves_previous"]
    assert client.call("steady_echo", ECHO).id_in()
    assert client.call("wait_and_echo", ECHO).id_in()

    owner.register("steady_echo", description="Mended.")
    until(lambda: not owner.refusals())


def test_an_invalid_tool_of_one_owner_does_not_affect_other_owners(stack: Deployed, owner: Owner, clock: Clock) -> None:
    client = ModernClient(stack)

    owner.register("broken", "a: [b")
    owner.register("whole")
    listed_in_time(clock, owner, "whole")
    assert "whole" in names(client)

    assert "broken" not in names(client)
    until(lambda: set(owner.refusals()) == {"broken"})


@pytest.mark.long
def test_a_tool_is_removed_and_restored_with_the_tag_of_its_state_machine(
    stack: Deployed, owner: Owner, clock: Clock, refusals: list[str]
) -> None:
    client = ModernClient(stack)
    owner.register("tagged_echo")
    listed_in_time(clock, owner, "tagged_echo")
    assert "tagged_echo" in names(client)

    owner.tag("another")
    listed_in_time(clock, owner, "tagged_echo", there=False)
    assert "tagged_echo" not in names(client)
    until(lambda: "its owner adds the tag" in owner.refusals().get("tagged_echo", {}).get("reason", ""))
    owner.tag(owner.endpoint)
    listed_in_time(clock, owner, "tagged_echo")
    assert "tagged_echo" in names(client)

    refusals.clear()


def test_a_manifest_for_a_state_machine_without_the_tag_is_refused_whoever_registers_it(
    stack: Deployed, owner: Owner
) -> None:
    made = owner.states.create_state_machine(
        name=f"{owner.endpoint}-Foreign",
        definition='{"StartAt": "A", "States": {"A": {"Type": "Pass", "End": true}}}',
        roleArn="arn:aws:iam::123456789012:role/none",
    )

    owner.register("foreign", state_machine=made["stateMachineArn"])

    until(lambda: "its owner adds the tag" in owner.refusals().get("foreign", {}).get("reason", ""))


@pytest.mark.long
def test_a_second_manifest_of_a_machine_is_refused_where_the_tag_names_the_first_alone(
    stack: Deployed, owner: Owner
) -> None:
    """M5: another manifest would be without the first one's scopes, confirmation and constants."""
    owner.register("pay", scopes=[], confirm={"message": "Pay?"})
    owner.register("pay_without_asking")
    until(lambda: {"pay", "pay_without_asking"} <= set(owner.published()))

    owner.tag("wait_and_echo pay", CONSENT_TOOLS)
    until(lambda: "pay_without_asking" in owner.refusals())  # written after the catalog

    assert "does not name pay_without_asking" in owner.refusals()["pay_without_asking"]["reason"]
    assert {"pay", "wait_and_echo"} <= set(owner.published())
    assert "pay_without_asking" not in owner.published()
    owner.untag(CONSENT_TOOLS)
    until(lambda: "pay_without_asking" in owner.published())
