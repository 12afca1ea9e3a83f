"""What every TaskStore owes its users; held against the one in memory and the one on DynamoDB."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import cycle

import pytest
from hypothesis import HealthCheck, given, settings

from stepwire.aws.clients import dynamodb_client
from stepwire.aws.storage.task_store import DynamoDbTaskStore
from stepwire.engine.ports import TaskStore, WatchedTask
from stepwire.errors import SaveConflict, TaskExists
from stepwire.principal import Principal
from stepwire.tasks.ids import RANDOM_BYTES, TaskId, TaskKey, new_task_id
from stepwire.tasks.inputs import FormElicitation, InputRequest, WorkflowInput
from stepwire.tasks.task import Cancelled, Completed, InputRequired, Inputs, ResultInExecution, Task, Work, Working
from tests.fakes import START_OF_TIME, InMemoryTaskStore
from tests.kits import ALICE, BOB
from tests.simulated.dynamodb import quick_dynamodb_client
from tests.strategies import tasks
from tests.tables import new_table


def in_memory() -> TaskStore:
    return InMemoryTaskStore()


def on_dynamodb() -> TaskStore:
    return DynamoDbTaskStore(new_table(), dynamodb_client)


def on_dynamodb_without_http() -> TaskStore:
    return DynamoDbTaskStore(new_table(), quick_dynamodb_client)


@pytest.fixture(params=[in_memory, on_dynamodb, on_dynamodb_without_http])
def store(request: pytest.FixtureRequest, aws: None) -> TaskStore:
    build: Callable[[], TaskStore] = request.param
    return build()


def a_task(owner: Principal = ALICE, age: int = 0, number: int = 1) -> Task:
    """Make a new task: the `number`th of those that are `age` milliseconds old."""
    created_at = START_OF_TIME - timedelta(milliseconds=age)
    return Task(
        owner=owner,
        task_id=new_task_id(created_at, number.to_bytes(RANDOM_BYTES, "big")),
        work=Work("tool", "arn:aws:states:eu-central-1:123456789012:stateMachine:Example", "{}"),
        status=Working(),
        created_at=created_at,
        last_updated_at=created_at,
        ttl=timedelta(days=7),
        poll_interval=timedelta(seconds=2),
        longest_poll_interval=timedelta(minutes=1),
        checked_at=created_at,
    )


def all_pages(store: TaskStore, limit: int) -> list[tuple[TaskId, ...]]:
    """List Alice's tasks, page by page."""
    page = store.page(ALICE, None, limit)
    pages = [page]
    while page.next_after is not None:
        page = store.page(ALICE, page.next_after, limit)
        pages.append(page)
    return [tuple(task.task_id for task in page.tasks) for page in pages]


# ---------------------------------------------------------------------------------------------------- create and load


def test_a_created_task_is_readable_at_once_with_its_first_version(store: TaskStore) -> None:
    """X8."""
    task = a_task()

    created = store.create(task)

    assert created == replace(task, version=1)
    assert store.load(task.key) == created


# The store is one for all examples: no two of them have the same key.
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tasks())
def test_a_task_is_read_as_it_was_written(store: TaskStore, task: Task) -> None:
    created = store.create(task)

    assert store.load(task.key) == created
    store.delete(created)


def test_a_task_that_was_never_created_is_not_found(store: TaskStore) -> None:
    store.create(a_task(number=1))

    assert store.load(a_task(number=2).key) is None


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
    """The answer to the first try may have been lost on its way."""
    task = a_task()
    created = store.create(task)

    assert store.create(task) == created
    assert store.load(task.key) == created


def test_creating_a_task_again_that_has_been_saved_since_is_refused(store: TaskStore) -> None:
    saved = store.save(replace(store.create(a_task()), status=Cancelled()))

    with pytest.raises(TaskExists):
        store.create(a_task())

    assert store.load(saved.key) == saved


def test_two_owners_may_have_tasks_of_the_same_id(store: TaskStore) -> None:
    alices, bobs = store.create(a_task(ALICE)), store.create(a_task(BOB))

    assert store.load(alices.key) == alices
    assert store.load(bobs.key) == bobs


# ---------------------------------------------------------------------------------------------------- save and delete


def test_a_saved_task_is_readable_at_once_with_its_next_version(store: TaskStore) -> None:
    created = store.create(a_task())
    ended = replace(created, status=Completed(ResultInExecution(is_error=False)))

    saved = store.save(ended)

    assert saved == replace(ended, version=2)
    assert store.load(saved.key) == saved


def test_removed_values_are_no_longer_stored(store: TaskStore) -> None:
    created = store.create(replace(a_task(), status=Working("a message")))

    saved = store.save(replace(created, status=Working()))

    assert store.load(saved.key) == saved


