"""Results too large for the status event or for the task's item: the client still gets all of them."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from stepwire.aws.storage.items import LARGEST_ENDED_HEAD
from stepwire_local import at_once
from tests.buckets import delete_objects_in
from tests.integration.stacks import OWN, Deployed, body_of, deployed, executions_with
from tests.recorded import recorded
from tests.server.clients import LegacyClient, ModernClient

SMALL = {"text": "hello"}
# Too large for the task's head, small enough for an event.
TOO_LARGE_FOR_THE_HEAD = {"text": "a" * LARGEST_ENDED_HEAD}
# Each quotation mark takes two bytes in the output and four in the event, where the output is a string in JSON.
TOO_LARGE_FOR_THE_EVENT = {"text": '"' * 100_000}


@pytest.fixture(scope="module")
def stack() -> Iterator[Deployed]:
    """A stack with a workflow that returns its input."""
    with deployed(OWN, at_once) as stack:
        yield stack


@pytest.mark.parametrize(
    ("output", "more"),
    [(SMALL, []), (TOO_LARGE_FOR_THE_HEAD, ["GetItem"]), (TOO_LARGE_FOR_THE_EVENT, ["GetObject"])],
    ids=["small", "too large for the head", "too large for the event"],
)
def test_a_large_result_is_returned_completely(stack: Deployed, output: dict[str, Any], more: list[str]) -> None:
    legacy, modern = LegacyClient(stack), ModernClient(stack)
    task_id = modern.call("parrot", output).id_in()
    stack.wait_for_its_record(task_id)
    stack.calls.forget()

    in_modern = modern.task("get", task_id).result["result"]
    in_legacy = legacy.task("result", task_id).result

    assert in_modern["structuredContent"] == in_legacy["structuredContent"] == output
    assert json.loads(in_modern["content"][0]["text"]) == output
    assert stack.calls.made == ["GetItem", *more] * 2


def test_a_poll_that_shows_no_result_does_not_read_it(stack: Deployed) -> None:
    """In 2025-11-25, `tasks/get` shows none."""
    legacy = LegacyClient(stack)
    task_id = legacy.call("parrot", TOO_LARGE_FOR_THE_HEAD, task={}).id_in("task")
    stack.wait_for_its_record(task_id)
    stack.calls.forget()

    legacy.task("get", task_id)

    assert stack.calls.made == ["GetItem"]


def test_an_output_that_the_event_left_out_is_fetched_once_to_record_the_end(stack: Deployed) -> None:
    legacy = LegacyClient(stack)
    stack.calls.forget()

    task_id = legacy.call("parrot", TOO_LARGE_FOR_THE_EVENT, task={}).id_in("task")
    stack.wait_for_its_record(task_id)

    assert stack.calls.made.count("DescribeExecution") == 1


def test_a_plain_call_gets_a_large_result_too(stack: Deployed) -> None:
    client = ModernClient(stack, capabilities={})

    result = client.call("parrot", TOO_LARGE_FOR_THE_EVENT).result

    assert result["structuredContent"] == TOO_LARGE_FOR_THE_EVENT


def test_arguments_that_are_too_large_start_nothing(stack: Deployed) -> None:
    before = stack.executions()

    result = ModernClient(stack).call("parrot", {"text": "x" * 262_144}).result

    assert result["isError"] is True
    assert stack.executions() == before


# S1, S6
@pytest.mark.parametrize(("parts", "place"), [(1, "GetItem"), pytest.param(9, "GetObject", marks=pytest.mark.long)])
def test_an_output_in_s3_is_returned_completely(stack: Deployed, parts: int, place: str) -> None:
    """Beyond the 256 KiB of Step Functions. It is read from where the workflow left it once, at the end."""
    task_id, output = left(stack, parts)
    stack.calls.forget()

    in_modern = ModernClient(stack).task("get", task_id).result["result"]
    in_legacy = LegacyClient(stack).task("result", task_id).result

    assert in_modern["structuredContent"] == in_legacy["structuredContent"] == output
    assert json.loads(in_modern["content"][0]["text"]) == output
    assert stack.calls.made == ["GetItem", place] * 2


# S5
@pytest.mark.long
def test_the_end_of_a_large_result_is_one_object_and_then_the_task(stack: Deployed) -> None:
    stack.calls.forget()

    left(stack, 9)

    # Before it, there is the creation; the part of the arguments is read for the output's shape.
    assert stack.calls.made[-4:] == ["GetObject", "PutObject", "PutItem", "UpdateItem"]
    assert "DescribeExecution" not in stack.calls.made


# S6
@pytest.mark.long
def test_polls_of_a_large_result_read_one_item(stack: Deployed) -> None:
    """In 2025-11-25, `tasks/get` and `tasks/list` show no result."""
    task_id, _ = left(stack, 9)
    legacy = LegacyClient(stack)
    stack.calls.forget()

    legacy.task("get", task_id)
    legacy.ask("tasks/list")

    assert stack.calls.made == ["GetItem", "Query"]


# S6
@pytest.mark.long
def test_a_large_result_outlives_its_execution_and_what_the_workflow_left(stack: Deployed) -> None:
    task_id, output = left(stack, 9)
    forget_the_execution(stack, task_id)

    result = LegacyClient(stack).task("result", task_id).result

    assert result["structuredContent"] == output


# S7, X28
@pytest.mark.long
def test_a_large_result_is_its_caller_s_alone(stack: Deployed) -> None:
    task_id, _ = left(stack, 9)
    event = recorded("http_post_jwt")
    event["requestContext"]["authorizer"]["jwt"]["claims"]["sub"] = "somebody else"
    message = {"jsonrpc": "2.0", "id": 1, "method": "tasks/result", "params": {"taskId": task_id}}
    stack.calls.forget()

    answer = body_of(stack.stack.invoke("McpFunction", {**event, "body": json.dumps(message)}))

    assert answer["error"]["code"] == -32602
    assert stack.calls.made == ["GetItem"]


# S6
def test_a_result_that_is_small_enough_needs_no_client_of_s3(stack: Deployed) -> None:
    stack.calls.forget()
    task_id = ModernClient(stack).call("parrot", TOO_LARGE_FOR_THE_HEAD).id_in()
    stack.wait_for_its_record(task_id)

    ModernClient(stack).task("get", task_id)

    assert "s3" not in stack.calls.clients


def left(stack: Deployed, parts: int) -> tuple[str, dict[str, Any]]:
    """Return a task whose workflow has left a text of so many parts in S3, and its output."""
    part = "x" * 100_000
    task_id = ModernClient(stack).call("leaver", {"part": part, "parts": parts}).id_in()
    stack.wait_for_its_record(task_id)
    return task_id, {"text": part * parts, "parts": parts}


def forget_the_execution(stack: Deployed, task_id: str) -> None:
    """Remove an execution, as Step Functions does after 90 days, and the object that its workflow left."""
    executions = executions_with(arn := stack.execution_of(task_id))
    executions[:] = [one for one in executions if one.execution_arn != arn]
    delete_objects_in("left-results")
