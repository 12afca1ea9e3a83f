"""The contract of TaskStore for lists: pages of an owner's tasks, and tasks that need a check."""

from datetime import datetime, timedelta
from itertools import cycle

import pytest
from msgspec.structs import replace

from stepwire.engine.ports import TaskStore
from stepwire.tasks.ids import TaskId, TaskKey
from stepwire.tasks.inputs import FormElicitation, InputRequest, WorkflowInput
from stepwire.tasks.runs import Pending
from stepwire.tasks.task import Cancelled, Failed, InputRequired, Inputs, Task, TaskError
from tests.contracts.task_stores import a_task
from tests.fakes import START_OF_TIME
from tests.kits import ALICE, BOB


def all_pages(store: TaskStore, limit: int) -> list[tuple[TaskId, ...]]:
    """Return Alice's tasks, page by page."""
    page = store.page(ALICE, None, limit)
    pages = [page]
    while page.next_after is not None:
        page = store.page(ALICE, page.next_after, limit)
        pages.append(page)
    return [tuple(task.task_id for task in page.tasks) for page in pages]


def test_a_cancelled_task_whose_execution_may_start_is_listed_for_a_check(store: TaskStore) -> None:
    task = store.create(a_task())
    saved = store.save(replace(task, status=Cancelled(), runs=(replace(task.runs[0], pending=Pending.STOP),)))

    found = store.unchecked_since(START_OF_TIME + timedelta(minutes=1), None)

    assert found.keys == (task.key,)
    assert store.load(task.key) == saved


def test_a_cancelled_request_is_not_listed_as_a_task(store: TaskStore) -> None:
    """T20."""
    task = store.create(a_task())
    store.cancel_request(ALICE, "a request", START_OF_TIME + timedelta(days=1))

    assert all_pages(store, limit=1) == [(task.task_id,), ()]


# --------------------------------------------------------------------------------------------------------------- pages


def test_an_owner_without_tasks_has_one_empty_page(store: TaskStore) -> None:
    assert all_pages(store, limit=3) == [()]


def test_tasks_are_listed_newest_first_in_any_order_of_creation(store: TaskStore) -> None:
    """T19, T20."""
    newest_first = [store.create(a_task(age=age)) for age in (1, 1000, 500_000, 86_400_000)]
    middle = store.create(a_task(age=2000))

    page = store.page(ALICE, None, 10)

    assert page.tasks == (*newest_first[:2], middle, *newest_first[2:])
    assert page.next_after is None


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6])
def test_the_pages_hold_every_task_once_and_no_more_than_the_limit(limit: int, store: TaskStore) -> None:
    """T19, T20."""
    ids = [store.create(a_task(age=age)).task_id for age in range(5)]

    pages = all_pages(store, limit)

    assert [task_id for page in pages for task_id in page] == ids
    assert all(len(page) <= limit for page in pages)


def test_a_page_continues_after_a_deleted_task(store: TaskStore) -> None:
    """L18: a cursor stays valid."""
    newest, middle, oldest = (store.create(a_task(age=age)) for age in range(3))
    after = store.page(ALICE, None, 2).next_after
    store.delete(middle)

    assert after == middle.task_id
    assert store.page(ALICE, after, 2).tasks == (oldest,)
    assert store.page(ALICE, newest.task_id, 2).tasks == (oldest,)


def test_later_pages_are_not_affected_by_new_tasks(store: TaskStore) -> None:
    """M40, L18."""
    tasks = [store.create(a_task(age=age)) for age in (10, 20, 30)]
    after = store.page(ALICE, None, 2).next_after
    store.create(a_task(age=0))

    assert store.page(ALICE, after, 2).tasks == (tasks[2],)


def test_a_page_after_the_oldest_task_is_empty(store: TaskStore) -> None:
    oldest = store.create(a_task())

    page = store.page(ALICE, oldest.task_id, 3)

    assert (page.tasks, page.next_after) == ((), None)


