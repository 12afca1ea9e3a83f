"""The policies of the root template allow exactly the AWS calls of its functions and workflows.

The local stack denies calls that are not allowed, in every test (conftest.py). These tests make the code use each
permission once, so that unused permissions are found too: action by action and resource by resource.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from msgspec.structs import replace

from stepwire.aws.storage.items import item_of, task_of
from stepwire.background.commands import TASKS
from stepwire.background.sweep import MOST_SINGLE_CHECKS
from stepwire_local import never
from stepwire_local.account.engine import ACCOUNT
from stepwire_local.iam.permissions import Call, Role, Statement, watched
from tests.extras import parts
from tests.grants import Grant, roles_of, unused
from tests.integration.clock import Clock
from tests.integration.stacks import ROOT, SIGN_IN, Deployed, deployed, executions_with
from tests.recorded import recorded
from tests.server.answers import Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient
from tests.server.messages import questions
from tests.template.chosen import USUAL
from tests.waiting import until

pytestmark = pytest.mark.long  # every workflow runs; each test is held to the policies, this looks for what none needs
REFUND: Final[Json] = {"order_id": "A-1002", "currency": "EUR", "reason": "It wobbles."}
ASKED: Final[Json] = {**REFUND, "amount": "249.00"}
# Arguments with which the workflow of each tool ends by itself.
FAST: Final[dict[str, Json]] = {
    "approve_refund": {**REFUND, "amount": "20.00"},
    "measure_texts": {"texts": ["a"]},
    "wait_and_echo": {"message": "hello"},
}


# Permissions whose use no test can see, with their reasons.
USED_ELSEWHERE: Final = {
    # This stack waits for nothing.
    Grant(
        "McpFunctionRole",
        "StartWorkflows",
        "states:startsyncexecution",
        f"arn:aws:states:us-east-1:{ACCOUNT}:stateMachine:*",
    ): "tools of type EXPRESS: test_their_machines.py calls one",
    **{
        Grant(
            "InputRequestsFunctionRole",
            "FindTheTaskOfANestedExecution",
            f"states:{action}",
            f"arn:aws:states:us-east-1:{ACCOUNT}:execution:*",
        ): "nested executions: one of test_their_machines.py asks"
        for action in ("describeexecution", "getexecutionhistory")
    },
    Grant(
        "McpFunctionRole",
        "CountTheItemsOfDistributedMaps",
        "states:describemaprun",
        f"arn:aws:states:us-east-1:{ACCOUNT}:mapRun:*",
    ): "Distributed Maps: test_their_machines.py has one",
}

_RETRIES: Final = "retries: tests/examples/test_races_and_retries.py and tests/faults make them"
_RETRIED: Final = "questions whose state was retried: the weather of tests/faults makes them"
_FOLLOW_UPS: Final = "a follow-up at its caller's limit: tests/unit/engine/test_follow_ups.py"
# Statements and actions of parts that have stacks of their own in other tests.
OF_OTHER_PARTS: Final = {
    ("StartTheNextAttempt", "states:startexecution"): _RETRIES,
    ("RedriveOrStopTheNextAttempt", "states:redriveexecution"): _RETRIES,
    ("RedriveOrStopTheNextAttempt", "states:stopexecution"): _RETRIES,
    ("FollowAndStopExecutions", "states:redriveexecution"): _RETRIES,
    ("WakeTasksForTheirNextAttempt", "sqs:sendmessage"): _RETRIES,
    ("GiveRetriedStatesTheirAnswers", "states:sendtaskheartbeat"): _RETRIED,
    ("GiveRetriedStatesTheirAnswers", "states:sendtasksuccess"): _RETRIED,
    ("FindTasksAndFreeSlots", "dynamodb:batchgetitem"): _FOLLOW_UPS,
    ("FindTasksAndFreeSlots", "dynamodb:query"): _FOLLOW_UPS,
    ("FindOwnersOfManifests", "ssm:describeparameters"): "many tools at once: tests/unit/aws/test_catalog_function.py",
    **{grant: why for part in parts("permissions") for grant, why in part.OF_OTHER_TESTS.items()},
}


@dataclass(frozen=True)
class Watched:
    """A stack, and the calls of its roles since before its creation."""

    deployed: Deployed
    calls: list[Call]

    def roles(self) -> dict[str, Role]:
        """Give the roles of the endpoint's stack by their logical ids."""
        return roles_of(self.deployed.stack.deployments[0])

    def unused(self) -> set[Grant]:
        """Return the permissions that were not used."""
        return unused(self.roles(), self.calls)


