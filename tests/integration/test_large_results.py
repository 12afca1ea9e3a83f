"""Results too large for the status event or for the task's item: the client still gets all of them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local import at_once
from stepwire.aws.storage.parts import LARGEST_ENDED_HEAD
from tests.integration.stacks import Deployed, deployed
from tests.server.clients import LegacyClient, ModernClient

SMALL = {"text": "hello"}
# Too large for the task's head, small enough for an event.
TOO_LARGE_FOR_THE_HEAD = {"text": "a" * LARGEST_ENDED_HEAD}
# Each quotation mark takes two bytes in the output and four in the event, where the output is a string in JSON.
TOO_LARGE_FOR_THE_EVENT = {"text": '"' * 100_000}


@pytest.fixture(scope="module")
def stack() -> Iterator[Deployed]:
    """A stack with a workflow that returns its input."""
    with deployed(Path(__file__).parent / "template.yaml", at_once) as stack:
        yield stack


@pytest.mark.parametrize(
    ("output", "more"),
    [(SMALL, []), (TOO_LARGE_FOR_THE_HEAD, ["GetItem"]), (TOO_LARGE_FOR_THE_EVENT, ["DescribeExecution", "GetItem"])],
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


@pytest.mark.parametrize(("parts", "at_each"), [(1, []), (9, ["DescribeExecution", "GetObject"])])
def test_an_output_in_s3_is_returned_completely(stack: Deployed, parts: int, at_each: list[str]) -> None:
    """Beyond the 256 KiB of Step Functions. What an item holds is read from S3 once, the rest for each request."""
    part = "x" * 100_000
    task_id = ModernClient(stack).call("leaver", {"part": part, "parts": parts}).id_in()
    stack.wait_for_its_record(task_id)
    stack.calls.forget()

    in_modern = ModernClient(stack).task("get", task_id).result["result"]
    in_legacy = LegacyClient(stack).task("result", task_id).result

    assert in_modern["structuredContent"] == in_legacy["structuredContent"] == {"text": part * parts, "parts": parts}
    assert [made for made in stack.calls.made if made != "GetItem"] == at_each * 2
