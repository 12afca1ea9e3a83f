"""What a client says of a task of its own, read strictly: one that could not be kept is none."""

import math
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwire.tasks.client_tasks import LONGEST_INTERVAL, ClientTask, Standing, client_task_of, standing_of

MADE = ClientTask(1, "a session", "a-task")
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def created(**task: Any) -> ClientTask | None:
    return client_task_of(1, "a session", {"task": {"taskId": "a-task", "status": "working", **task}})


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("working", False),
        ("input_required", False),
        ("completed", True),
        ("failed", True),
        ("cancelled", False),
    ],
)
def test_a_task_may_be_in_any_status_when_it_is_made(status: str, *, expected: bool) -> None:
    found = created(status=status)

    assert found is not None
    assert found.has_ended is expected


@pytest.mark.parametrize("status", ["", "WORKING", "done", None, 7, True, ["working"], {"working": 1}])
def test_a_status_that_there_is_not_makes_no_task_and_says_nothing(status: Any) -> None:
    assert created(status=status) is None
    assert standing_of(MADE, {"taskId": "a-task", "status": status}) is Standing.LOST


@pytest.mark.parametrize("task_id", ["", "a b", "a\n", "ü", "x" * 129, "\x00", None, 7, ["a"], {"a": 1}])
def test_an_id_that_could_not_be_kept_makes_no_task(task_id: Any) -> None:
    assert created(taskId=task_id) is None


@pytest.mark.parametrize("task_id", ["x" * 128, "a.b.c", '"', "\\", "786512e2-9e0d-44bd-8f29-789f320fe840"])
def test_an_id_of_printable_characters_is_kept_as_it_is(task_id: str) -> None:
    found = created(taskId=task_id)

    assert found is not None
    assert found.task_id == task_id


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        (1, 0.001),
        (500, 0.5),
        (2_500.75, 2.5),
        (10**30, LONGEST_INTERVAL.total_seconds()),
        (0, 1),
        (-5, 1),
        (0.5, 1),
        (math.nan, 1),
        (math.inf, 1),
        ("500", 1),
        (True, 1),
        (None, 1),
        ([], 1),
    ],
)
def test_a_pace_is_kept_within_bounds(given: Any, seconds: float) -> None:
    found = created(pollInterval=given)

    assert found is not None
    assert found.poll_interval == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"taskId": "a-task", "status": "working"}, Standing.GOES_ON),
        ({"taskId": "a-task", "status": "input_required"}, Standing.GOES_ON),
        ({"taskId": "a-task", "status": "completed"}, Standing.HAS_RESULT),
        ({"taskId": "a-task", "status": "failed"}, Standing.HAS_RESULT),
        ({"taskId": "a-task", "status": "cancelled"}, Standing.CANCELLED),
        ({"taskId": "another", "status": "completed"}, Standing.LOST),
        ({"status": "completed"}, Standing.LOST),
        ({"task": {"taskId": "a-task", "status": "completed"}}, Standing.LOST),
        ({}, Standing.LOST),
        (None, Standing.LOST),
    ],
)
def test_a_task_stands_as_its_client_says(result: Any, expected: Standing) -> None:
    assert standing_of(MADE, result) is expected


@given(json_values)
def test_anything_can_be_read(value: Any) -> None:
    for result in (value, {"task": value}, {"task": {"taskId": "a", "status": value, "pollInterval": value}}):
        assert isinstance(client_task_of(1, "a session", result), ClientTask | None)
        assert isinstance(standing_of(MADE, result), Standing)