def test_of_two_who_loaded_the_same_version_only_one_can_save(store: TaskStore) -> None:
    loaded = store.create(a_task())
    first = store.save(replace(loaded, status=Cancelled("first")))

    with pytest.raises(SaveConflict):
        store.save(replace(loaded, status=Cancelled("second")))

    assert store.load(loaded.key) == first


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
    store.delete(other)

    assert store.load(created.key) == created


def test_a_deleted_task_cannot_be_saved(store: TaskStore) -> None:
    created = store.create(a_task())

    is_gone = store.delete(created)

    assert is_gone
    assert store.load(created.key) is None
    with pytest.raises(SaveConflict):
        store.save(created)


def test_a_task_saved_by_another_writer_is_not_deleted(store: TaskStore) -> None:
    loaded = store.create(a_task())
    saved = store.save(replace(loaded, status=Cancelled()))

    is_gone = store.delete(loaded)

    assert not is_gone
    assert store.load(loaded.key) == saved


def test_a_task_that_was_created_anew_is_not_deleted(store: TaskStore) -> None:
    first = store.create(a_task())
    store.delete(first)
    again = store.create(replace(a_task(), created_at=START_OF_TIME + timedelta(milliseconds=1)))

    is_gone = store.delete(first)

    assert not is_gone
    assert store.load(first.key) == again


def test_deleting_a_missing_task_is_idempotent(store: TaskStore) -> None:
    created = store.create(a_task())
    store.delete(created)

    is_gone = store.delete(created)

    assert is_gone
    assert store.load(created.key) is None


# ------------------------------------------------------------------------------------------------------------ following


def test_a_watched_task_is_read_like_any_other(store: TaskStore) -> None:
    """X8."""
    task = store.create(a_task())

    assert store.load_watched(task.key, "a request") == WatchedTask(task, is_cancelled=False)


def test_a_watched_task_that_was_never_created_is_not_found(store: TaskStore) -> None:
    assert store.load_watched(a_task().key, "a request") == WatchedTask(None, is_cancelled=False)


def test_a_cancelled_request_is_visible_at_once(store: TaskStore) -> None:
    task = store.create(a_task())

    store.cancel_request(ALICE, "a request", START_OF_TIME + timedelta(days=1))

    assert store.load_watched(task.key, "a request") == WatchedTask(task, is_cancelled=True)
    assert store.load(task.key) == task


def test_a_request_may_be_cancelled_before_there_is_a_task(store: TaskStore) -> None:
    store.cancel_request(ALICE, "a request", START_OF_TIME + timedelta(days=1))

    assert store.load_watched(a_task().key, "a request") == WatchedTask(None, is_cancelled=True)


def test_cancelling_a_request_is_idempotent(store: TaskStore) -> None:
    task = store.create(a_task())

    store.cancel_request(ALICE, "a request", START_OF_TIME + timedelta(days=1))
    store.cancel_request(ALICE, "a request", START_OF_TIME + timedelta(days=2))

    assert store.load_watched(task.key, "a request").is_cancelled


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


def test_a_cancelled_task_whose_execution_may_start_is_listed_for_a_check(store: TaskStore) -> None:
    task = store.create(a_task())
    saved = store.save(replace(task, status=Cancelled(), may_begin=True))

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


def test_tasks_are_listed_newest_first_in_whatever_order_they_were_created(store: TaskStore) -> None:
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
    """L18: a cursor stays good."""
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
    work = replace(a_task().work, input='"' + "x" * 250_000 + '"')
    ids = [store.create(replace(a_task(age=age), work=work)).task_id for age in range(8)]

    pages = all_pages(store, limit=50)

    assert [task_id for page in pages for task_id in page] == ids


# ---------------------------------------------------------------------------------------------------------- neglected


def aged(*minutes: int) -> list[Task]:
    """Make tasks that nobody has looked after for so many minutes."""
    owners = cycle((ALICE, BOB))
    return [a_task(next(owners), age=60_000 * age, number=age) for age in minutes]


def unchecked_since(store: TaskStore, since: datetime) -> list[TaskKey]:
    """Read the list of the neglected to its end."""
    found, after = list[TaskKey](), None
    while True:
        page = store.unchecked_since(since, after)
        found += page.keys
        if page.next_after is None:
            return found
        after = page.next_after


def test_unchecked_tasks_of_all_owners_are_listed(store: TaskStore) -> None:
    tasks = [store.create(task) for task in aged(3, 2, 1)]

    found = unchecked_since(store, START_OF_TIME - timedelta(minutes=2))

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
        store.save(replace(task, checked_at=START_OF_TIME + timedelta(minutes=1)))

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
