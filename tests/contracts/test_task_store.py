"""The contract of TaskStore, for the one in memory and the one on DynamoDB."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace

from stepwire.engine.ports import TaskStore, WatchedTask
from stepwire.errors import SaveConflict, TaskExists
from stepwire.tasks.ids import TaskKey
from stepwire.tasks.task import Cancelled, Completed, ResultInExecution, Task
from tests.contracts.task_stores import a_task
from tests.fakes import START_OF_TIME
from tests.kits import ALICE, BOB
from tests.strategies import tasks

# ---------------------------------------------------------------------------------------------------- create and load


def test_a_created_task_is_readable_at_once_with_its_first_version(store: TaskStore) -> None:
    """X8."""
    task = a_task()

    created = store.create(task)

    assert created == replace(task, version=1)
    assert store.load(task.key) == created


# All examples share one store, so no two of them have the same key.
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tasks())
def test_a_task_is_read_as_it_was_written(store: TaskStore, task: Task) -> None:
    created = store.create(task)

    assert store.load(task.key) == created
    store.delete(created)


def test_a_task_is_invisible_to_another_owner(store: TaskStore) -> None:
    """X28, T24."""
    task = store.create(a_task(ALICE))

    assert store.load(TaskKey(BOB, task.task_id)) is None


def test_an_id_that_another_task_has_is_taken(store: TaskStore) -> None:
    """T8."""
    first = store.create(a_task())

    with pytest.raises(TaskExists):
        store.create(replace(a_task(), ttl=timedelta(days=8)))

    assert store.load(first.key) == first


def test_creating_the_same_task_again_is_idempotent(store: TaskStore) -> None:
    """The response to the first attempt may have been lost."""
    task = a_task()
    created = store.create(task)

    assert store.create(task) == created
    assert store.load(task.key) == created


def test_creating_a_task_again_that_has_been_saved_since_is_refused(store: TaskStore) -> None:
    saved = store.save(replace(store.create(a_task()), status=Cancelled()))

    with pytest.raises(TaskExists):
        store.create(a_task())

    assert store.load(saved.key) == saved


# ---------------------------------------------------------------------------------------------------- save and delete


def test_a_saved_task_is_readable_at_once_with_its_next_version(store: TaskStore) -> None:
    created = store.create(a_task())
    ended = replace(created, status=Completed(ResultInExecution(is_error=False)))

    saved = store.save(ended)

    assert saved == replace(ended, version=2)
    assert store.load(saved.key) == saved


def test_a_task_that_was_never_created_cannot_be_saved(store: TaskStore) -> None:
    with pytest.raises(SaveConflict):
        store.save(a_task())

    assert store.load(a_task().key) is None


@pytest.mark.parametrize("version", [0, 2])
def test_only_the_stored_version_can_be_saved_or_deleted(version: int, store: TaskStore) -> None:
    created = store.create(a_task())
    other = replace(created, version=version)

    with pytest.raises(SaveConflict):
        store.save(other)
    is_gone = store.delete(other)

    assert not is_gone
    assert store.load(created.key) == created


def test_a_deleted_task_cannot_be_saved(store: TaskStore) -> None:
    created = store.create(a_task())

    is_gone = [store.delete(created) for _ in range(2)]

    assert is_gone == [True, True]
    assert store.load(created.key) is None
    with pytest.raises(SaveConflict):
        store.save(created)


def test_a_task_that_was_created_anew_is_not_deleted(store: TaskStore) -> None:
    first = store.create(a_task())
    store.delete(first)
    again = store.create(replace(a_task(), created_at=START_OF_TIME + timedelta(milliseconds=1)))

    is_gone = store.delete(first)

    assert not is_gone
    assert store.load(first.key) == again


# ------------------------------------------------------------------------------------------------------------ following


def test_a_watched_task_is_read_like_any_other(store: TaskStore) -> None:
    """X8."""
    task = store.create(a_task())

    assert store.load_watched(task.key, "a request") == WatchedTask(task, is_cancelled=False)


def test_a_cancelled_request_is_visible_at_once(store: TaskStore) -> None:
    task = store.create(a_task())

    for days in (1, 2):
        store.cancel_request(ALICE, "a request", START_OF_TIME + timedelta(days=days))

    assert store.load_watched(task.key, "a request") == WatchedTask(task, is_cancelled=True)
    assert store.load(task.key) == task


def test_a_request_may_be_cancelled_before_there_is_a_task(store: TaskStore) -> None:
    store.cancel_request(ALICE, "a request", START_OF_TIME + timedelta(days=1))

    assert store.load_watched(a_task().key, "a request") == WatchedTask(None, is_cancelled=True)


def test_a_request_is_cancelled_for_its_owner_alone(store: TaskStore) -> None:
    """X28."""
    alices, bobs = store.create(a_task(ALICE)), store.create(a_task(BOB))

    store.cancel_request(BOB, "a request", START_OF_TIME + timedelta(days=1))

    assert store.load_watched(alices.key, "a request") == WatchedTask(alices, is_cancelled=False)
    assert store.load_watched(alices.key, "another") == WatchedTask(alices, is_cancelled=False)
    assert store.load_watched(bobs.key, "a request") == WatchedTask(bobs, is_cancelled=True)


def test_a_request_leads_to_its_task(store: TaskStore) -> None:
    task = a_task()

    may_begin = store.begin_request(ALICE, "a request", task.task_id, START_OF_TIME + timedelta(days=1))

    assert may_begin
    assert not store.load_watched(task.key, "a request").is_cancelled
    assert store.cancel_request(ALICE, "another", START_OF_TIME + timedelta(days=1)) is None
    assert store.cancel_request(ALICE, "a request", START_OF_TIME + timedelta(days=1)) == task.task_id
    assert store.load_watched(task.key, "a request").is_cancelled


@pytest.mark.parametrize("had_begun", [False, True])
def test_the_work_of_a_cancelled_request_does_not_start(store: TaskStore, *, had_begun: bool) -> None:
    task, until = a_task(), START_OF_TIME + timedelta(days=1)
    if had_begun:
        store.begin_request(ALICE, "a request", task.task_id, until)
    store.cancel_request(ALICE, "a request", until)

    assert not store.begin_request(ALICE, "a request", task.task_id, until)


def test_a_reused_request_id_is_a_new_request(store: TaskStore) -> None:
    first, second, until = a_task(number=1), a_task(number=2), START_OF_TIME + timedelta(days=1)
    store.begin_request(ALICE, "a request", first.task_id, until)
    store.cancel_request(ALICE, "a request", until)

    may_begin = store.begin_request(ALICE, "a request", second.task_id, until)

    assert may_begin
    assert not store.load_watched(second.key, "a request").is_cancelled
