"""The life of a task: a pure function from a task and an event to the next task.

Every change of status is made here and nowhere else. No clock, no I/O, no logging. The function is total, and a
finished task absorbs every event unchanged, so events may come late, twice and in any order.

    working ──WorkCompleted──> completed        working <──InputRequested, InputAnswered──> input_required
            ──WorkFailed─────> failed           input_required ends as working does
            ──WorkStopped────> cancelled        WorkConfirmed: input_required, before the work begins ──> working
                                        WorkDeclined: the same ──> completed

StateEntered and ProgressReported change what is said of the work, and progress never goes back; the other events leave
the status as it is. A question ends by itself when its time is over (`as_of`).
"""

from dataclasses import replace
from datetime import datetime
from itertools import chain, count
from typing import Final, assert_never

from stepwire.json_text import write
from stepwire.tasks.events import (
    AnswersDelivered,
    InputAnswered,
    InputRefused,
    InputRequested,
    ProgressReported,
    StateEntered,
    TaskEvent,
    WorkChecked,
    WorkCompleted,
    WorkConfirmed,
    WorkDeclined,
    WorkEnded,
    WorkFailed,
    WorkStopped,
)
from stepwire.tasks.inputs import MOST_QUESTIONS, Callback, InputRequest, UndeliveredAnswer, WorkflowInput, key_again
from stepwire.tasks.task import (
    LONGEST_MESSAGE,
    Cancelled,
    Completed,
    Failed,
    InputRequired,
    Inputs,
    Status,
    Task,
    ToolResult,
    Working,
)

_UNCONFIRMED: Final = ToolResult(
    write(
        {
            "content": [{"type": "text", "text": "Nobody confirmed the call in time, and nothing was started."}],
            "isError": True,
        }
    ),
    is_error=True,
)


def advance(task: Task, event: TaskEvent, at: datetime) -> Task:
    """Give the task as it is after the event; the same object where nothing changes."""
    task = as_of(task, at)
    if task.has_ended:  # T10, X30: a terminal status never changes; or nobody confirmed the task in time
        return task
    match event:
        case WorkChecked():
            return replace(task, checked_at=max(at, task.checked_at))
        case AnswersDelivered():
            return _delivered(task, event)
        case InputRequested(expires_at=expires_at) if expires_at is not None and expires_at <= at:
            return task  # it came so late that nobody waits for the answer any more
        case InputRefused():
            return _asked_again(task, event)
        case _:
            changed = _changed(task, event)
            return task if changed is task else _kept(_dated(changed, at))


def as_of(task: Task, at: datetime) -> Task:
    """Give the task without the questions whose time is over; the same object where all are still open.

    A task that nobody confirmed in time has ended, and its workflow never begins.
    """
    requests = task.input_requests
    left = tuple(one for one in requests if one.expires_at is None or one.expires_at > at)
    if len(left) == len(requests):
        return task
    for one in requests:
        if one not in left and one.expires_at is not None and isinstance(one.destination, WorkflowInput):
            ended_at = max(one.expires_at, task.last_updated_at)
            return replace(task, status=Completed(_UNCONFIRMED), inputs=Inputs(), last_updated_at=ended_at)
    return _with(task, left)


def _dated(task: Task, at: datetime) -> Task:
    # Clocks of two function instances differ: a later state is never dated before an earlier one.
    dated = replace(task, last_updated_at=max(at, task.last_updated_at))
    # Whoever is about to start its execution has until the next look to do so.
    return replace(dated, checked_at=max(at, task.checked_at)) if dated.may_begin else dated


def _kept(task: Task) -> Task:
    """Prolong the life of a task that has ended, so that its result is kept as long as its tool promises."""
    if not task.has_ended or task.last_updated_at >= task.expires_at:  # what is gone for its readers stays gone
        return task
    return replace(task, ttl=max(task.ttl, task.last_updated_at - task.created_at + task.keep_result))


def _changed(
    task: Task,
    event: StateEntered | ProgressReported | InputRequested | InputAnswered | WorkConfirmed | WorkDeclined | WorkEnded,
) -> Task:
    match event:
        case StateEntered(name):
            return _saying(task, f"The workflow is in its state {name}.") if task.progress is None else task
        case ProgressReported():
            return _further(task, event)
        case InputRequested():
            return _asking(task, event)
        case InputAnswered():
            return _answered(task, event)
        case WorkConfirmed() | WorkDeclined():
            return _decided(task, event)
        case WorkCompleted() | WorkFailed() | WorkStopped():
            may_begin = isinstance(event, WorkStopped) and event.may_begin
            return replace(task, status=_end(event), inputs=Inputs(), may_begin=may_begin)
        case _:  # pragma: no cover
            assert_never(event)


