"""Results that are too large for an item of DynamoDB are objects in the bucket of the stack, on a simulated S3."""

from typing import Any, Final

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from msgspec.structs import replace

from stepwire.aws.clients import s3_client
from stepwire.aws.s3 import LargeResults
from stepwire.aws.storage.items import LARGEST_PART
from stepwire.aws.storage.table import Table
from stepwire.aws.storage.task_store import DynamoDbTaskStore, task_store
from stepwire.errors import LargeResultsDenied, NeedsOperator, ObjectsUnavailable, PartMissing, SaveConflict
from stepwire.tasks.task import Cancelled, Completed, ResultElsewhere, Task, ToolResult
from tests.buckets import delete_objects_in, new_bucket, objects_in
from tests.contracts.task_stores import a_task
from tests.kits import ALICE, BOB
from tests.simulated.dynamodb import quick_dynamodb_client
from tests.tables import new_table, size_of, table_behind

RESULT: Final = ToolResult("ä" * LARGEST_PART, is_error=True)


@pytest.fixture
def bucket(aws: None) -> str:
    return new_bucket()


@pytest.fixture
def store(bucket: str) -> DynamoDbTaskStore:
    return task_store(Table(new_table(), quick_dynamodb_client), lambda: LargeResults(bucket, s3_client()))


def ended(store: DynamoDbTaskStore, task: Task | None = None) -> tuple[Task, ResultElsewhere]:
    """Save the end of a task with a large result; return it as it is stored."""
    saved = store.save(replace(store.create(task or a_task()), status=Completed(RESULT, "m")))
    assert isinstance(saved.status, Completed)
    assert isinstance(saved.status.result, ResultElsewhere)
    return saved, saved.status.result


# S5
def test_a_large_result_is_read_when_it_is_asked_for(store: DynamoDbTaskStore, bucket: str) -> None:
    task, kept = ended(store)

    assert store.load(task.key) == task
    assert (kept.is_error, kept.size) == (True, 2 * LARGEST_PART)
    assert store.parts.result_of(task, kept) == RESULT
    assert objects_in(bucket).keys() == {_only_key(bucket)}


# S6
def test_the_head_of_a_large_result_is_small(store: DynamoDbTaskStore) -> None:
    ended(store)

    items = [item.to_json()["Attributes"] for item in table_behind(store.table.name).all_items()]

    assert len(items) == 1, "no other item"
    assert size_of(items[0]) <= 1_024


def test_a_result_that_fits_into_an_item_is_no_object(store: DynamoDbTaskStore, bucket: str) -> None:
    store.save(replace(store.create(a_task()), status=Completed(ToolResult("r" * LARGEST_PART, is_error=False))))

    assert objects_in(bucket) == {}


# S5
def test_a_key_names_neither_the_caller_nor_the_content(store: DynamoDbTaskStore, bucket: str) -> None:
    task, _ = ended(store)

    owner, task_id, digest = _only_key(bucket).split("/")

    assert ALICE not in owner
    assert (len(owner), task_id, len(digest)) == (32, task.task_id, 32)


# S7, X28
def test_an_object_belongs_to_its_owner_and_its_task(store: DynamoDbTaskStore) -> None:
    """The place alone, which is a digest of the content, leads nowhere."""
    task, kept = ended(store)

    for other in (replace(task, owner=BOB), a_task(number=2)):
        with pytest.raises(PartMissing):
            store.parts.result_of(other, kept)


# S5
def test_writers_that_race_do_not_disturb_each_other(store: DynamoDbTaskStore, bucket: str) -> None:
    created = store.create(a_task())
    first = store.save(replace(created, status=Cancelled()))

    with pytest.raises(SaveConflict):
        store.save(replace(created, status=Completed(RESULT)))

    assert store.load(created.key) == first
    assert len(objects_in(bucket)) == 1, "nobody names it, and it expires"


# S5
def test_a_repeated_write_changes_nothing(store: DynamoDbTaskStore, bucket: str) -> None:
    created = store.create(a_task())
    once = store.save(replace(created, status=Completed(RESULT)))
    before = objects_in(bucket)

    with pytest.raises(SaveConflict):
        store.save(replace(created, status=Completed(RESULT)))

    assert store.load(created.key) == once
    assert objects_in(bucket) == before


def test_an_object_that_somebody_deleted_is_missed(store: DynamoDbTaskStore, bucket: str) -> None:
    task, kept = ended(store)
    delete_objects_in(bucket)

    with pytest.raises(PartMissing):
        store.parts.result_of(task, kept)


class Failing:
    """An S3 that answers with an error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def get_object(self, **_: object) -> None:
        raise self.error

    put_object = get_object


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "of AWS"}}, "PutObject")


WITHOUT_ANSWER: Final = (
    refused("SlowDown"),
    refused("InternalError"),
    refused("ExpiredToken"),
    ReadTimeoutError(endpoint_url="https://s3"),
)


# S9
@pytest.mark.parametrize("error", WITHOUT_ANSWER, ids=repr)
def test_without_an_answer_of_s3_no_end_is_recorded_and_nobody_is_at_fault(aws: None, error: Exception) -> None:
    client: Any = Failing(error)
    store = task_store(Table(new_table(), quick_dynamodb_client), lambda: LargeResults("b", client))
    created = store.create(a_task())

    with pytest.raises(ObjectsUnavailable) as fault:
        store.save(replace(created, status=Completed(RESULT)))
    with pytest.raises(ObjectsUnavailable):
        store.parts.result_of(created, ResultElsewhere(is_error=False, place="s3#1", size=1))

    assert store.load(created.key) == created
    assert not isinstance(fault.value, NeedsOperator)


# S9
@pytest.mark.parametrize("code", ["AccessDenied", "NoSuchBucket", "KMS.DisabledException"])
def test_a_denied_bucket_or_key_is_for_the_operator(code: str) -> None:
    client: Any = Failing(refused(code))

    with pytest.raises(LargeResultsDenied):
        LargeResults("b", client).write(a_task().key, "digest", "text")


@pytest.mark.parametrize(
    ("code", "fault"),
    [("AccessDenied", PartMissing), ("NoSuchBucket", PartMissing), ("KMS.DisabledException", LargeResultsDenied)],
)
def test_s3_denies_a_missing_object_to_those_who_may_not_list(code: str, fault: type[Exception]) -> None:
    client: Any = Failing(refused(code))

    with pytest.raises(fault):
        LargeResults("b", client).read(a_task().key, "digest")


def _only_key(bucket: str) -> str:
    (key,) = objects_in(bucket)
    return key
