"""The questions of a task, as properties of every history and of single events."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from stepwire.tasks.answers import Action, Given, InputResponse
from stepwire.tasks.events import (
    Answered,
    AnswersDelivered,
    InputRefused,
    InputRequested,
    StateEntered,
    TaskEvent,
)
from stepwire.tasks.inputs import Callback, FormElicitation, WorkflowInput
from stepwire.tasks.lifecycle import as_of
from stepwire.tasks.task import LONGEST_MESSAGE, InputRequired, Task, ToolResult
from tests.fakes import START_OF_TIME
from tests.kits import World
from tests.strategies import (
    asking,
    dialogue_events,
    lasting_events,
    moments,
    questions,
    tasks,
    working,
)
from tests.unit.tasks.advancing import advanced

FORM = FormElicitation("May it go on?", '{"type":"object","properties":{}}')
YES = InputResponse(Action.ACCEPT, "{}")
NO = InputResponse(Action.DECLINE)
DECLINED = ToolResult('{"content":[],"isError":true}', is_error=True)
SECOND = timedelta(seconds=1)

History = list[tuple[TaskEvent, datetime]]
histories: st.SearchStrategy[History] = st.lists(st.tuples(questions | dialogue_events | lasting_events, moments))
"""Events of an active task, mostly questions."""


def asked(key: str = "approval", token: str = "token", expires_at: datetime | None = None) -> InputRequested:
    """Return the event of a question."""
    return InputRequested(key, FORM, Callback(token), expires_at)


def lived(history: Iterable[tuple[TaskEvent, datetime]]) -> list[Task]:
    """Return a new task, and the task after each event."""
    return list(accumulate(history, lambda task, step: advanced(task, *step), initial=World().call()))


def after(*history: TaskEvent) -> Task:
    """Return a task after some events at the same time."""
    return lived((event, START_OF_TIME) for event in history)[-1]


def open_keys(task: Task) -> list[str]:
    return [request.key for request in task.input_requests]


# ---------------------------------------------------------------------------------------------------------- any history


@given(histories)
def test_the_keys_of_a_task_are_never_used_twice(history: History) -> None:
    """T29: whatever a workflow calls its questions."""
    for task in lived(history):
        assert len(set(task.inputs.used_keys)) == len(task.inputs.used_keys)
        assert len(set(open_keys(task))) == len(open_keys(task))
        assert {key.partition("#")[0] for key in open_keys(task)} <= set(task.inputs.used_keys)


@given(histories)
def test_a_key_identifies_one_question(history: History) -> None:
    """X14: even after a wrong answer."""
    shown = {(one.key, one.number) for task in lived(history) for one in task.input_requests}

    assert len({key for key, _ in shown}) == len(shown)


@given(histories)
def test_the_numbers_of_questions_strictly_grow(history: History) -> None:
    for before, then in pairwise(lived(history)):
        known = {request.number for request in before.input_requests}
        new = [request.number for request in then.input_requests if request.number not in known]
        assert all(number > before.inputs.asked for number in new)
        assert then.inputs.asked == max([before.inputs.asked, *new])


@given(histories)
def test_a_task_token_has_at_most_one_open_question(history: History) -> None:
    for task in lived(history):
        waiting = [request.destination for request in task.input_requests]
        answered = [Callback(one.token) for one in task.inputs.undelivered]
        assert len({*waiting, *answered}) == len(waiting) + len(answered)


@given(histories)
def test_a_recorded_answer_is_kept_until_it_is_delivered(history: History) -> None:
    for (event, _), (before, then) in zip(history, pairwise(lived(history)), strict=True):
        delivered = event.tokens if isinstance(event, AnswersDelivered) else frozenset[str]()
        kept = tuple(one for one in before.inputs.undelivered if one.token not in delivered)
        assert then.inputs.undelivered[: len(kept)] == kept


@given(tasks(working | asking), moments)
def test_no_expired_question_is_open(task: Task, at: datetime) -> None:
    then = as_of(task, at)

    assert all(one.expires_at is None or one.expires_at > at for one in then.input_requests)
    gone = [one for one in task.input_requests if one not in then.input_requests]
    over = [one for one in gone if one.expires_at is not None and one.expires_at <= at]
    # A task whose confirmation expires ends.
    assert over == gone or (then.has_ended and any(isinstance(one.destination, WorkflowInput) for one in over))
    assert as_of(then, at) is then


@given(tasks(working | asking), moments)
def test_answers_to_unknown_questions_change_nothing(task: Task, at: datetime) -> None:
    """X16."""
    task = as_of(task, at)

    assert advanced(task, Answered({1_001: Given("a" * 32, at, YES)}), at) is task


# --------------------------------------------------------------------------------------------------------------- asking


def test_a_question_with_a_used_key_gets_another_key() -> None:
    task = after(asked("a", "1"), Answered({1: Given("a" * 32, START_OF_TIME, YES)}), asked("a", "2"), asked("a", "3"))

    assert open_keys(task) == ["a-2", "a-3"]


def test_a_key_with_a_suffix_does_not_collide_with_an_authors_key() -> None:
    task = after(asked("a-3", "1"), asked("a", "2"), asked("a", "3"))

    assert len(set(open_keys(task))) == 3


def test_a_duplicate_request_after_the_answer_is_ignored() -> None:
    """The answer is recorded, so it is not asked again."""
    answered = after(asked("a", "1"), Answered({1: Given("a" * 32, START_OF_TIME, YES)}))

    assert advanced(answered, asked("a", "1"), START_OF_TIME) is answered


def test_an_unknown_question_is_not_asked_again() -> None:
    task = after(asked("a", "1"))

    assert advanced(task, InputRefused({"b": "wrong"}), START_OF_TIME) is task


def test_the_status_message_is_kept_while_a_question_is_open() -> None:
    task = after(asked("a", "1"), StateEntered("Counting"))

    assert isinstance(task.status, InputRequired)
    assert task.status.message == "The workflow is in its state Counting."


def test_a_question_ends_exactly_at_its_expiry() -> None:
    expires_at = START_OF_TIME + SECOND
    task = after(asked("a", "1", expires_at), asked("b", "2"))

    assert open_keys(as_of(task, expires_at - SECOND / 1000)) == ["a", "b"]
    assert open_keys(as_of(task, expires_at)) == ["b"]


def test_a_question_that_arrives_at_its_expiry_is_not_asked() -> None:
    task = World().call()

    assert advanced(task, asked(expires_at=START_OF_TIME), START_OF_TIME) is task
    assert open_keys(advanced(task, asked(expires_at=START_OF_TIME + SECOND / 1000), START_OF_TIME)) == ["approval"]


# -------------------------------------------------------------------------------------------------------- asking again


def test_a_question_asked_a_third_time_has_its_authors_key_and_its_number() -> None:
    task = after(asked("a", "1"), InputRefused({"a": "wrong"}), InputRefused({"a#2": "wrong again"}))

    assert [(one.key, one.refusal) for one in task.input_requests] == [("a#3", "wrong again")]


def test_several_questions_are_asked_again_at_once() -> None:
    task = after(asked("a", "1"), asked("b", "2"), asked("c", "3"), InputRefused({"a": "x", "c": "y"}))

    assert [(one.key, one.refusal) for one in task.input_requests] == [("a#4", "x"), ("b", None), ("c#5", "y")]


def test_the_refusal_of_an_answer_has_a_bounded_length() -> None:
    task = after(asked("a", "1"), InputRefused({"a": "x" * 5_000}))

    assert task.input_requests[0].refusal == "x" * LONGEST_MESSAGE


def test_all_refusals_together_have_a_bounded_length() -> None:
    """The task must fit into its item."""
    refusals = [InputRefused({key: "x" * 600}) for key in ("a", "b", "c", "a#4")]

    at_once = after(*(asked(key, key) for key in "abc"), InputRefused(dict.fromkeys("abc", "x" * 600)))
    task = after(*(asked(key, key) for key in "abc"), *refusals)

    first, second, third = task.input_requests
    assert [len(one.refusal or "") for one in (first, second, third)] == [600, 400, 0]
    assert [one.number for one in (first, second, third)] == [7, 5, 6]
    assert [len(one.refusal or "") for one in at_once.input_requests] == [600, 400, 0]
