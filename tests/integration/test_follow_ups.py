"""An operator redrives executions of tasks that have ended, on the local stack: in the console, and by the command."""

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from packages.command.tests.wrap.account import Time
from stepwire.background.commands import TASKS
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.commanding import OPERATOR, Door
from stepwire_cli.account.errors import AccountError
from stepwire_cli.account.pacing import Pacer
from stepwire_cli.account.tasks import Tasks
from stepwire_local import at_once
from tests.integration.stacks import ROOT, SIGN_IN, Deployed, deployed
from tests.server.clients import LegacyClient, ModernClient
from tests.waiting import until

pytestmark = pytest.mark.long

TOOL = "wait_and_echo"
OUTPUT = {"message": "hello", "waited_seconds": 0}


@pytest.fixture(scope="module")
def stack() -> Iterator[Deployed]:
    with deployed(ROOT / "stack.yaml", at_once, WaitSeconds="0", **SIGN_IN) as stack:
        yield stack


def ended(client: ModernClient, **arguments: Any) -> str:
    """Call the tool, and return the id of its task when that has ended."""
    task_id = client.call(TOOL, {"message": "hello", **arguments}).id_in()
    until(lambda: client.task("get", task_id).result["status"] == "completed")
    return task_id


def command(stack: Deployed, task_id: str) -> Any:
    """Give the operator's command for a task, by its id alone."""
    time = Time()
    calls = Calls(stack.stack.client, Pacer(lambda: time.now, time.sleep))
    key = Tasks(calls, stack.stack.physical_ids["TasksTable"]).key_of(task_id)
    door = Door(calls, stack.stack.physical_ids[OPERATOR])
    said = door.do(TASKS, "redrive", owner=key.owner, task_id=key.task_id)
    return SimpleNamespace(**said)


def followed(client: ModernClient, task_id: str) -> str | None:
    """Return the id of the task that follows one, as its caller reads it."""
    links = client.task("get", task_id).result["_meta"].get("stepwire/followUps", {})
    return links.get("redrive", {}).get("taskId")


# R11, R13: the rule passes the event of a redrive, and no other that says RUNNING
def test_a_redrive_in_the_console_reaches_its_owner_by_events(stack: Deployed, modern: ModernClient) -> None:
    old = ended(modern, error="Broken")
    before = modern.task("get", old).result
    put(stack, old, "execution_running")
    put(stack, old, "execution_redriven")

    until(lambda: followed(modern, old) is not None)
    new = followed(modern, old)
    until(lambda: modern.task("get", new).status == 200)  # it is named first, and written then
    assert modern.task("get", new).result["status"] == "working"
    put(stack, old, "execution_succeeded", output=json.dumps(OUTPUT), redriveCount=1)

    until(lambda: modern.task("get", new).result["status"] == "completed")
    made, after = modern.task("get", new).result, modern.task("get", old).result
    assert made["result"]["structuredContent"] == OUTPUT
    assert made["_meta"]["stepwire/follows"] == {"taskId": old}
    assert {**after, "_meta": None, "statusMessage": None} == {**before, "_meta": None, "statusMessage": None}
    legacy = LegacyClient(stack)
    assert legacy.task("get", old).result["_meta"] == {"stepwire/followUps": {"redrive": {"taskId": new}}}
    newest, older = legacy.ask("tasks/list").result["tasks"]
    assert (newest["taskId"], older["taskId"]) == (new, old)
    assert newest["statusMessage"] == f"It continues task {old}, at the operator's request."
    assert older["statusMessage"].endswith(f"The operator has let its workflow go on: see task {new}.")


# R15
def test_the_command_says_why_it_refuses(stack: Deployed, modern: ModernClient) -> None:
    running = modern.call(TOOL, {"message": "hello", "seconds": 600}).id_in()

    with pytest.raises(AccountError, match="The task has not ended"):
        command(stack, running)
    with pytest.raises(AccountError, match="has succeeded"):
        command(stack, ended(modern))


def put(stack: Deployed, task_id: str, recording: str, **detail: Any) -> None:
    """Put a status event of a task's execution on the default bus, as Step Functions does."""
    event = stack.status_event(task_id, recording, **detail)
    entry = {"Source": event["source"], "DetailType": event["detail-type"], "Detail": json.dumps(event["detail"])}
    stack.stack.client("events").put_events(Entries=[entry])
