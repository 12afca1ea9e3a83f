"""The status of a client's task, parsed strictly: an invalid one is ignored."""

import math
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins
from msgspec.structs import replace

from stepwire.extras.client_tasks.notes import (
    LONGEST_INTERVAL,
    MOST_CLIENT_TASKS,
    NAME,
    ClientTask,
    ClientTaskState,
    Note,
    client_task_of,
    client_task_state_of,
    closed,
    made_of,
    noted,
)
from stepwire.tasks.events import Noted
from stepwire.tasks.inputs import Callback, FormElicitation, InputRequest
from stepwire.tasks.task import InputRequired, Inputs, Task
from tests.kits import World
from tests.unit.tasks.advancing import advanced

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
def test_a_new_task_may_have_any_status(status: str, *, expected: bool) -> None:
    found = created(status=status)

    assert found is not None
    assert found.has_ended is expected


@pytest.mark.parametrize("status", ["", "WORKING", "done", None, 7, True, ["working"], {"working": 1}])
def test_an_unknown_status_is_ignored(status: Any) -> None:
    assert created(status=status) is None
    assert client_task_state_of(MADE, {"taskId": "a-task", "status": status}) is ClientTaskState.LOST


@pytest.mark.parametrize("task_id", ["", "a b", "a\n", "ü", "x" * 129, "\x00", None, 7, ["a"], {"a": 1}])
def test_an_invalid_id_is_ignored(task_id: Any) -> None:
    assert created(taskId=task_id) is None


@pytest.mark.parametrize("task_id", ["x" * 128, "a.b.c", '"', "\\", "786512e2-9e0d-44bd-8f29-789f320fe840"])
def test_an_id_of_printable_characters_is_kept_unchanged(task_id: str) -> None:
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
def test_a_poll_interval_is_limited(given: Any, seconds: float) -> None:
    found = created(pollInterval=given)

    assert found is not None
    assert found.poll_interval == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"taskId": "a-task", "status": "working"}, ClientTaskState.GOES_ON),
        ({"taskId": "a-task", "status": "input_required"}, ClientTaskState.GOES_ON),
        ({"taskId": "a-task", "status": "completed"}, ClientTaskState.HAS_RESULT),
        ({"taskId": "a-task", "status": "failed"}, ClientTaskState.HAS_RESULT),
        ({"taskId": "a-task", "status": "cancelled"}, ClientTaskState.CANCELLED),
        ({"taskId": "another", "status": "completed"}, ClientTaskState.LOST),
        ({"status": "completed"}, ClientTaskState.LOST),
        ({"task": {"taskId": "a-task", "status": "completed"}}, ClientTaskState.LOST),
        ({}, ClientTaskState.LOST),
        (None, ClientTaskState.LOST),
    ],
)
def test_the_status_is_that_of_the_client(result: Any, expected: ClientTaskState) -> None:
    assert client_task_state_of(MADE, result) is expected


@given(json_values)
def test_any_json_is_parsed_without_another_error(value: Any) -> None:
    for result in (value, {"task": value}, {"task": {"taskId": "a", "status": value, "pollInterval": value}}):
        assert isinstance(client_task_of(1, "a session", result), ClientTask | None)
        assert isinstance(client_task_state_of(MADE, result), ClientTaskState)


def asking(*numbers: int) -> Task:
    """Make a task with these open questions, of three that were asked."""
    form = FormElicitation("Go on?", '{"type":"object","properties":{}}')
    requests = tuple(InputRequest(f"q{number}", number, form, Callback(f"token {number}")) for number in numbers)
    return replace(World().call(), status=InputRequired(requests), inputs=Inputs(asked=3))


def test_a_task_of_a_client_is_no_news_of_ours() -> None:
    task = asking(1)
    later = task.last_updated_at + timedelta(minutes=1)

    after = advanced(task, Noted(NAME, noted(MADE)), later)
    last = advanced(after, Noted(NAME, closed(MADE)), later)

    assert made_of(after) == (MADE,)
    assert last.notes == {}
    assert after.last_updated_at == last.last_updated_at == task.last_updated_at


def test_a_task_that_has_ended_is_forgotten_once_its_question_is_closed() -> None:
    ended = ClientTask(1, "a session", "ended", has_ended=True)
    unwanted = ClientTask(1, "a session", "to be cancelled")
    task = replace(asking(2), notes={NAME: to_builtins(Note((ended, unwanted)))})
    made = ClientTask(2, "a session", "a-task")

    assert made_of(advanced(task, Noted(NAME, noted(made)), task.created_at)) == (unwanted, made)


def test_a_task_of_a_question_that_was_never_asked_is_not_noted() -> None:
    task = asking(1)

    assert advanced(task, Noted(NAME, noted(ClientTask(4, "a session", "a-task"))), task.created_at) == task


def test_no_more_than_so_many_are_noted() -> None:
    task = asking(1)

    for number in range(MOST_CLIENT_TASKS + 1):
        task = advanced(task, Noted(NAME, noted(ClientTask(1, "a session", f"task-{number}"))), task.created_at)

    assert [one.task_id for one in made_of(task)] == [f"task-{number}" for number in range(MOST_CLIENT_TASKS)]
