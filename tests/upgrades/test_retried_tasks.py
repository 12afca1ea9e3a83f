"""What an earlier version does with a task that is retried: nothing, and it loses nothing of it."""

from dataclasses import replace

import pytest

from stepwire.aws.storage.items import item_of, task_of
from stepwire.aws.workflows.step_functions import execution_arn_of
from stepwire.errors import WorkflowsUnavailable
from stepwire.tasks.ids import task_key_from_execution
from stepwire.tasks.retries import Retry
from stepwire.tasks.task import Task
from tests.contracts.step_functions_wire import Wire, refusal
from tests.kits import OPTIONAL, World


def retried() -> Task:
    world = World()
    task = world.call(replace(OPTIONAL, retry=Retry(3, ("States.ALL",))))
    world.fail(task.task_id)
    return world.stored(task)


def as_read_before(task: Task) -> Task:
    """Return a task as a version reads it that takes the whole attribute for an ARN, and knows no attempts."""
    arn = item_of(task)["state_machine_arn"]["S"]
    return replace(task, work=replace(task.work, state_machine_arn=arn), attempt=None)


def test_an_earlier_version_that_saves_the_task_keeps_its_attempt() -> None:
    task = retried()

    saved = item_of(as_read_before(task))

    assert task_of(saved) == task


def test_no_execution_is_found_under_what_an_earlier_version_takes_for_the_arn() -> None:
    """So it neither ends the task with its first failure, nor starts its work again."""
    execution = as_read_before(retried()).execution

    assert not execution_arn_of(execution).startswith("arn:")
    with pytest.raises(WorkflowsUnavailable):
        Wire([refusal("InvalidArn")]).workflows().describe(execution)


def test_an_earlier_version_takes_no_end_for_that_of_the_task() -> None:
    task = retried()
    first = replace(task, attempt=None).execution

    assert task_key_from_execution(first.name) == task.key
    assert as_read_before(task).execution != first