@pytest.fixture(scope="module")
def stack(clock: Clock) -> Iterator[Watched]:
    """The root template. No status event arrives by itself; every task is overdue after a second."""
    calls = list[Call]()
    impatient = {
        "WaitSeconds": "0",
        "INLINE_WAIT_SECONDS": "0",
        "REPAIR_AFTER_SECONDS": "1",
        "STATE_AFTER_SECONDS": "1",
    }
    parameters = {**impatient, **SIGN_IN, "EventBus": "default", **USUAL}
    with watched(calls.append), deployed(ROOT / "stack.yaml", never, 1, clock, **parameters) as made:
        yield Watched(made, calls)


@pytest.fixture(scope="module")
def modern(stack: Watched) -> ModernClient:
    """A client with tasks that can ask its user."""
    return ModernClient(stack.deployed, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})


def ended(stack: Watched, task_id: str) -> Callable[[], bool]:
    """Tell whether an execution has ended, as Step Functions reports."""
    return lambda: stack.deployed.status_of(task_id) != "RUNNING"


def let_every_workflow_end_unreported_and_look(stack: Watched, modern: ModernClient, clock: Clock) -> None:
    ids = [modern.call(tool, arguments).id_in() for tool, arguments in FAST.items()]
    # It fails before it reports progress: only then is its state read from the history.
    ids.append(modern.call("wait_and_echo", {"message": "hello", "error": "OnPurpose"}).id_in())
    ids.append(with_a_large_output(stack, modern))
    for task_id in ids:
        until(ended(stack, task_id))
    clock.move(seconds=1)  # then they are overdue
    assert [modern.task("get", task_id).result["status"] for task_id in ids] == ["completed"] * len(ids)


def with_a_large_output(stack: Watched, modern: ModernClient) -> str:
    """Return a task whose workflow has ended with as much as Step Functions allows."""
    task_id = modern.call("wait_and_echo", FAST["wait_and_echo"]).id_in()
    until(ended(stack, task_id))
    arn = stack.deployed.execution_of(task_id)
    (execution,) = [one for one in executions_with(arn) if one.execution_arn == arn]
    execution.output = {"message": "x" * 250_000, "waited_seconds": 0}
    return task_id


def report_every_end_without_its_output(stack: Watched, modern: ModernClient) -> None:
    ids = [modern.call(tool, arguments).id_in() for tool, arguments in FAST.items()]
    for task_id in (*ids, with_a_large_output(stack, modern)):
        until(ended(stack, task_id))
        event = stack.deployed.status_event(task_id, "execution_succeeded_output_left_out")
        stack.deployed.stack.invoke("ExecutionEventsFunction", event)
        assert modern.task("get", task_id).result["status"] == "completed"


def cancel_every_workflow(stack: Watched, modern: ModernClient) -> None:
    for tool, arguments in FAST.items():
        modern.task("cancel", modern.call(tool, arguments).id_in())


def let_every_task_expire(stack: Watched, modern: ModernClient) -> None:
    for tool, arguments in FAST.items():
        modern.call(tool, arguments)
    stack.deployed.stack.expire(at=datetime.now(UTC) + timedelta(days=30))
    stack.deployed.stack.drain()


def ask_and_answer(stack: Watched, modern: ModernClient) -> None:
    task_id = modern.call("approve_refund", ASKED).id_in()
    until(lambda: modern.task("get", task_id).result["status"] == "input_required")
    modern.update(task_id, {"approval": {"action": "decline"}})
    until(ended(stack, task_id))


