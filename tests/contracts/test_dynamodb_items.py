"""The items of the DynamoDB store: their contents, and that the largest one is within the limit."""

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
from stepwire.aws.storage.items import FORMAT, Item, item_of, task_of
from stepwire.aws.storage.parts import LARGEST_PART, divided, size_of
from stepwire.aws.storage.task_store import DynamoDbTaskStore
from stepwire.catalog.additions import Caller
from stepwire.catalog.manifests import LARGEST_SCHEMA
from stepwire.engine.arguments import checked_arguments
from stepwire.json_text import write
from stepwire.principal import Principal
from stepwire.tasks.events import TaskEvent, WorkCompleted
from stepwire.tasks.ids import TaskId
from stepwire.tasks.inputs import Mode, Unanswerable
from stepwire.tasks.lifecycle import advance, as_of
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
    Cancelled,
    Causes,
    Completed,
    Failed,
    Inputs,
    Origin,
    ResultInExecution,
    Status,
    Task,
    TaskError,
    Terms,
    ToolResult,
    Work,
    Working,
)
from tests.fakes import START_OF_TIME
from tests.kits import ALICE, BOTH_MODES, OPTIONAL, SAMPLING, World, state_machine_arn
from tests.strategies import tasks

LARGEST_ITEM: Final = 400 * 1024
LONGEST_NAME: Final = 128
LONGEST_STATE_MACHINE_NAME: Final = 80
LARGEST_SQUARE: Final = "\N{LARGE RED SQUARE}"  # four bytes


@given(tasks())
def test_a_task_is_read_from_its_item_unchanged(task: Task) -> None:
    assert task_of(item_of(task)) == task


@given(tasks())
def test_an_item_contains_only_strings_and_numbers(task: Task) -> None:
    item = item_of(task)

    assert item["pk"] == {"S": task.owner}
    assert item["sk"] == {"S": f"task#{task.task_id}"}
    assert item["format"] == {"N": str(FORMAT)}
    assert {kind for value in item.values() for kind in value} == {"S", "N"}


# Rule 4 of docs/upgrades.md: an earlier version reads only `requests`, `inputs` and `origin`.
def test_an_earlier_version_sees_only_what_it_can_ask() -> None:
    world = World()
    task = world.call(modes=frozenset(Mode))
    world.ask(task.task_id, "user")
    world.ask(task.task_id, "model", other={"sampling": SAMPLING}, seconds=600)
    world.ask(task.task_id, "folders", other={"roots": {}})
    world.workflows.is_available = False
    world.dialogue.respond(task.owner, task.task_id, {"folders": {"roots": []}})
    stored = world.stored(task)

    item = item_of(stored)
    others = {"client_modes", "client_requests", "client_results"}
    earlier = task_of({name: value for name, value in item.items() if name not in others})

    assert task_of(item) == stored
    assert earlier.origin.modes == BOTH_MODES
    assert [one.key for one in as_of(earlier, world.clock.now()).input_requests] == ["user"]
    assert [one.answer for one in earlier.inputs.undelivered] == [Unanswerable()]


# Exactly what the previous version wrote: tasks live for up to thirty days.
ITEM_OF_FORMAT_1: Final[Item] = {
    "pk": {"S": "758ede2a8b140aab9517a5e2031621eb"},
    "sk": {"S": "task#01kyyk41g000000000000000000000000001"},
    "tool": {"S": "wait_and_echo"},
    "state_machine_arn": {"S": "arn:aws:states:eu-central-1:123456789012:stateMachine:WaitAndEcho"},
    "input": {"S": '{"message":"grüße","seconds":2}'},
    "output_schema": {"S": '{"type":"object"}'},
    "status": {"S": "working"},
    "format": {"N": "1"},
    "version": {"N": "3"},
    "created_at": {"N": "1785585600250"},
    "last_updated_at": {"N": "1785585600250"},
    "checked_at": {"N": "1785585660250"},
    "ttl_ms": {"N": "3600000"},
    "poll_interval_ms": {"N": "2000"},
    "expires_at": {"N": "1785589201"},
}


@pytest.mark.parametrize("causes", Causes)
def test_the_setting_of_causes_is_stored(causes: Causes) -> None:
    task = task_of(ITEM_OF_FORMAT_1)
    task = replace(task, work=replace(task.work, causes=causes))

    assert task_of(item_of(task)) == task


def test_an_item_of_the_previous_format_is_still_read() -> None:
    task = task_of(ITEM_OF_FORMAT_1)

    created_at = START_OF_TIME + timedelta(milliseconds=250)
    assert task == Task(
        owner=Principal("758ede2a8b140aab9517a5e2031621eb"),
        task_id=TaskId("01kyyk41g000000000000000000000000001"),
        work=Work(
            "wait_and_echo",
            state_machine_arn("WaitAndEcho"),
            Terms('{"message":"grüße","seconds":2}', '{"type":"object"}'),
        ),
        status=Working(),
        created_at=created_at,
        last_updated_at=created_at,
        ttl=timedelta(hours=1),
        poll_interval=timedelta(seconds=2),
        longest_poll_interval=timedelta(seconds=2),
        checked_at=created_at + timedelta(seconds=60),
        version=3,
    )
    assert (task.origin, task.inputs, task.progress, task.work.shows_state) == (Origin(), Inputs(), None, False)


@pytest.mark.parametrize(
    ("attributes", "status"),
    [
        ({"status": {"S": "working"}, "message": {"S": "m"}}, Working("m")),
        (
            {"status": {"S": "completed"}, "result": {"S": '{"content":[]}'}},
            Completed(ToolResult('{"content":[]}', is_error=False)),
        ),
        (
            {"status": {"S": "completed_with_error"}, "message": {"S": "m"}},
            Completed(ResultInExecution(is_error=True), "m"),
        ),
        ({"status": {"S": "failed"}, "error": {"S": '[4711,"m",null]'}}, Failed(TaskError(4711, "m"))),
        ({"status": {"S": "cancelled"}, "message": {"S": "m"}}, Cancelled("m")),
    ],
)
def test_every_status_of_the_previous_format_is_still_read(attributes: Item, status: Status) -> None:
    assert task_of({**ITEM_OF_FORMAT_1, **attributes}).status == status


def test_an_item_of_the_previous_format_is_saved_in_the_current_one() -> None:
    """The previous version would drop attributes that it does not know, so the format tells it that there are some."""
    assert item_of(task_of(ITEM_OF_FORMAT_1))["format"] == {"N": "3"}


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
        state_machine_arn=state_machine_arn("m" * LONGEST_STATE_MACHINE_NAME),
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
    task = advance(_largest_task(), event, START_OF_TIME)

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

    store = DynamoDbTaskStore("tasks", client)
    task = World().call()

    store.load(task.key)
    store.page(task.owner, None, 10)
    store.load_watched(task.key, "a request")

    both = reads.pop("BatchGetItem")["RequestItems"]["tasks"]
    assert both["ConsistentRead"] is True
    assert {name: read["ConsistentRead"] for name, read in reads.items()} == {"GetItem": True, "Query": True}


def test_an_item_that_dynamodb_refuses_is_an_error_and_not_a_lost_race(aws: None) -> None:
    store = DynamoDbTaskStore("no-such-table", dynamodb_client)

    with pytest.raises(ClientError):
        store.create(World().call())
    with pytest.raises(ClientError):
        store.save(World().call())
    with pytest.raises(ClientError):
        store.delete(World().call())