def test_foreign_tasks_are_never_listed_whatever_the_cursor(store: TaskStore) -> None:
    """T21, X28."""
    mine = store.create(a_task(ALICE, age=20))
    theirs = store.create(a_task(BOB, age=10))
    store.create(a_task(BOB, age=30))

    assert store.page(ALICE, None, 10).tasks == (mine,)
    assert store.page(ALICE, theirs.task_id, 10).tasks == (mine,)


def test_a_page_of_large_tasks_may_be_short_and_still_has_a_cursor(store: TaskStore) -> None:
    """T19: DynamoDB reads at most 1 MB for a page."""
    error = Failed(TaskError(1, "x" * 250_000))
    ids = [store.create(replace(a_task(age=age), status=error)).task_id for age in range(8)]

    pages = all_pages(store, limit=50)

    assert [task_id for page in pages for task_id in page] == ids


# ---------------------------------------------------------------------------------------------------------- neglected


def aged(*minutes: int) -> list[Task]:
    """Return tasks that were last checked this many minutes ago."""
    owners = cycle((ALICE, BOB))
    return [a_task(next(owners), age=60_000 * age, number=age) for age in minutes]


def unchecked_since(store: TaskStore, since: datetime) -> list[TaskKey]:
    """Return the complete list of unchecked tasks."""
    found, after = list[TaskKey](), None
    while True:
        page = store.unchecked_since(since, after)
        found += page.keys
        if page.next_after is None:
            return found
        after = page.next_after


def test_unchecked_tasks_of_all_owners_are_listed(store: TaskStore) -> None:
    tasks = [store.create(task) for task in aged(15, 10, 5)]

    found = unchecked_since(store, START_OF_TIME - timedelta(minutes=10))

    assert set(found) == {task.key for task in tasks[:2]}


def test_an_ended_or_checked_task_is_not_listed_for_a_check(store: TaskStore) -> None:
    ended, looked_after, other = (store.create(task) for task in aged(5, 4, 3))
    store.save(replace(ended, status=Cancelled("no")))
    store.save(replace(looked_after, checked_at=START_OF_TIME))

    assert unchecked_since(store, START_OF_TIME - timedelta(minutes=1)) == [other.key]


def test_an_unconfirmed_task_is_not_listed_for_a_check(store: TaskStore) -> None:
    question = InputRequest("confirm", 1, FormElicitation("Go?", "{}"), destination=WorkflowInput("confirm"))
    store.create(replace(aged(5)[0], status=InputRequired((question,)), inputs=Inputs(1, ("confirm",))))

    assert unchecked_since(store, START_OF_TIME) == []


def test_each_unchecked_task_is_listed_once_over_all_pages(store: TaskStore) -> None:
    tasks = [store.create(task) for task in aged(*range(1, 251))]
    first = store.unchecked_since(START_OF_TIME, None)

    found = unchecked_since(store, START_OF_TIME)

    assert first.next_after is not None
    assert len(found) == len(set(found))
    assert set(found) == {task.key for task in tasks}


def test_the_list_continues_at_its_cursor_even_if_tasks_have_left_it(store: TaskStore) -> None:
    for task in aged(*range(1, 251)):
        store.create(task)
    first = store.unchecked_since(START_OF_TIME, None)
    rest_before = set(unchecked_since(store, START_OF_TIME)) - set(first.keys)
    for key in first.keys:
        task = store.load(key)
        assert task is not None
        store.save(replace(task, checked_at=START_OF_TIME + timedelta(minutes=5)))

    page, rest = store.unchecked_since(START_OF_TIME, first.next_after), set[TaskKey]()
    rest |= set(page.keys)
    while page.next_after is not None:
        page = store.unchecked_since(START_OF_TIME, page.next_after)
        rest |= set(page.keys)

    assert rest == rest_before


def test_a_bookmark_is_kept_until_it_is_deleted(store: TaskStore) -> None:
    at_first = store.bookmark()
    store.save_bookmark("somewhere")
    kept = store.bookmark()
    store.save_bookmark(None)

    assert (at_first, kept, store.bookmark()) == (None, "somewhere", None)