def cannot_ask(stack: Watched) -> str:
    """Ask a client over a stream, which then answers that it cannot ask its user; return the task's id."""
    legacy = LegacyClient.opened(stack.deployed, capabilities=ASKING_CAPABILITY)
    task_id = legacy.call("approve_refund", ASKED, task={}).id_in("task")
    until(lambda: legacy.task("get", task_id).result["status"] == "input_required")
    first = legacy.task("result", task_id)
    asked = questions(first.messages) or questions(legacy.resume(first.last_event_id, opened_by=first.request).messages)
    legacy.respond(asked[0], error={"code": -32601, "message": "I cannot."})
    return task_id


def come_back_for_a_plain_call_in_either_era(stack: Watched) -> None:
    plain = ModernClient(stack.deployed, capabilities=ASKING_CAPABILITY)
    assert "requestState" in plain.call("wait_and_echo", {"message": "hello", "seconds": 600}).result
    legacy = LegacyClient.opened(stack.deployed)
    first = legacy.call("wait_and_echo", {"message": "hello", "seconds": 600})
    legacy.resume(first.last_event_id, opened_by=first.request)
    legacy.ask("tasks/list")


def ask_for_a_task_that_is_not_there(stack: Watched) -> None:
    stack.deployed.stack.invoke("InputRequestsFunction", recorded("input_requested"))


def leave_answers_behind(stack: Watched, modern: ModernClient, refusals: list[str]) -> None:
    """Answer while Step Functions refuses calls, here because of a missing permission."""
    role = stack.roles()["McpFunctionRole"]
    kept, role.statements = role.statements, [one for one in role.statements if one.sid != "AnswerWaitingStates"]
    task_id = modern.call("approve_refund", ASKED).id_in()
    until(lambda: modern.task("get", task_id).result["status"] == "input_required")
    modern.update(task_id, {"approval": {"action": "decline"}})
    cannot_ask(stack)
    role.statements = kept
    refusals.clear()
    stack.calls[:] = [call for call in stack.calls if call.allowed]


def leave_work_behind(stack: Watched, modern: ModernClient, clock: Clock) -> None:
    """Leave tasks whose end was lost, tasks that never started, and tasks that expired while they ran."""
    for tool, arguments in FAST.items():
        until(ended(stack, modern.call(tool, arguments).id_in()))
        modern.call(tool, arguments)
    table, items = open_tasks(stack)
    newest = {task_of(item).work.tool: item for item in sorted(items, key=lambda item: item["sk"]["S"])}
    for item in newest.values():
        # Enough tasks for the sweep to list running executions.
        for number in range(MOST_SINGLE_CHECKS + 1):
            table(item | {"sk": {"S": f"{item['sk']['S'][:-4]}{number:04}"}})
        table(item_of(replace(task_of(item), ttl=timedelta(milliseconds=1))))
    with_a_large_output(stack, modern)  # after these, of which one is chosen by chance: ids of one moment have no order
    clock.move(seconds=1)


def sweep(stack: Watched) -> None:
    table, items = open_tasks(stack)
    for item in items:
        table(item_of(replace(task_of(item), checked_at=datetime.fromtimestamp(0, UTC))))
    stack.deployed.stack.invoke("SweepFunction", recorded("schedule"))


def open_tasks(stack: Watched) -> tuple[Callable[[Json], object], list[Json]]:
    """Return a function that writes items, and the items of the active tasks."""
    client, name = stack.deployed.stack.client("dynamodb"), stack.deployed.stack.physical_ids["TasksTable"]
    items = [item for item in client.scan(TableName=name)["Items"] if "open" in item]
    return lambda item: client.put_item(TableName=name, Item=item), items