def _end(event: WorkEnded) -> Status:
    match event:
        case WorkCompleted(result, message):
            return Completed(result, message)
        case WorkFailed(error):
            return Failed(error, error.message[:LONGEST_MESSAGE])
        case WorkStopped(message):
            return Cancelled(message)


def _further(task: Task, event: ProgressReported) -> Task:
    if task.progress is not None and event.progress.done <= task.progress.done:
        return task
    further = replace(task, progress=event.progress)
    return further if event.message is None else _saying(further, event.message[:LONGEST_MESSAGE])


def _asking(task: Task, event: InputRequested) -> Task:
    known = {one.destination for one in task.input_requests}
    if event.destination in known or event.destination.token in _tokens(task.inputs):
        return task  # the same state asks the same again: its first word arrived, and the answer to it did not
    number = task.inputs.asked + 1
    names = chain((event.key,), (f"{event.key}-{suffix}" for suffix in count(number)))
    key = next(name for name in names if name not in task.inputs.used_keys)
    request = InputRequest(key, number, event.elicitation, event.destination, event.expires_at)
    inputs = replace(task.inputs, asked=number, used_keys=(*task.inputs.used_keys, key))
    return _with(replace(task, inputs=inputs), (*task.input_requests, request))


def _answered(task: Task, event: InputAnswered) -> Task:
    answered = tuple(
        UndeliveredAnswer(one.destination.token, event.answers[one.key])
        for one in task.input_requests
        if one.key in event.answers and isinstance(one.destination, Callback)
    )
    if not answered:
        return task
    left = tuple(one for one in task.input_requests if one.key not in event.answers)
    inputs = replace(task.inputs, undelivered=(*task.inputs.undelivered, *answered))
    return _with(replace(task, inputs=inputs), left)


def _asked_again(task: Task, event: InputRefused) -> Task:
    """Ask questions again, under another key and number: clients answer each key, and each number, once (X14)."""
    number, again = task.inputs.asked, list[InputRequest]()
    # So many words for all that is open: each question may be asked again, and the task must fit where it is kept.
    room = LONGEST_MESSAGE - sum(len(one.refusal or "") for one in task.input_requests if one.key not in event.reasons)
    for one in task.input_requests:
        if one.key not in event.reasons or number >= MOST_QUESTIONS:  # then it stays open as it was asked last
            again.append(one)
            continue
        number += 1
        refusal = event.reasons[one.key][: max(0, room)]
        room -= len(refusal)
        again.append(replace(one, key=key_again(one.key, number), number=number, refusal=refusal or None))
    if number == task.inputs.asked:
        return task
    return _with(replace(task, inputs=replace(task.inputs, asked=number)), tuple(again))


def _delivered(task: Task, event: AnswersDelivered) -> Task:
    left = tuple(one for one in task.inputs.undelivered if one.token not in event.tokens)
    if len(left) == len(task.inputs.undelivered):
        return task
    return replace(task, inputs=replace(task.inputs, undelivered=left))


def _decided(task: Task, event: WorkConfirmed | WorkDeclined) -> Task:
    if not task.awaits_confirmation:  # of two answers, the first counts
        return task
    if isinstance(event, WorkDeclined):
        return replace(task, status=Completed(event.result), inputs=Inputs())
    left = tuple(one for one in task.input_requests if not isinstance(one.destination, WorkflowInput))
    confirmed = replace(task, work=replace(task.work, input=event.input), ttl=task.ttl + event.waited)
    return _with(confirmed, left)


def _with(task: Task, requests: tuple[InputRequest, ...]) -> Task:
    return replace(task, status=_going_on(requests, task.status.message))


def _saying(task: Task, message: str) -> Task:
    if task.status.message == message:
        return task
    return replace(task, status=_going_on(task.input_requests, message))


def _going_on(requests: tuple[InputRequest, ...], message: str | None) -> Status:
    return InputRequired(requests, message) if requests else Working(message)


def _tokens(inputs: Inputs) -> frozenset[str]:
    return frozenset(one.token for one in inputs.undelivered)
