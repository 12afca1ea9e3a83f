"""Recording events of tasks, with retries after lost races."""

from datetime import UTC, timedelta

import pytest
from msgspec.structs import replace

from stepwire.aws.invocations import SystemClock
from stepwire.engine.recorder import MOST_TRIES
from stepwire.errors import InternalError, SaveConflict
from stepwire.tasks.events import WorkChecked, WorkCompleted, WorkStopped
from stepwire.tasks.runs import Retry
from stepwire.tasks.task import Task, ToolResult
from tests.fakes import InMemoryTaskStore
from tests.kits import OPTIONAL, World

COMPLETED = WorkCompleted(ToolResult('{"content":[]}', is_error=False))
STOPPED = WorkStopped("stopped")


class ForgetfulStore(InMemoryTaskStore):
    """A store whose answer to one save is lost; its client repeats the save, which conflicts with itself."""

    loses = True

    def save(self, task: Task) -> Task:
        saved = super().save(task)
        if self.loses and saved.is_retried:
            self.loses = False
            raise SaveConflict
        return saved


class ContendedStore(InMemoryTaskStore):
    """A store in which another writer always saves first."""

    def save(self, task: Task) -> Task:
        self.calls.append("save")
        raise SaveConflict


def test_an_event_that_changes_nothing_is_not_saved() -> None:
    """T10."""
    world = World()
    ended = world.recorder.record(world.call(), COMPLETED)
    assert ended is not None
    world.store.calls.clear()

    after = world.recorder.record(ended, STOPPED)

    assert after is ended
    assert world.store.calls == []


def test_a_task_that_expires_meanwhile_is_unknown() -> None:
    world = World()
    task = world.call()

    def meanwhile() -> None:
        world.recorder.save_if_unchanged(task, WorkChecked())
        world.clock.advance(hours=1)

    world.store.before_save = meanwhile

    assert world.recorder.record(task, COMPLETED) is None


def test_retries_are_bounded() -> None:
    world = World(store=ContendedStore())
    task = world.call()
    world.store.calls.clear()

    with pytest.raises(InternalError, match=r"requests are changing this task\. Send the request again\."):
        world.recorder.record(task, COMPLETED)

    assert world.store.calls.count("save") == MOST_TRIES


def test_what_follows_a_save_is_done_although_its_answer_was_lost() -> None:
    world = World(store=ForgetfulStore())
    task = world.call(replace(OPTIONAL, retry=Retry(2, ("Busy",), delay=timedelta())))

    world.fail(task.task_id, "Busy")

    assert world.workflows.running() == (world.stored(task).execution,)
    assert world.stored(task).version == task.version + 1


def test_a_change_of_another_writer_in_the_same_millisecond_is_no_save_of_ones_own() -> None:
    world = World()
    tool = replace(OPTIONAL, retry=Retry(3, ("Busy",), delay=timedelta(seconds=10)))
    task = world.call(tool)

    world.store.before_save = lambda: world.ask(task.task_id)
    world.fail(task.task_id, "Busy")

    assert world.stored(task).is_retried
    assert world.stored(task).questions == ()
    assert world.wake_ups.scheduled == [(task.key, timedelta(seconds=10))]


def test_a_task_is_visible_until_it_expires() -> None:
    """X13, T12."""
    world = World()
    task = world.call()

    world.clock.time = task.created_at + OPTIONAL.ttl - timedelta(milliseconds=1)
    assert world.recorder.load(task.key) == task

    world.clock.time = task.created_at + OPTIONAL.ttl
    assert world.recorder.load(task.key) is None


def test_the_time_is_in_utc_and_whole_milliseconds() -> None:
    """X7, T11: the precision of the wire format and the store."""
    clock = SystemClock()

    times = [clock.now() for _ in range(20)]

    assert all(one.tzinfo is UTC and one.microsecond % 1_000 == 0 for one in times)