def let_owners_register_tools(stack: Watched) -> None:
    local = stack.deployed.stack
    for machine in (local.physical_ids["WaitAndEcho"], with_alias(stack, "WaitAndEcho"), "NotThere"):
        for description in ("Echoes.", "Echoes what it is given."):
            manifest = {
                "name": "echo",
                "description": description,
                "state_machine": machine,
                "input_schema": {"type": "object"},
            }
            local.client("ssm").put_parameter(
                Name=f"/stepwire/{local.name}/tools/echo", Value=json.dumps(manifest), Type="String", Overwrite=True
            )
            local.invoke("CatalogFunction", {"detail-type": "Scheduled Event"})
    local.drain()  # each change is an event, too


def with_alias(stack: Watched, machine: str) -> str:
    """Give a state machine an alias, and return its ARN."""
    states, arn = stack.deployed.stack.client("stepfunctions"), stack.deployed.stack.physical_ids[machine]
    definition = states.describe_state_machine(stateMachineArn=arn)["definition"]
    version = states.update_state_machine(stateMachineArn=arn, definition=definition, publish=True)
    route = {"stateMachineVersionArn": version["stateMachineVersionArn"], "weight": 100}
    return states.create_state_machine_alias(name="live", routingConfiguration=[route])["stateMachineAliasArn"]


def command_as_an_operator(stack: Watched, modern: ModernClient, clock: Clock) -> None:
    """Redrive a task that has ended."""
    task_id = modern.call("wait_and_echo", {"message": "hello", "error": "OnPurpose"}).id_in()
    until(ended(stack, task_id))
    clock.move(seconds=1)  # then it is overdue
    assert modern.task("get", task_id).result["status"] == "completed"
    (owner,) = {item["pk"]["S"] for item in open_tasks(stack)[1]}
    command = {"command": "redrive", "task_id": task_id, "owner": owner}
    assert "done" in stack.deployed.stack.invoke("OperatorFunction", command, TASKS)


def call_what_cannot_be_started(stack: Watched, modern: ModernClient) -> None:
    machine = stack.deployed.stack.physical_ids["WaitAndEcho"]
    stack.deployed.stack.client("stepfunctions").delete_state_machine(stateMachineArn=machine)
    assert modern.call("wait_and_echo", FAST["wait_and_echo"]).code


def test_the_code_uses_every_permission_and_no_other(
    stack: Watched, modern: ModernClient, clock: Clock, refusals: list[str]
) -> None:
    let_every_workflow_end_unreported_and_look(stack, modern, clock)
    report_every_end_without_its_output(stack, modern)
    cancel_every_workflow(stack, modern)
    ask_and_answer(stack, modern)
    until(ended(stack, cannot_ask(stack)))
    come_back_for_a_plain_call_in_either_era(stack)
    ask_for_a_task_that_is_not_there(stack)
    leave_answers_behind(stack, modern, refusals)
    leave_work_behind(stack, modern, clock)
    sweep(stack)
    command_as_an_operator(stack, modern, clock)
    let_every_task_expire(stack, modern)
    let_owners_register_tools(stack)
    call_what_cannot_be_started(stack, modern)

    found = stack.unused()
    of_others = {one for one in found if (one.statement, one.action) in OF_OTHER_PARTS}
    assert found - of_others == set(USED_ELSEWHERE)
    assert {(one.statement, one.action) for one in of_others} == set(OF_OTHER_PARTS)
    assert [call for call in stack.calls if not call.allowed] == []


def test_the_policies_of_every_acting_role_are_enforced(stack: Watched) -> None:
    acting = {call.role for call in stack.calls}

    unheld = [note for note in stack.deployed.stack.not_served if "every call is allowed" in note]

    assert unheld == []
    assert acting <= set(stack.deployed.stack.physical_ids.values())
    assert len(acting) > 3


def test_an_unused_grant_is_found(stack: Watched) -> None:
    role = stack.roles()["McpFunctionRole"]
    unused: Any = Statement(True, ["dynamodb:deletetable"], ["*"], "TooMuch")
    role.statements.append(unused)

    found = stack.unused()

    role.statements.remove(unused)
    assert Grant("McpFunctionRole", "TooMuch", "dynamodb:deletetable", "*") in found
