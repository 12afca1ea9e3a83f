"""Forty state machines become tools on the local stack, by their tag alone, and real calls pass."""

import json
import random
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

import pytest

from packages.command.tests.wrap.account import Time, applied
from packages.command.tests.wrap.forty import One, forty
from stepwire.aws.storage.compiled_catalog import DynamoDbPublisher
from stepwire.aws.storage.table import Table
from stepwire.catalog.live import REREAD_AFTER
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.doctor import Doctor
from stepwire_cli.account.machines import Chosen, StateMachines
from stepwire_cli.account.pacing import Pacer
from stepwire_cli.account.registering import Registry, registration_of
from stepwire_cli.account.wrapping import wrapped
from stepwire_local import at_once
from stepwire_wrap.findings import Severity
from tests.integration.clock import Clock
from tests.integration.stacks import ROOT, Deployed, deployed
from tests.server.clients import ModernClient
from tests.waiting import until

ROLE = "arn:aws:iam::123456789012:role/any"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stack(clock: Clock) -> Iterator[Deployed]:
    with deployed(ROOT / "stack.yaml", at_once, 1, clock, WaitSeconds="0") as stack:
        yield stack


def made(stack: Deployed, one: One, chance: random.Random) -> str:
    """Make a state machine, and its past runs."""
    states = stack.stack.client("stepfunctions")
    arn: str = states.create_state_machine(
        name=one.name,
        definition=json.dumps(one.kind.definition),
        roleArn=ROLE,
        tags=[{"key": "team", "value": "forty"}],
    )["stateMachineArn"]
    for number in range(one.runs):
        given = json.dumps(one.kind.right(chance))
        states.start_execution(stateMachineArn=arn, name=f"before-{number}", input=given)
    until(lambda: not states.list_executions(stateMachineArn=arn, statusFilter="RUNNING")["executions"])
    return arn


@pytest.mark.parametrize("count", [2, pytest.param(40, marks=pytest.mark.long)])
def test_tagged_state_machines_become_tools_and_real_calls_pass(stack: Deployed, clock: Clock, count: int) -> None:
    """Wrap two by default, and forty, some of each kind, with ALL=1."""
    chance, time = random.Random(7), Time()
    machines = {made(stack, one, chance): one for one in islice(forty(), count)}
    endpoint = stack.stack.physical_ids["McpFunction"].removesuffix("-McpFunction")
    calls = Calls(stack.stack.client, Pacer(lambda: time.now, time.sleep))
    reader, registry = StateMachines(calls), Registry(calls, endpoint)

    chosen = reader.arns(Chosen(tag=("team", "forty")))
    found = wrapped(reader, chosen, registry.registered())
    wanted = [registration_of(one.draft) for one in found if one.draft is not None]
    done = applied(registry.plans(wanted), registry, lambda _plan: False)

    assert {one.wanted.arn for one in done} == machines.keys()
    published = DynamoDbPublisher(Table(stack.stack.physical_ids["TasksTable"], lambda: stack.stack.client("dynamodb")))
    names = {one.wanted.tool for one in done}
    until(lambda: names <= published.load()[1].keys())
    clock.move(seconds=REREAD_AFTER.total_seconds())
    client, running = ModernClient(stack), dict[str, str]()
    for plan in done:
        kind = machines[plan.wanted.arn].kind
        running[plan.wanted.tool] = client.call(plan.wanted.tool, kind.right(chance)).id_in()
        if kind.wrong is not None:
            refused = client.call(plan.wanted.tool, kind.wrong).result
            assert "nothing was started" in refused["content"][0]["text"], f"{kind.name} takes {kind.wrong}"
    for name, task_id in running.items():
        ended: dict[str, Any] = until(partial(ended_in, client, task_id)) or {}
        assert (ended["status"], ended["result"].get("isError", False)) == ("completed", False), name

    doctor = Doctor(calls, reader, endpoint, stack.stack.physical_ids["TasksTable"])
    assert [str(one) for one in doctor.findings() if one.severity is Severity.ERROR] == []
    again = registry.plans(wanted)
    assert (len(again), [line for plan in again for line in plan.dry_lines() if "would do" in line]) == (count, [])


def ended_in(client: ModernClient, task_id: str) -> dict[str, Any] | None:
    got = client.task("get", task_id).result
    return got if got["status"] not in ("working", "input_required") else None
