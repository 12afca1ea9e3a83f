"""A task that expires while it runs: it is deleted, its execution stopped and its slot released."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from stepwire_local import at_once
from tests.integration.stacks import ROOT, Deployed, deployed
from tests.server.clients import LegacyClient, ModernClient
from tests.waiting import until

pytestmark = pytest.mark.long

TOOL = "wait_and_echo"
LONG = {"message": "hello", "seconds": 600}
LIMIT_REACHED = -31002
UNKNOWN = -32602
BY_TTL = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


@pytest.fixture(scope="module")
def stack() -> Iterator[Deployed]:
    """The root template, with a limit of one task per caller."""
    with deployed(ROOT / "stack.yaml", at_once, WaitSeconds="0", MostActiveTasks="1") as stack:
        yield stack


@pytest.fixture
def modern(stack: Deployed) -> Iterator[ModernClient]:
    """A client whose tasks are deleted after each test."""
    yield ModernClient(stack)
    let_expire(stack)


def let_expire(stack: Deployed) -> None:
    """Let time pass until every task of the example has expired, and its stream record is processed."""
    stack.stack.expire(at=datetime.now(UTC) + timedelta(days=3))
    stack.stack.drain()


def item_of(stack: Deployed, task_id: str) -> dict[str, Any]:
    """Read the stored item of a task."""
    client = stack.stack.client("dynamodb")
    items = client.scan(TableName=stack.stack.physical_ids["TasksTable"])["Items"]
    return next(item for item in items if item["sk"]["S"] == f"task#{task_id}")


def removal(item: dict[str, Any], number: str = "1") -> dict[str, Any]:
    """Return the stream record of a TTL deletion."""
    return {
        "eventName": "REMOVE",
        "userIdentity": BY_TTL,
        "dynamodb": {"SequenceNumber": number, "OldImage": item},
    }


# T24
def test_the_execution_of_a_task_that_expires_while_it_runs_is_stopped(modern: ModernClient, stack: Deployed) -> None:
    task_id = modern.call(TOOL, LONG).id_in()
    assert stack.status_of(task_id) == "RUNNING"

    let_expire(stack)

    assert stack.status_of(task_id) == "ABORTED"


# T27: within the first minute only the function frees it.
def test_the_slot_of_a_task_that_expires_is_free(modern: ModernClient, stack: Deployed) -> None:
    modern.call(TOOL, LONG)
    assert modern.call(TOOL, LONG).code == LIMIT_REACHED

    let_expire(stack)

    assert modern.call(TOOL, LONG).id_in()
    assert modern.call(TOOL, LONG).code == LIMIT_REACHED


# T24, T21
def test_a_task_that_has_expired_is_unknown_to_every_method(modern: ModernClient, stack: Deployed) -> None:
    legacy = LegacyClient(stack)
    task_id = modern.call(TOOL, LONG).id_in()

    let_expire(stack)
    codes = [legacy.task(method, task_id).code for method in ("get", "result", "cancel")]
    codes += [modern.task(method, task_id).code for method in ("get", "cancel")]
    codes.append(modern.update(task_id, {"approval": {"action": "decline"}}).code)

    assert codes == [UNKNOWN] * 6


def test_the_execution_of_an_ended_task_is_not_changed(modern: ModernClient, stack: Deployed) -> None:
    task_id = modern.call(TOOL, {"message": "hello"}).id_in()
    until(lambda: modern.task("get", task_id).result["status"] == "completed")

    let_expire(stack)

    assert stack.status_of(task_id) == "SUCCEEDED"
    assert modern.task("get", task_id).code == UNKNOWN


def test_a_duplicate_record_does_not_affect_the_next_task(modern: ModernClient, stack: Deployed) -> None:
    record = removal(item_of(stack, modern.call(TOOL, LONG).id_in()))
    let_expire(stack)
    following = modern.call(TOOL, LONG).id_in()

    answers = [stack.stack.invoke("ExpirationsFunction", {"Records": [record]}) for _ in range(2)]

    assert answers == [{"batchItemFailures": []}] * 2
    assert stack.status_of(following) == "RUNNING"
    assert modern.call(TOOL, LONG).code == LIMIT_REACHED


def test_failed_records_are_retried_from_the_first_failure_on(modern: ModernClient, stack: Deployed) -> None:
    task_id = modern.call(TOOL, LONG).id_in()
    good = item_of(stack, task_id)
    broken = {"pk": good["pk"], "sk": good["sk"]}
    records = [removal(good, "7"), removal(broken, "8"), removal(good, "9")]

    answer = stack.stack.invoke("ExpirationsFunction", {"Records": records})

    assert answer == {"batchItemFailures": [{"itemIdentifier": "8"}]}
    assert stack.status_of(task_id) == "ABORTED"
