"""What earlier versions stored and gave to clients is still served: tested with recordings of those versions."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, cast

import pytest

from stepwire.aws.publishing.outbox import status_change_of
from stepwire.aws.storage.items import FORMAT, item_of, task_of
from stepwire.aws.storage.table_stream import expired_task_of
from stepwire.aws.workflows.callbacks import question_of
from stepwire.aws.workflows.status_events import execution_event_of
from stepwire.background.execution_events import ExecutionStatusChange
from stepwire.json_text import write
from stepwire.tasks.inputs import Callback, WorkflowInput
from stepwire.tasks.outcomes import Running, Succeeded
from stepwire.tasks.task import Completed, ResultInExecution, Task, Working
from tests.kits import ARGUMENTS, OUTPUT, World
from tests.server.answers import Json
from tests.server.clients import ASKING_CAPABILITY, LegacyClient, ModernClient
from tests.server.messages import CONFIRMING, answers_of, questions
from tests.upgrades.recording import (
    ACCEPT,
    BOTH,
    CONFIRMED,
    KEY,
    LARGE_OUTPUT,
    LARGEST_OUTPUT,
    TOOL,
    Table,
    answers,
    world_on,
)
from tests.upgrades.records import VERSIONS

SCENES: Final = [(version, name) for version, content in VERSIONS.items() for name in content["scenarios"]]
WITH_TASK: Final = [(version, name) for version, name in SCENES if "items" in VERSIONS[version]["scenarios"][name]]
BY_AGE: Final = sorted(VERSIONS, key=int)
IN_EVERY_RUN: Final = {BY_AGE[0], *BY_AGE[-2:]}
"""The versions that `make test` tries; with ALL=1 it tries each."""
BY_TTL: Final = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
# Members that a later version may word or compute differently.
MAY_DIFFER: Final = {"statusMessage", "pollInterval", "pollIntervalMs", "_meta"}
WHY_IT_IS_ASKED_AGAIN: Final = re.compile(r" \(The answer before was not accepted: .*\)$")


@dataclass(frozen=True)
class Old:
    """The data of an older version, served by this one."""

    scenario: str
    scene: Json
    world: World
    table: Table

    @property
    def task_id(self) -> str:
        return self.scene["task_id"]

    @property
    def carried(self) -> Json:
        return self.scene["carried"]

    def item(self) -> Json:
        (found,) = [one for one in self.table.items() if one["sk"]["S"] == f"task#{self.task_id}"]
        return found

    def task(self) -> Task:
        return task_of(self.item())

    def modern(self) -> ModernClient:
        return ModernClient(self.world, capabilities=BOTH)

    def legacy(self) -> LegacyClient:
        return LegacyClient(self.world, session=self.carried.get("session"))

    def status(self) -> str:
        return self.modern().task("get", self.task_id).result["status"]


def left_by(version: str, name: str, table: Table) -> Old:
    """Store the items of an older version for this one; its workflow is still running."""
    scene = VERSIONS[version]["scenarios"][name]
    table.fill(scene.get("items", []), scene.get("objects"))
    world = world_on(table)
    world.clock.time = datetime.fromisoformat(scene["at"])
    old = Old(name, scene, world, table)
    if "items" in scene:
        go_on(world, old.task())
    return old


def go_on(world: World, task: Task, large_output: Json = LARGE_OUTPUT) -> None:
    """Restore the execution of a task in the fake of Step Functions."""
    waiting = {one.destination.token for one in task.input_requests if isinstance(one.destination, Callback)}
    world.workflows.waiting |= waiting | {one.token for one in task.inputs.undelivered}
    if isinstance(task.status, Completed) and isinstance(task.status.result, ResultInExecution):
        world.workflows.states[task.execution] = Succeeded(write(large_output))
    elif not (task.has_ended or task.awaits_confirmation):
        world.workflows.states |= dict.fromkeys(task.running_at(world.clock.now()).values(), Running())
        world.workflows.redrive_counts[task.execution] = task.attempt.redrives if task.attempt else 0


def of(version: str, scenario: str, *more: Any) -> Any:
    """Return the parameters of a test with what a version left in a scenario."""
    marks = () if version in IN_EVERY_RUN else pytest.mark.long
    return pytest.param((version, scenario), *more, id=f"{version} {more[0] if more else scenario}", marks=marks)


@pytest.fixture(params=[of(*scene) for scene in WITH_TASK])
def old(request: pytest.FixtureRequest, table: Table) -> Iterator[Old]:
    """Each task that an earlier version left; `left_in` selects the scenarios."""
    version, name = request.param
    old = left_by(version, name, table)
    yield old
    assert old.world.faults == []


def left_in(*names: str) -> pytest.MarkDecorator:
    """Run a test with the data that each version left in these scenarios."""
    found = [of(*scene) for scene in SCENES if scene[1] in names]
    return pytest.mark.parametrize("old", found, indirect=True)


# ---------------------------------------------------------------------------------------------------------- older tasks


def meaning(value: Any) -> Any:
    """Leave out what a later version may word differently."""
    match value:
        case dict():
            members = cast(Json, value).items()
            return {name: meaning(part) for name, part in members if name not in MAY_DIFFER}
        case list():
            return [meaning(part) for part in cast(list[Any], value)]
        case str():
            return WHY_IT_IS_ASKED_AGAIN.sub("", value)
        case _:
            return value


def test_an_older_task_is_shown_to_both_eras_as_it_was(old: Old) -> None:
    shown = answers(old.world, old.task_id)

    assert meaning(shown) == meaning(old.scene["answers"])


def test_an_older_task_is_listed(old: Old) -> None:
    listed = LegacyClient(old.world).ask("tasks/list").result["tasks"]

    stored = [one["sk"]["S"].removeprefix("task#") for one in old.table.items() if one["sk"]["S"].startswith("task#")]
    assert old.task_id in stored
    assert [one["taskId"] for one in listed] == stored[::-1], "newest first"


def test_an_older_task_is_saved_as_one_of_this_version_and_loses_nothing(old: Old) -> None:
    task = old.task()

    saved = item_of(task)

    assert saved["format"] == {"N": str(FORMAT)}
    assert task_of(saved) == task
    assert set(old.item()) - set(saved) == set()


def succeeds(old: Old) -> str:
    old.world.workflows.succeed(next(iter(old.task().executions.values())), OUTPUT)
    old.world.deliver()
    return "completed"


def fails(old: Old) -> str:
    is_race = old.task().race is not None
    while not old.task().has_ended:  # an arm of a race may start because the one before has failed
        execution = next(iter(old.task().executions.values()))
        old.world.workflows.fail(execution, "Stepwire.ProtocolError", '{"code": 1, "message": "no"}')
        old.world.deliver()
    return "completed" if is_race else "failed"


def is_cancelled(old: Old) -> str:
    old.modern().task("cancel", old.task_id)
    return "cancelled"


@pytest.mark.parametrize("happens", [succeeds, fails, is_cancelled])
def test_an_older_task_ends_once_as_any_other(old: Old, happens: Callable[[Old], str]) -> None:
    before = old.task()
    if before.has_ended:
        is_cancelled(old)
        assert old.task().status == before.status
        return
    if before.awaits_confirmation:
        assert old.modern().update(old.task_id, {"confirm": CONFIRMING}).status == 200

    status = happens(old)

    assert old.status() == status
    assert old.item()["format"] == {"N": str(FORMAT)}


def test_an_older_task_that_expires_is_stopped_and_published(old: Old) -> None:
    task = old.task()
    record = {
        "eventName": "REMOVE",
        "userIdentity": BY_TTL,
        "dynamodb": {"ApproximateCreationDateTime": 1.0, "SequenceNumber": "1", "OldImage": old.item()},
    }

    change = status_change_of(record)

    assert expired_task_of(record) == task
    assert (None if change is None else change.status) == (None if task.has_ended else "expired")


@left_in("asking")
def test_questions_of_an_older_task_are_answered(old: Old) -> None:
    # Since version 6, a repeated question has another key.
    approval, signature = (one.key for one in old.task().input_requests)

    old.modern().update(old.task_id, {approval: ACCEPT, signature: {"action": "accept"}})

    assert isinstance(old.task().status, Working)
    assert answers_of(old.world) == {"token of approval": ACCEPT, "token of signature": {"action": "accept"}}


@left_in("answered_and_not_delivered")
def test_an_older_answer_that_was_not_delivered_is_delivered_as_it_was_given(old: Old) -> None:
    """Version 2 stored it as JSON in a string."""
    old.status()

    assert answers_of(old.world) == {"token of approval": ACCEPT}
    assert old.task().inputs.undelivered == ()


@left_in("to_be_confirmed")
def test_an_older_task_begins_when_it_is_confirmed(old: Old) -> None:
    (request,) = old.task().input_requests
    assert isinstance(request.destination, WorkflowInput)

    old.modern().update(old.task_id, {"confirm": CONFIRMING})

    (start,) = old.world.workflows.starts
    assert json.loads(start.input_text) == {**ARGUMENTS, "confirmation": CONFIRMING["content"]}


@left_in("repeatable")
def test_a_call_that_is_repeated_after_the_deployment_gets_the_older_task(old: Old) -> None:
    params = {"name": TOOL.name, "arguments": ARGUMENTS}
    old.world.clock.advance(seconds=1)  # another call, although the ids of these tests start again

    again = old.modern().ask("tools/call", params, headers={"idempotency-key": KEY})

    assert again.id_in() == old.task_id
    assert old.world.workflows.starts == []


# ------------------------------------------------------------------------------------------ events of older workflows


@pytest.mark.parametrize(
    ("old", "name", "event"),
    [
        of(version, "working", name, event)
        for version, content in VERSIONS.items()
        for name, event in content["events"].items()
    ],
    indirect=["old"],
)
def test_an_event_of_an_older_execution_is_understood(old: Old, name: str, event: Json) -> None:
    before = old.task()
    if name.endswith("_output_left_out"):
        old.world.workflows.succeed(before.execution, OUTPUT)

    if name == "input_requested":
        old.world.requests.record(question_of(event))
    elif isinstance(news := execution_event_of(event), ExecutionStatusChange):
        old.world.events.record(news)
    else:
        old.world.events.record_progress(news)

    after = old.task()
    assert (after == before) is (name in {"execution_running", "execution_redriven"})


# --------------------------------------------------------------------------------------------------- what clients keep


@left_in("plain_call", "asking")
def test_a_stream_of_an_older_version_is_continued(old: Old) -> None:
    is_call = old.scenario == "plain_call"
    opened_by: Json = {
        "jsonrpc": "2.0",
        "id": 3 if is_call else 1,
        "method": "tools/call" if is_call else "tasks/result",
        "params": {"taskId": old.task_id, "_meta": {"progressToken": 7 if is_call else "t"}},
    }
    succeeds(old)

    answer = old.legacy().resume(old.carried["event_id"], opened_by=opened_by)

    assert answer.result["structuredContent"] == OUTPUT
    assert old.world.faults == []


@left_in("asking")
def test_a_stream_of_an_older_version_still_asks(old: Old) -> None:
    opened_by: Json = {"jsonrpc": "2.0", "id": 1, "method": "tasks/result", "params": {"taskId": old.task_id}}

    answer = old.legacy().resume(old.carried["event_id"], opened_by=opened_by)

    (again,) = questions(answer.messages)
    assert old.legacy().respond(again, result=ACCEPT).status == 202
    assert answers_of(old.world) == {"token of approval": ACCEPT}


@left_in("asking_a_client_with_tasks")
def test_tasks_that_a_client_of_an_older_version_made_are_asked_about(old: Old) -> None:
    opened_by: Json = {"jsonrpc": "2.0", "id": 1, "method": "tasks/result", "params": {"taskId": old.task_id}}

    answer = old.legacy().resume(old.carried["event_id"], opened_by=opened_by)
    asked = {one["method"]: one for one in answer.messages if "id" in one}
    old.legacy().respond(asked["tasks/result"], result=ACCEPT)

    named = {method: one["params"]["taskId"] for method, one in asked.items()}
    assert named == {"tasks/get": "task-of-1", "tasks/result": "task-of-2", "tasks/cancel": "task-of-3"}
    assert answers_of(old.world)["token of second"] == ACCEPT


@left_in("completed_in_bucket")
def test_a_large_result_that_no_version_has_put_into_the_bucket_is_fetched_from_step_functions(old: Old) -> None:
    """Versions 14 to 19 left results above 400,000 bytes there; so does one that drops the name of the object."""
    item = {name: value for name, value in old.item().items() if name not in {"result_object", "result_bytes"}}
    old.table.fill([item])
    go_on(old.world, old.task(), LARGEST_OUTPUT)

    shown = answers(old.world, old.task_id)

    assert isinstance(old.task().status, Completed)
    assert meaning(shown) == meaning(old.scene["answers"])


@left_in("call_in_rounds")
def test_a_call_in_rounds_of_an_older_version_is_continued(old: Old) -> None:
    succeeds(old)
    client = ModernClient(old.world, capabilities=ASKING_CAPABILITY)

    answer = client.call(TOOL.name, more={"requestState": old.carried["request_state"]})

    assert answer.result["structuredContent"] == OUTPUT
    assert old.world.workflows.starts == []


@left_in("to_be_confirmed_without_a_task")
def test_a_call_that_an_older_version_asked_about_begins_when_it_is_confirmed(old: Old) -> None:
    more = {"requestState": old.carried["request_state"], "inputResponses": {"confirm": CONFIRMING}}

    answer = old.modern().call(CONFIRMED.name, more=more)

    assert answer.id_in()
    assert len(old.world.workflows.starts) == 1


@left_in("second_page")
def test_a_cursor_of_an_older_version_leads_to_the_next_page(old: Old) -> None:
    older = old.modern().start(TOOL.name)

    page = LegacyClient(old.world).ask("tasks/list", {"cursor": old.carried["cursor"]}).result

    assert [one["taskId"] for one in page["tasks"]] == [older]
