"""Large terms and large results are kept beside their task: in items of their own, which its small head names."""

from datetime import timedelta
from typing import Final

import pytest
from msgspec.structs import replace

from stepwire.aws.storage.items import LARGEST_ENDED_HEAD, LARGEST_HEAD, LARGEST_NEW_HEAD, LARGEST_PART, item_key
from stepwire.aws.storage.table import Item, Table
from stepwire.aws.storage.task_store import DynamoDbTaskStore, task_store
from stepwire.codec import seconds_of
from stepwire.engine.ports import TaskStore
from stepwire.errors import PartMissing, SaveConflict
from stepwire.tasks.task import (
    Cancelled,
    Completed,
    ResultElsewhere,
    Task,
    Terms,
    TermsElsewhere,
    ToolResult,
    Working,
)
from tests.contracts.task_stores import a_task
from tests.fakes import LARGE
from tests.kits import ALICE, BOB
from tests.simulated.dynamodb import quick_dynamodb_client
from tests.tables import new_table, size_of, table_behind

LARGE_TERMS: Final = Terms("i" * 2 * LARGE, "s" * LARGE, "o" * LARGE)
LARGE_RESULT: Final = ToolResult("r" * 2 * LARGEST_ENDED_HEAD, is_error=True)


def with_terms(terms: Terms, task: Task | None = None) -> Task:
    task = task or a_task()
    return replace(task, work=replace(task.work, terms=terms))


# ---------------------------------------------------------------------------------------------------- every task store


def test_large_terms_are_read_when_they_are_asked_for(store: TaskStore) -> None:
    created = store.create(with_terms(LARGE_TERMS))

    loaded = store.load(created.key)

    assert loaded == created
    assert isinstance(created.work.terms, TermsElsewhere)
    assert store.parts.terms_of(created) == LARGE_TERMS


def test_a_large_result_is_read_when_it_is_asked_for(store: TaskStore) -> None:
    created = store.create(with_terms(LARGE_TERMS))

    saved = store.save(replace(created, status=Completed(LARGE_RESULT, "m")))

    assert store.load(created.key) == saved
    assert isinstance(saved.status, Completed)
    assert isinstance(kept := saved.status.result, ResultElsewhere)
    assert (kept.is_error, kept.size) == (True, len(LARGE_RESULT.text))
    assert store.parts.result_of(saved, kept) == LARGE_RESULT
    assert store.parts.terms_of(saved) == LARGE_TERMS


def test_parts_are_no_tasks(store: TaskStore) -> None:
    created = store.create(with_terms(LARGE_TERMS))
    saved = store.save(replace(created, status=Completed(LARGE_RESULT)))

    assert store.page(ALICE, None, 10).tasks == (saved,)


def test_parts_belong_to_their_owner_and_their_task(store: TaskStore) -> None:
    """X28: the place alone, which is a digest of the content, leads nowhere."""
    mine = store.create(with_terms(LARGE_TERMS))

    for other in (a_task(BOB), a_task(number=2)):
        with pytest.raises(PartMissing):
            store.parts.terms_of(store.create(replace(other, work=mine.work)))


def test_the_result_of_a_lost_race_changes_nothing(store: TaskStore) -> None:
    created = store.create(a_task())
    first = store.save(replace(created, status=Cancelled()))

    with pytest.raises(SaveConflict):
        store.save(replace(created, status=Completed(LARGE_RESULT)))

    assert store.load(created.key) == first


def test_other_terms_of_the_same_task_replace_the_first(store: TaskStore) -> None:
    """A confirmation adds the user's answer to the input."""
    created = store.create(with_terms(LARGE_TERMS))
    confirmed = replace(LARGE_TERMS, input=LARGE_TERMS.input + "!")

    saved = store.save(with_terms(confirmed, created))

    assert store.parts.terms_of(saved) == confirmed
    assert store.parts.terms_of(created) == LARGE_TERMS, "who has loaded the task before goes on with what was there"


# --------------------------------------------------------------------------------------------------------- on DynamoDB


@pytest.fixture
def dynamodb(aws: None) -> DynamoDbTaskStore:
    return task_store(Table(new_table(), quick_dynamodb_client))


def items_of(store: DynamoDbTaskStore) -> dict[str, Item]:
    """Return all items of the table, by the kind that their sort key begins with."""
    items = [item.to_json()["Attributes"] for item in table_behind(store.table.name).all_items()]
    return {item["sk"]["S"].partition("#")[0]: item for item in items}


def test_what_is_small_stays_inside(dynamodb: DynamoDbTaskStore) -> None:
    created = dynamodb.create(with_terms(Terms("i" * 400, "s" * 400)))
    dynamodb.save(replace(created, status=Completed(ToolResult("r" * 1_000, is_error=False))))

    assert list(items_of(dynamodb)) == ["task"]


def test_the_head_is_small_whatever_beside_it_is(dynamodb: DynamoDbTaskStore) -> None:
    created = dynamodb.create(with_terms(Terms("i" * 262_144, "s" * 32_768)))
    begun = size_of(items_of(dynamodb)["task"])
    running = dynamodb.save(replace(created, status=Working("m" * 1_000)))
    went_on = size_of(items_of(dynamodb)["task"])
    dynamodb.save(replace(running, status=Completed(ToolResult("r" * LARGEST_PART, is_error=False))))
    ended = size_of(items_of(dynamodb)["task"])

    assert (begun <= LARGEST_NEW_HEAD, went_on <= LARGEST_HEAD, ended <= LARGEST_HEAD) == (True, True, True)


def test_parts_expire_with_their_task(dynamodb: DynamoDbTaskStore) -> None:
    task = replace(with_terms(LARGE_TERMS), keep_result=timedelta(days=2))
    created = dynamodb.create(task)
    ended = dynamodb.save(replace(created, ttl=task.ttl + timedelta(days=1), status=Completed(LARGE_RESULT)))

    expiry = {kind: int(item["expires_at"]["N"]) for kind, item in items_of(dynamodb).items()}

    # Terms are kept for the longest time that their task can last, because only the end decides how long that is.
    assert expiry == {
        "task": seconds_of(ended.expires_at),
        "result": seconds_of(ended.expires_at),
        "terms": seconds_of(task.expires_at + task.keep_result),
    }


def test_a_part_is_written_before_the_head_that_names_it(dynamodb: DynamoDbTaskStore) -> None:
    created = dynamodb.create(with_terms(LARGE_TERMS))
    table_behind(dynamodb.table.name).delete_item(*(value["S"] for value in item_key(created.key).values()))

    again = dynamodb.create(with_terms(LARGE_TERMS))

    assert again == created
    assert dynamodb.parts.terms_of(again) == LARGE_TERMS


def test_a_part_that_somebody_deleted_is_missed(dynamodb: DynamoDbTaskStore) -> None:
    created = dynamodb.create(with_terms(LARGE_TERMS))
    table_behind(dynamodb.table.name).items.clear()

    with pytest.raises(PartMissing):
        dynamodb.parts.terms_of(created)
