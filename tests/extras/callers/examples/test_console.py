"""What the console shows of a task whose caller is blocked: in its JSON API, and in a real Chromium."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from stepwire.extras.callers.commands import BLOCKS
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.commanding import OPERATOR, Door
from stepwire_cli.account.pacing import Pacer
from stepwire_cli.app import run
from stepwire_local import LocalStack
from tests.browser.chromium import needs_chromium
from tests.examples.test_console_page import seen
from tests.examples.test_console_site import by_id, http, modern, read, stack
from tests.waiting import until

__all__ = ["http", "stack"]


@contextmanager
def blocked_caller(stack: LocalStack) -> Generator[tuple[str, str]]:
    """Block somebody who has a copy of one of the tasks, and nobody else; yield who it is, and the copy's id."""
    table, dynamodb = stack.physical_ids["TasksTable"], stack.client("dynamodb")
    values = {":prefix": {"S": "task#"}}
    found = dynamodb.scan(
        TableName=table, FilterExpression="begins_with(sk, :prefix)", ExpressionAttributeValues=values
    )
    item, owner = found["Items"][0], "5" * 32
    copy = f"{item['sk']['S'][:-1]}{'1' if item['sk']['S'].endswith('0') else '0'}"
    dynamodb.put_item(TableName=table, Item={**item, "pk": {"S": owner}, "sk": {"S": copy}})
    door = Door(Calls(stack.client, Pacer(time.monotonic, time.sleep)), stack.physical_ids[OPERATOR])
    door.do(BLOCKS, "block", hashes=[owner])
    yield owner, copy.removeprefix("task#")
    door.do(BLOCKS, "unblock", hashes=[owner])


def test_a_task_says_since_when_and_by_whom_its_caller_is_blocked(http: httpx.Client, stack: LocalStack) -> None:
    own = modern(http, "tools/call", "wait_and_echo", name="wait_and_echo", arguments={"message": "hi"})["taskId"]

    with blocked_caller(stack) as (owner, others):
        until(lambda: others in by_id(read(http, "tasks")))
        listed = by_id(read(http, "tasks"))
    afterwards = read(http, "tasks")

    block = listed[others]["blocked"]
    assert listed[others]["caller"] == owner
    assert block["since"].endswith("Z")
    assert block["operator"].startswith("arn:aws:")
    assert listed[own]["blocked"] is None
    assert not [one for one in afterwards if one["blocked"]]


@pytest.mark.long
@needs_chromium
def test_a_task_of_a_blocked_caller_says_so_in_the_list_and_on_its_page(stack: LocalStack) -> None:
    run(["--url", stack.url, "--auth", "none", "call", "wait_and_echo", "message=hello"])

    with blocked_caller(stack) as (_, task_id):
        steps: list[list[Any]] = [
            ["open", f"#/tasks/{task_id}"],
            ["text", ".head .fault"],
            ["text", f"nav a[href='#/tasks/{task_id}']"],
            ["axe"],
        ]
        found = seen(stack, steps)

    assert found[1].startswith("Its caller is blocked since ")
    assert " by arn:aws:" in found[1]
    assert "caller blocked" in found[2]
    assert found[3] == []
