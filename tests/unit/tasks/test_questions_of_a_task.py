"""The questions of a task, as properties of every history and of single events."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stepwire.tasks.events import (
    AnswersDelivered,
    InputAnswered,
    InputRefused,
    InputRequested,
    StateEntered,
    TaskEvent,
    WorkConfirmed,
    WorkDeclined,
    WorkStopped,
)
from stepwire.tasks.inputs import (
    KEY_PATTERN,
    Action,
    Callback,
    FormElicitation,
    InputRequest,
    InputResponse,
    Unanswerable,
    UndeliveredAnswer,
    WorkflowInput,
)
from stepwire.tasks.lifecycle import as_of
from stepwire.tasks.task import LONGEST_MESSAGE, Completed, InputRequired, Inputs, Task, Terms, ToolResult, Working
from tests.fakes import START_OF_TIME
from tests.kits import World
from tests.strategies import (
    asking,
    dialogue_events,
    keys,
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


@given(st.lists(keys))
def test_every_question_has_a_unique_key(names: list[str]) -> None:
    task = after(*(asked(name, str(number)) for number, name in enumerate(names)))

    assert len(set(open_keys(task))) == len(names)


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
    gone = set(task.input_requests) - set(then.input_requests)
    over = {one for one in gone if one.expires_at is not None and one.expires_at <= at}
    # A task whose confirmation expires ends.
    assert over == gone or (then.has_ended and any(isinstance(one.destination, WorkflowInput) for one in over))
    assert as_of(then, at) is then


@given(tasks(working | asking), moments)
def test_answers_to_unknown_keys_change_nothing(task: Task, at: datetime) -> None:
    """X16."""
    task = as_of(task, at)

    assert advanced(task, InputAnswered({"of another": YES}), at) is task


# --------------------------------------------------------------------------------------------------------------- asking


def test_a_question_makes_the_task_require_input_and_says_when_it_was_asked() -> None:
    task = World().call()

    then = advanced(task, asked("approval", "token", START_OF_TIME + SECOND), START_OF_TIME + SECOND / 2)

    question = InputRequest("approval", 1, FORM, Callback("token"), START_OF_TIME + SECOND)
    assert then.status == InputRequired((question,))
    assert then.last_updated_at == START_OF_TIME + SECOND / 2


def test_several_questions_are_open_at_once_the_oldest_first() -> None:
    task = after(asked("b", "1"), asked("a", "2"), asked("c", "3"))

    assert open_keys(task) == ["b", "a", "c"]


def test_a_question_with_a_used_key_gets_another_key() -> None:
    task = after(asked("a", "1"), InputAnswered({"a": YES}), asked("a", "2"), asked("a", "3"))

    assert open_keys(task) == ["a-2", "a-3"]


def test_a_key_with_a_suffix_does_not_collide_with_an_authors_key() -> None:
    task = after(asked("a-3", "1"), asked("a", "2"), asked("a", "3"))

    assert len(set(open_keys(task))) == 3


def test_the_same_token_asked_twice_is_one_question() -> None:
    once = after(asked("a", "1"))

    assert advanced(once, asked("a", "1"), START_OF_TIME) is once


def test_a_duplicate_request_after_the_answer_is_ignored() -> None:
    """The answer is recorded, so it is not asked again."""
    answered = after(asked("a", "1"), InputAnswered({"a": YES}))

    assert advanced(answered, asked("a", "1"), START_OF_TIME) is answered


def test_the_status_message_is_kept_while_a_question_is_open() -> None:
    task = after(asked("a", "1"), StateEntered("Counting"))

    assert isinstance(task.status, InputRequired)
    assert task.status.message == "The workflow is in its state Counting."


def test_a_question_ends_exactly_at_its_expiry() -> None:
    expires_at = START_OF_TIME + SECOND
    task = after(asked("a", "1", expires_at), asked("b", "2"))

    assert open_keys(as_of(task, expires_at - SECOND / 1000)) == ["a", "b"]
    assert open_keys(as_of(task, expires_at)) == ["b"]


def test_a_task_whose_last_question_expired_is_working() -> None:
    task = after(asked("a", "1", START_OF_TIME + SECOND), StateEntered("Waiting"))

    assert as_of(task, START_OF_TIME + SECOND).status == Working("The workflow is in its state Waiting.")


# ------------------------------------------------------------------------------------------------------------ answering


def test_an_answer_closes_its_question_and_is_undelivered() -> None:
    task = after(asked("a", "1"), asked("b", "2"), InputAnswered({"a": YES}))

    assert open_keys(task) == ["b"]
    assert task.inputs.undelivered == (UndeliveredAnswer("1", YES),)


def test_the_answer_to_the_last_question_makes_the_task_working() -> None:
    task = after(asked("a", "1"), InputAnswered({"a": Unanswerable()}))

    assert task.status == Working()
    assert task.inputs.undelivered == (UndeliveredAnswer("1", Unanswerable()),)


def test_a_duplicate_answer_is_ignored() -> None:
    """X16."""
    once = after(asked("a", "1"), InputAnswered({"a": YES}))

    assert advanced(once, InputAnswered({"a": NO}), START_OF_TIME) is once


def test_an_answer_after_the_expiry_is_ignored() -> None:
    task = after(asked("a", "1", START_OF_TIME + SECOND))

    then = advanced(task, InputAnswered({"a": YES}), START_OF_TIME + SECOND)

    assert then.status == Working()
    assert then.inputs.undelivered == ()


def test_a_delivered_answer_is_removed() -> None:
    task = after(asked("a", "1"), asked("b", "2"), InputAnswered({"a": YES, "b": NO}))

    then = advanced(task, AnswersDelivered(frozenset({"1", "of nobody"})), START_OF_TIME)

    assert then.inputs.undelivered == (UndeliveredAnswer("2", NO),)
    assert then.inputs.used_keys == ("a", "b")


def test_a_delivery_is_invisible_to_the_client() -> None:
    task = after(asked("a", "1"), InputAnswered({"a": YES}))

    then = advanced(task, AnswersDelivered(frozenset({"1"})), START_OF_TIME + SECOND)

    assert (then.status, then.last_updated_at) == (task.status, task.last_updated_at)


# -------------------------------------------------------------------------------------------------------- asking again


def test_a_repeated_question_has_another_key_and_number_and_the_reason() -> None:
    """X14: clients answer each key once."""
    task = after(asked("a", "1"), asked("b", "2"))

    then = advanced(task, InputRefused({"a": "amount must be a number"}), START_OF_TIME)

    first, second = then.input_requests
    assert (first.key, first.number, first.refusal) == ("a#3", 3, "amount must be a number")
    assert second == task.input_requests[1]
    assert then.inputs.used_keys == ("a", "b")


def test_a_question_asked_a_third_time_has_its_authors_key_and_its_number() -> None:
    task = after(asked("a", "1"), InputRefused({"a": "wrong"}), InputRefused({"a#2": "wrong again"}))

    assert [(one.key, one.refusal) for one in task.input_requests] == [("a#3", "wrong again")]


def test_several_questions_are_asked_again_at_once() -> None:
    task = after(asked("a", "1"), asked("b", "2"), asked("c", "3"), InputRefused({"a": "x", "c": "y"}))

    assert [(one.key, one.refusal) for one in task.input_requests] == [("a#4", "x"), ("b", None), ("c#5", "y")]


def test_no_author_can_use_the_key_of_a_repeated_question() -> None:
    task = after(asked("a", "1"), InputRefused({"a": "wrong"}))

    assert not KEY_PATTERN.fullmatch(task.input_requests[0].key)


def test_an_unknown_question_is_not_asked_again() -> None:
    task = after(asked("a", "1"))

    assert advanced(task, InputRefused({"b": "wrong"}), START_OF_TIME) is task


def test_an_answered_question_is_not_asked_again() -> None:
    task = after(asked("a", "1"), InputAnswered({"a": YES}))

    assert advanced(task, InputRefused({"a": "wrong"}), START_OF_TIME) is task


def test_the_refusal_of_an_answer_has_a_bounded_length() -> None:
    task = after(asked("a", "1"), InputRefused({"a": "x" * 5_000}))

    assert task.input_requests[0].refusal == "x" * LONGEST_MESSAGE


def test_all_refusals_together_have_a_bounded_length() -> None:
    """The task must fit into its item."""
    refusals = [InputRefused({key: "x" * 600}) for key in ("a", "b", "c", "a#4")]

    task = after(*(asked(key, key) for key in "abc"), *refusals)

    first, second, third = task.input_requests
    assert [len(one.refusal or "") for one in (first, second, third)] == [600, 400, 0]
    assert [one.number for one in (first, second, third)] == [7, 5, 6]


# ----------------------------------------------------------------------------------------------------------- confirming


def unconfirmed() -> Task:
    """Return a task that waits to be confirmed."""
    question = InputRequest("confirm", 1, FORM, WorkflowInput(None))
    return replace(World().call(), status=InputRequired((question,)), inputs=Inputs(asked=1, used_keys=(question.key,)))


def test_a_confirmed_task_has_the_confirmed_input() -> None:
    then = advanced(unconfirmed(), WorkConfirmed(Terms('{"a":1}')), START_OF_TIME)

    assert then.status == Working()
    assert then.work.terms == Terms('{"a":1}')
    assert not then.awaits_confirmation


def test_a_confirmed_task_ignores_a_second_confirmation() -> None:
    task = after(asked())

    assert advanced(task, WorkConfirmed(Terms('{"a":1}')), START_OF_TIME) is task


def test_a_declined_task_is_completed_with_the_decline() -> None:
    then = advanced(unconfirmed(), WorkDeclined(DECLINED), START_OF_TIME)

    assert then.status == Completed(DECLINED)


def test_a_running_task_cannot_be_declined() -> None:
    """What was answered first counts."""
    begun = advanced(unconfirmed(), WorkConfirmed(Terms("{}")), START_OF_TIME)

    assert advanced(begun, WorkDeclined(DECLINED), START_OF_TIME) is begun


def test_an_answer_for_a_state_does_not_answer_a_confirmation() -> None:
    task = unconfirmed()

    assert advanced(task, InputAnswered({"confirm": YES}), START_OF_TIME) is task


def test_a_task_cancelled_before_its_confirmation_cannot_be_confirmed() -> None:
    """T23."""
    cancelled = advanced(unconfirmed(), WorkStopped("cancelled"), START_OF_TIME)

    assert advanced(cancelled, WorkConfirmed(Terms("{}")), START_OF_TIME) is cancelled
