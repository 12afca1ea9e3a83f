"""The items of the DynamoDB store: what is in them, and that the largest fits."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from io import BytesIO
from typing import Any, Final, cast

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import ClientError
from hypothesis import given
from mypy_boto3_dynamodb import DynamoDBClient

from stepwire.aws.clients import dynamodb_client
from stepwire.aws.dynamodb import DynamoDbTaskStore
from stepwire.aws.items import FORMAT, Item, item_of, task_of
from stepwire.json_text import write
from stepwire.manifests import LARGEST_SCHEMA
from stepwire.operations import LONGEST_TTL, faults_of
from stepwire.tasks.events import TaskEvent, WorkCompleted
from stepwire.tasks.lifecycle import advance
from stepwire.tasks.outcomes import (
    LARGEST_INLINE_RESULT,
    LARGEST_PROTOCOL_ERROR,
    PROTOCOL_ERROR_NAME,
    Broke,
    event_of,
    fitted,
)
from stepwire.tasks.task import LARGEST_INPUT, LONGEST_MESSAGE, Task, ToolResult
from tests.fakes import START_OF_TIME
from tests.kits import OPTIONAL, World, state_machine_arn
from tests.strategies import tasks

LARGEST_ITEM: Final = 400 * 1024
LONGEST_NAME: Final = 128
LONGEST_STATE_MACHINE_NAME: Final = 80
LARGEST_SQUARE: Final = "\N{LARGE RED SQUARE}"  # four bytes


def size_of(item: Item) -> int:
    """Count an item as DynamoDB does: names and texts in UTF-8, a number at its most expensive."""
    return sum(len(name.encode()) + _size_of_value(value) for name, value in item.items())


def _size_of_value(value: dict[str, str]) -> int:
    return len(value["S"].encode()) if "S" in value else 21


@given(tasks())
def test_a_task_survives_being_an_item(task: Task) -> None:
    assert task_of(item_of(task)) == task


@given(tasks())
def test_an_item_has_its_format_its_keys_and_nothing_but_texts_and_numbers(task: Task) -> None:
    item = item_of(task)

    assert item["pk"] == {"S": task.owner}
    assert item["sk"] == {"S": f"task#{task.task_id}"}
    assert item["format"] == {"N": str(FORMAT)}
    assert {kind for value in item.values() for kind in value} == {"S", "N"}


@pytest.mark.parametrize(
    ("created_at", "ttl", "expires_at"),
    [
        (START_OF_TIME, timedelta(seconds=60), 1_785_585_660),
        (START_OF_TIME, timedelta(seconds=60, milliseconds=1), 1_785_585_661),
        (START_OF_TIME + timedelta(milliseconds=999), timedelta(seconds=60), 1_785_585_661),
        (START_OF_TIME + timedelta(milliseconds=999), timedelta(seconds=60, milliseconds=1), 1_785_585_661),
    ],
)
def test_dynamodb_never_deletes_a_task_that_a_reader_still_sees(
    created_at: datetime, ttl: timedelta, expires_at: int
) -> None:
    """X13: the attribute of the TTL is in whole seconds, rounded up."""
    task = replace(World().call(), created_at=created_at, ttl=ttl)

    assert item_of(task)["expires_at"] == {"N": str(expires_at)}


def _largest_task() -> Task:
    """Give the largest task that can be working: every part as large as the kit lets it become."""
    schema = {"type": "object", "description": "x" * (LARGEST_SCHEMA - len('{"type":"object","description":""}'))}
    assert len(write(schema).encode()) == LARGEST_SCHEMA
    tool = replace(
        OPTIONAL,
        name="n" * LONGEST_NAME,
        state_machine_arn=state_machine_arn("m" * LONGEST_STATE_MACHINE_NAME),
        input_schema="{}",
        output_schema=write(schema),
        poll_interval=timedelta(hours=1),
        longest_poll_interval=timedelta(hours=1),
    )
    arguments = {"text": "x" * (LARGEST_INPUT - len('{"text":""}'))}
    assert faults_of(tool, arguments) == ()
    return World().call(tool, arguments=arguments, ttl_ms=LONGEST_TTL // timedelta(milliseconds=1))


def _largest_ends() -> Iterator[TaskEvent]:
    yield fitted(
        WorkCompleted(ToolResult("x" * LARGEST_INLINE_RESULT, is_error=True), LARGEST_SQUARE * LONGEST_MESSAGE)
    )
    yield event_of(Broke("E", LARGEST_SQUARE * 32_768), None)
    message = LARGEST_SQUARE * 8_000
    rest = LARGEST_PROTOCOL_ERROR - len(write({"code": 1, "message": message, "data": ""}).encode())
    yield event_of(Broke(PROTOCOL_ERROR_NAME, write({"code": 1, "message": message, "data": "x" * rest})), None)


@pytest.mark.parametrize("event", list(_largest_ends()), ids=["result", "failure", "protocol error"])
def test_the_largest_task_fits_into_an_item(event: TaskEvent) -> None:
    task = advance(_largest_task(), event, START_OF_TIME)

    assert task.has_ended
    assert size_of(item_of(task)) < LARGEST_ITEM


def test_every_read_is_strongly_consistent() -> None:
    """X8: what a caller was told is there is there."""
    reads: dict[str, Any] = {}

    def answer(params: dict[str, Any], model: Any, **_: object) -> tuple[AWSResponse, dict[str, Any]]:
        reads[model.name] = json.loads(params["body"])
        return AWSResponse("", 200, HTTPHeaders(), BytesIO()), {"Items": []}

    def client() -> DynamoDBClient:
        client = boto3.client(  # pyright: ignore[reportUnknownMemberType] - not all stubs are there
            "dynamodb", region_name="eu-central-1", aws_access_key_id="nobody", aws_secret_access_key="nothing"
        )
        client.meta.events.register("before-call.dynamodb", cast(Any, answer))
        return client

    store = DynamoDbTaskStore("tasks", client)
    task = World().call()

    store.load(task.key)
    store.page(task.owner, None, 10)

    assert {name: read["ConsistentRead"] for name, read in reads.items()} == {"GetItem": True, "Query": True}


def test_an_item_that_dynamodb_does_not_take_is_an_error_of_ours_and_no_lost_race(aws: None) -> None:
    store = DynamoDbTaskStore("no-such-table", dynamodb_client)

    with pytest.raises(ClientError):
        store.create(World().call())
    with pytest.raises(ClientError):
        store.save(World().call())
    with pytest.raises(ClientError):
        store.delete(World().call())
