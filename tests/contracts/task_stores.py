"""The task stores that the contract tests run against, and tasks to store."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from stepwire.aws.clients import dynamodb_client
from stepwire.aws.storage.table import Table
from stepwire.principal import Principal
from stepwire.tasks.ids import RANDOM_BYTES, new_task_id
from stepwire.tasks.runs import Run
from stepwire.tasks.task import Task, Terms, Work, Working
from tests.fakes import START_OF_TIME
from tests.kits import ALICE, EXECUTION_PREFIX
from tests.simulated.dynamodb import quick_dynamodb_client
from tests.tables import new_table

_Store = TypeVar("_Store")


def on_dynamodb(adapter: Callable[[Table], _Store]) -> Callable[[], _Store]:
    """Return what builds an adapter on a new table of the simulated DynamoDB."""
    return lambda: adapter(Table(new_table(), dynamodb_client))


def places(in_memory: Callable[[], object], adapter: Callable[[Table], object]) -> list[Any]:
    """Return what builds a store in memory, and on the simulated DynamoDB by HTTP and without it."""
    without_http = lambda: adapter(Table(new_table(), quick_dynamodb_client))  # noqa: E731
    names = ("in_memory", "on_dynamodb", "on_dynamodb_without_http")
    built = (in_memory, on_dynamodb(adapter), without_http)
    marks = ((), pytest.mark.long, ())
    return [pytest.param(one, id=name, marks=mark) for one, name, mark in zip(built, names, marks, strict=True)]


def a_task(owner: Principal = ALICE, age: int = 0, number: int = 1) -> Task:
    """Return a new task: the `number`th of those that are `age` milliseconds old."""
    created_at = START_OF_TIME - timedelta(milliseconds=age)
    return Task(
        owner=owner,
        task_id=new_task_id(created_at, number.to_bytes(RANDOM_BYTES, "big")),
        work=Work("tool", Terms("{}"), EXECUTION_PREFIX),
        status=Working(),
        created_at=created_at,
        last_updated_at=created_at,
        ttl=timedelta(days=7),
        poll_interval=timedelta(seconds=2),
        longest_poll_interval=timedelta(minutes=1),
        checked_at=created_at,
        runs=(Run("arn:aws:states:eu-central-1:123456789012:stateMachine:Example"),),
    )
