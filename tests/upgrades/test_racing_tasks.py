"""What an earlier version does with a task whose machines race: it leaves its work alone, and loses nothing of it."""

from dataclasses import replace

import pytest

from stepwire.aws.storage.items import item_of, task_of
from stepwire.aws.workflows.step_functions import execution_arn_of
from stepwire.errors import WorkflowsUnavailable
from stepwire.json_text import Json, load_json, write
from stepwire.tasks.task import Task
from tests.contracts.step_functions_wire import Wire, refusal
from tests.kits import World
from tests.races import BROKEN, racing


def task_that_races() -> Task:
    world = World()
    task = world.call(racing(3, 0, 0, 60))
    world.end_arm(task, "a", BROKEN)
    return world.stored(task)


def attribute_of(task: Task) -> str:
    return item_of(task)["state_machine_arn"]["S"]


def as_read_before_retries(task: Task) -> Task:
    """Return a task as a version reads it that takes the whole attribute for an ARN."""
    return replace(task, work=replace(task.work, state_machine_arn=attribute_of(task)), race=None)


def as_read_by_version_15(task: Task) -> Json:
    """Return what the version that knows retries, and no races, reads of the attribute: an ARN and an attempt."""
    arn, state = load_json(attribute_of(task))
    policy = {name: state["retry"][name] for name in ("attempts", "errors", "redrives", "may_restart", "delay_ms")}
    rest = {name: state["retry"][name] for name in ("backoff", "longest_delay_ms", "jitter")}
    attempt = {name: state[name] for name in ("number", "run", "redrives", "begins_at", "after")}
    return [arn, {"retry": {**policy, **rest}, **attempt}]


def test_a_version_before_retries_keeps_the_race() -> None:
    task = task_that_races()

    assert task_of(item_of(as_read_before_retries(task))) == task


def test_the_version_with_retries_reads_an_attempt_that_nothing_follows() -> None:
    read = as_read_by_version_15(task_that_races())

    assert read[1]["number"] == read[1]["retry"]["attempts"] == 1


@pytest.mark.parametrize("arn", [attribute_of(task_that_races()), as_read_by_version_15(task_that_races())[0]])
def test_no_earlier_version_finds_an_execution_of_it(arn: str) -> None:
    """So it neither ends the task with the first failure of an arm, nor starts its work again."""
    task = replace(task_that_races(), race=None)
    execution = replace(task, work=replace(task.work, state_machine_arn=arn)).execution

    assert not execution_arn_of(execution).startswith("arn:")
    with pytest.raises(WorkflowsUnavailable):
        Wire([refusal("InvalidArn")]).workflows().describe(execution)


def test_the_version_with_retries_keeps_the_race() -> None:
    task = task_that_races()
    saved = {**item_of(task), "state_machine_arn": {"S": write(as_read_by_version_15(task))}}

    assert task_of(saved) == task
