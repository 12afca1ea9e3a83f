"""The items of the DynamoDB store: their contents, and that the largest one is within the limit."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from io import BytesIO
from typing import Any, Final, cast

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import ClientError
from hypothesis import given
from msgspec.structs import replace
from mypy_boto3_dynamodb import DynamoDBClient

from stepwire.aws.clients import dynamodb_client
from stepwire.aws.storage.items import FORMAT, LARGEST_PART, divided, item_of, task_of
from stepwire.aws.storage.table import Table
from stepwire.aws.storage.task_store import task_store
from stepwire.catalog.tools import Caller
from stepwire.engine.calls import checked_arguments
from stepwire.json_text import write
from stepwire.manifests.manifest import LARGEST_SCHEMA
from stepwire.tasks.answers import InputResponse
from stepwire.tasks.events import TaskEvent, WorkCompleted
from stepwire.tasks.inputs import Mode
from stepwire.tasks.lifecycle import advance
from stepwire.tasks.outcomes import (
    LARGEST_PROTOCOL_ERROR,
    PROTOCOL_ERROR_NAME,
    ExecutionFailed,
    event_of,
)
from stepwire.tasks.task import (
    LARGEST_INPUT,
    LONGEST_MESSAGE,
    LONGEST_TTL,
    Causes,
    Task,
    ToolResult,
)
from tests.fakes import START_OF_TIME
from tests.kits import ALICE, OPTIONAL, SAMPLING, World, plan_of, state_machine_arn
from tests.strategies import tasks
from tests.tables import size_of

LARGEST_ITEM: Final = 400 * 1024
LONGEST_NAME: Final = 128
LONGEST_STATE_MACHINE_NAME: Final = 80
LARGEST_SQUARE: Final = "\N{LARGE RED SQUARE}"  # four bytes


@given(tasks())
def test_a_task_is_read_from_its_item_unchanged(task: Task) -> None:
    assert task_of(item_of(task)) == task


@given(tasks())
def test_an_item_has_its_keys_and_its_format(task: Task) -> None:
    item = item_of(task)

    assert item["pk"] == {"S": task.owner}
    assert item["sk"] == {"S": f"task#{task.task_id}"}
    assert item["format"] == {"N": str(FORMAT)}
    assert {kind for value in item.values() for kind in value} <= {"S", "N", "BOOL"}


def test_questions_and_answers_of_every_kind_are_stored() -> None:
    world = World()
    task = world.call(modes=frozenset(Mode))
    world.ask(task.task_id, "user")
    world.ask(task.task_id, "model", other={"sampling": SAMPLING}, seconds=600)
    world.ask(task.task_id, "folders", other={"roots": {}})
    world.ask(task.task_id, "more_folders", other={"roots": {}})
    world.workflows.is_available = False
    world.answers.respond(task.owner, task.task_id, {"folders": {"roots": []}})
    stored = world.stored(task)

    item = item_of(stored)
    read = task_of(item)

    assert read == stored
    assert item_of(read) == item, "with what each state asks, which does not tell questions apart"
    assert len(read.input_requests) == 3
    assert [one.answers[-1].answer for one in read.inputs.undelivered] == [InputResponse(None, '{"roots":[]}')]


@pytest.mark.parametrize("causes", Causes)
def test_the_setting_of_causes_is_stored(causes: Causes) -> None:
    task = World().call()
    task = replace(task, work=replace(task.work, causes=causes))

    assert task_of(item_of(task)) == task


@pytest.mark.parametrize(
    ("created_at", "ttl", "expires_at"),
    [
        (START_OF_TIME, timedelta(seconds=60), 1_785_585_660),
        (START_OF_TIME, timedelta(seconds=60, milliseconds=1), 1_785_585_661),
        (START_OF_TIME + timedelta(milliseconds=999), timedelta(seconds=60), 1_785_585_661),
        (START_OF_TIME + timedelta(milliseconds=999), timedelta(seconds=60, milliseconds=1), 1_785_585_661),
    ],
)
def test_dynamodb_never_deletes_a_visible_task(created_at: datetime, ttl: timedelta, expires_at: int) -> None:
    """X13: the TTL attribute is in whole seconds, rounded up."""
    task = replace(World().call(), created_at=created_at, ttl=ttl)

    assert item_of(task)["expires_at"] == {"N": str(expires_at)}


def _largest_task() -> Task:
    """Return the largest possible working task: every part has its maximum size."""
    schema = {"type": "object", "description": "x" * (LARGEST_SCHEMA - len('{"type":"object","description":""}'))}
    assert len(write(schema).encode()) == LARGEST_SCHEMA
    tool = replace(
        OPTIONAL,
        name="n" * LONGEST_NAME,
        plan=plan_of(state_machine_arn("m" * LONGEST_STATE_MACHINE_NAME)),
        input_schema="{}",
        output_schema=write(schema),
        poll_interval=timedelta(hours=1),
        longest_poll_interval=timedelta(hours=1),
    )
    arguments = {"text": "x" * (LARGEST_INPUT - len('{"text":""}'))}
    assert checked_arguments(tool, arguments, LARGEST_INPUT, Caller(ALICE)).faults == ()
    return World().call(tool, arguments=arguments, ttl_ms=LONGEST_TTL // timedelta(milliseconds=1))


def _largest_ends() -> Iterator[TaskEvent]:
    yield WorkCompleted(ToolResult("x" * LARGEST_PART, is_error=True), LARGEST_SQUARE * LONGEST_MESSAGE)
    yield event_of(ExecutionFailed("E", LARGEST_SQUARE * 32_768), None)
    message = LARGEST_SQUARE * 8_000
    rest = LARGEST_PROTOCOL_ERROR - len(write({"code": 1, "message": message, "data": ""}).encode())
    yield event_of(
        ExecutionFailed(PROTOCOL_ERROR_NAME, write({"code": 1, "message": message, "data": "x" * rest})), None
    )


@pytest.mark.parametrize("event", list(_largest_ends()), ids=["result", "failure", "protocol error"])
def test_the_largest_task_fits_into_an_item(event: TaskEvent) -> None:
    task = advance(_largest_task(), event, START_OF_TIME).task

    stored = divided(task)

    assert task.has_ended
    assert all(size_of(item) < LARGEST_ITEM for item in (stored.item, *stored.parts))


def test_every_read_is_strongly_consistent() -> None:
    """X8: a task that a caller was told about is readable."""
    reads: dict[str, Any] = {}

    def answer(params: dict[str, Any], model: Any, **_: object) -> tuple[AWSResponse, dict[str, Any]]:
        reads[model.name] = json.loads(params["body"])
        return AWSResponse("", 200, HTTPHeaders(), BytesIO()), {"Items": [], "Responses": {}}

    def client() -> DynamoDBClient:
        client = boto3.client(  # pyright: ignore[reportUnknownMemberType] - not all stubs are there
            "dynamodb", region_name="eu-central-1", aws_access_key_id="nobody", aws_secret_access_key="nothing"
        )
        client.meta.events.register("before-call.dynamodb", cast(Any, answer))
        return client

    store = task_store(Table("tasks", client))
    task = World().call()

    store.load(task.key)
    store.page(task.owner, None, 10)
    store.load_watched(task.key, "a request")

    both = reads.pop("BatchGetItem")["RequestItems"]["tasks"]
    assert both["ConsistentRead"] is True
    assert {name: read["ConsistentRead"] for name, read in reads.items()} == {"GetItem": True, "Query": True}


def test_an_item_that_dynamodb_refuses_is_an_error_and_not_a_lost_race(aws: None) -> None:
    store = task_store(Table("no-such-table", dynamodb_client))

    with pytest.raises(ClientError):
        store.create(World().call())
    with pytest.raises(ClientError):
        store.save(World().call())
    with pytest.raises(ClientError):
        store.delete(World().call())
