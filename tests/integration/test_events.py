"""MCP Events on the whole local stack: what the table's stream tells, and what a caller is given of it."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from local import at_once
from tests.integration.stacks import ROOT, Deployed, deployed
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, ModernClient
from tests.waiting import until

TOOL: Final = "wait_and_echo"
REFUND: Final = {"order_id": "A-1002", "amount": "249.00", "currency": "EUR", "reason": "It wobbles."}
APPROVAL: Final = {"approval": {"action": "accept", "content": {"amount": 120.5, "note": "Half."}}}


@pytest.fixture(scope="module")
def stack() -> Iterator[Deployed]:
    with deployed(ROOT / "template.yaml", at_once, WaitSeconds="0") as made:
        yield made


@pytest.fixture
def modern(stack: Deployed) -> ModernClient:
    return ModernClient(stack, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})


def poll(client: ModernClient, task_id: str, cursor: str | None = None) -> dict[str, Any]:
    wanted = {"name": "task.status_changed", "arguments": {"taskId": task_id}, "cursor": cursor}
    return client.ask("events/poll", wanted).result


def test_a_caller_hears_of_each_question_and_of_the_end(modern: ModernClient, stack: Deployed) -> None:
    task_id = modern.call("approve_refund", REFUND).id_in()
    first = poll(modern, task_id)["cursor"]
    until(lambda: modern.task("get", task_id).result["status"] == "input_required")
    modern.update(task_id, APPROVAL)
    until(lambda: modern.task("get", task_id).result["status"] == "completed")
    stack.stack.drain()

    told = poll(modern, task_id, first)["events"]

    changes = [(one["data"]["previousStatus"], one["data"]["status"]) for one in told if one["data"]["previousStatus"]]
    assert changes == [("working", "input_required"), ("input_required", "working"), ("working", "completed")]
    assert not [words for words in ("249.00", "wobbles", "Half", "120.5") if words in json.dumps(told)]


def test_a_caller_hears_that_a_task_has_expired(modern: ModernClient, stack: Deployed) -> None:
    task_id = modern.call(TOOL, {"message": "hello", "seconds": 600}).id_in()
    cursor = poll(modern, task_id)["cursor"]

    stack.stack.expire(at=datetime.now(UTC) + timedelta(days=8))
    stack.stack.drain()

    assert [one["data"]["status"] for one in poll(modern, task_id, cursor)["events"]][-1:] == ["expired"]
