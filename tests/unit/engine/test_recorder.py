"""Recording events of tasks, with retries after lost races."""

from datetime import UTC, timedelta

import pytest

from stepwire.aws.invocations import SystemClock
from stepwire.engine.recorder import MOST_TRIES
from stepwire.errors import InternalError, SaveConflict
from stepwire.tasks.events import WorkChecked, WorkCompleted, WorkStopped
from stepwire.tasks.task import Task, ToolResult
from tests.fakes import InMemoryTaskStore
from tests.kits import OPTIONAL, World

COMPLETED = WorkCompleted(ToolResult('{"content":[]}', is_error=False))
STOPPED = WorkStopped("stopped")


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

    with pytest.raises(InternalError):
        world.recorder.record(task, COMPLETED)

    assert world.store.calls.count("save") == MOST_TRIES


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
