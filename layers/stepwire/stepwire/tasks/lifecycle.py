"""The lifecycle of a task: a pure function from a task and an event to the next task.

Every change of status is made here and nowhere else. No clock, no I/O, no logging. The function is total, and an ended
task ignores every event, so events may arrive late, more than once and in any order. The state after each event:

    event             from working      from input_required       from unconfirmed
    ----------------  ----------------  ------------------------  ----------------
    StateEntered      working           input_required            unconfirmed
    ProgressReported  working           input_required            unconfirmed
    InputRequested    input_required    input_required            unconfirmed
    InputAnswered     working           working, input_required   unconfirmed
    InputRefused      working           input_required            unconfirmed
    WorkConfirmed     working           input_required            working
    WorkDeclined      working           input_required            completed
    WorkCompleted     completed         completed                 completed
    WorkFailed        failed            failed                    failed
    WorkStopped       cancelled         cancelled                 cancelled
    WorkChecked       working           input_required            unconfirmed
    AnswersDelivered  working           input_required            unconfirmed
    StartPostponed    working           input_required            unconfirmed
    WorkBegun         working           input_required            unconfirmed
    ClientTaskNoted   working           input_required            unconfirmed
    ClientTaskClosed  working           input_required            unconfirmed
    AttemptEnded      working, any end  working, any end          unconfirmed
    ArmEnded          working, done     working, input_required, done  unconfirmed
    RedriveRefused    working, any end  working, any end          unconfirmed

Done is completed or cancelled. An unconfirmed task is input_required on the wire: its workflow starts when its user
confirms the call. From completed, failed and cancelled there is no way on (T10, X30). Time changes a state too
(`as_of`): when its last question expires, an input_required task becomes working, and an unconfirmed one completed.
What a retry policy decides (`retries`) is decided here too: a failed attempt leaves the task working where another one
follows, and its open questions are gone. So is what a race decides (`races`): an arm that ends leaves the task as it is
while others can fill the quorum, and its open questions are gone.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from msgspec.structs import replace

from stepwire.json_text import write
from stepwire.tasks.client_tasks import MOST_CLIENT_TASKS, ClientTask
from stepwire.tasks.events import (
    AnswersDelivered,
    ArmEnded,
    AttemptEnded,
    ClientTaskClosed,
    ClientTaskNoted,
    InputAnswered,
    InputRefused,
    InputRequested,
    ProgressReported,
    RedriveRefused,
    StartPostponed,
    StateEntered,
    TaskEvent,
    WorkBegun,
    WorkChecked,
    WorkCompleted,
    WorkConfirmed,
    WorkDeclined,
    WorkFailed,
    WorkStopped,
)
from stepwire.tasks.inputs import (
    MOST_QUESTIONS,
    MOST_UNCLAIMED,
    Asking,
    Callback,
    InputRequest,
    UndeliveredAnswer,
    WorkflowInput,
    retry_key,
)
from stepwire.tasks.retries import Attempt, begun_text, in_new_execution, next_attempt, retry_text
from stepwire.tasks.task import (
    LONGEST_MESSAGE,
    Cancelled,
    Completed,
    Failed,
    InputRequired,
    Inputs,
    ItemCount,
    Progress,
    Status,
    Task,
    ToolResult,
    Working,
    newest_states,
    reports_progress,
)

if TYPE_CHECKING:
    from stepwire.tasks.races import Race

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
    """Return the task after the event; the same object if nothing changes."""
    task = as_of(task, at)
    if task.has_ended:  # T10, X30: a terminal status never changes
        return task
    changed = _transition_of(task, event)(task, event, at)
    if changed is task or type(event) in _WITHOUT_UPDATE:
        return changed
    return _with_result_retention(_with_update_time(changed, at))


def as_of(task: Task, at: datetime) -> Task:
    """Return the task without its expired questions; the same object if time has changed nothing.

    The message of a task whose next attempt has begun no longer says when it begins. A task that was not
    confirmed in time is completed, and its workflow never starts.
    """
    task = _with_begun_attempt(task, at)
    requests = task.input_requests
    left = tuple(one for one in requests if one.expires_at is None or one.expires_at > at)
    if len(left) == len(requests):
        return task
    for one in requests:
        if one not in left and one.expires_at is not None and isinstance(one.destination, WorkflowInput):
            ended_at = max(one.expires_at, task.last_updated_at)
            return replace(task, status=Completed(_UNCONFIRMED), inputs=Inputs(), last_updated_at=ended_at)
    return _with_requests(task, left)


def _with_begun_attempt(task: Task, at: datetime) -> Task:
    """Return the task without the time of its next attempt, if that has come."""
    attempt = task.attempt
    if attempt is None or attempt.begins_at is None or attempt.begins_at > at or task.has_ended:
        return task
    return _with_message(task, begun_text(task.status.message, attempt, at))


def _ignore(task: Task, _event: object, _at: datetime) -> Task:
    return task


def _show_state(task: Task, event: StateEntered, at: datetime) -> Task:
    states = None if task.states is None else newest_states((*task.states, *event.passed))
    return _tell_state(task if states == task.states else replace(task, states=states), event, at)


def _tell_state(task: Task, event: StateEntered, _at: datetime) -> Task:
    # Progress that the workflow reports itself says more than the name of a state.
    if reports_progress(task):
        return task
    if event.items is None:
        plain = task if task.progress is None else replace(task, progress=None)
        return _with_message(plain, f"The workflow is in its state {event.name}.")
    before = task.progress
    if before is not None and before.total == event.items.total and before.done > event.items.done:
        return task  # an older count of the same items: Step Functions' reads are eventually consistent
    counted = Progress(event.items.done, event.items.total, is_counted=True)
    advanced = task if task.progress == counted else replace(task, progress=counted)
    return _with_message(advanced, f"The workflow is in its state {event.name}: {_items_text(event.items)}.")


def _items_text(items: ItemCount) -> str:
    failed = f", {items.failed:,} of them failed" if items.failed else ""
    return f"{items.done:,} of {items.total:,} items are done{failed}"


def _show_progress(task: Task, event: ProgressReported, _at: datetime) -> Task:
    # Progress never decreases.
    if task.progress is not None and reports_progress(task) and event.progress.done <= task.progress.done:
        return task
    advanced = replace(task, progress=event.progress)
    return advanced if event.message is None else _with_message(advanced, event.message[:LONGEST_MESSAGE])


def _ask(task: Task, event: InputRequested, at: datetime) -> Task:
    if event.expires_at is not None and event.expires_at <= at:
        return task  # the event arrived after the workflow stopped waiting for the answer
    if event.destination in {one.destination for one in task.input_requests}:
        return task  # a retry of a request that is recorded, and whose response was lost
    if event.destination.token in {one.token for one in task.inputs.undelivered}:
        return task  # the same, and the question is answered already
    adopted = _adopted(task, event)
    if adopted is not None:
        return adopted
    number = task.inputs.asked + 1
    names = chain((event.key,), (f"{event.key}-{suffix}" for suffix in count(number)))
    key = next(name for name in names if name not in task.inputs.used_keys)
    request = InputRequest(key, number, event.asked, event.destination, event.expires_at)
    inputs = replace(task.inputs, asked=number, used_keys=(*task.inputs.used_keys, key))
    return _with_requests(replace(task, inputs=inputs), (*task.input_requests, request))


def _adopted(task: Task, event: InputRequested) -> Task | None:
    """Give a retried state what it has asked before, or the answer to that; None: it has not asked it before."""
    asking = event.destination.asking
    for one in task.input_requests:
        callback = one.destination
        if isinstance(callback, Callback) and callback.token in event.dead and _is_retry(callback.asking, asking):
            destination = replace(event.destination, asking=callback.asking)
            adopted = replace(one, destination=destination, expires_at=event.expires_at)
            return _with_requests(task, tuple(adopted if other is one else other for other in task.input_requests))
    for one in task.inputs.undelivered:
        if (one.is_unclaimed or one.token in event.dead) and _is_retry(one.asking, asking):
            claimed = replace(one, token=event.destination.token, is_unclaimed=False)
            undelivered = tuple(claimed if other is one else other for other in task.inputs.undelivered)
            return replace(task, inputs=replace(task.inputs, undelivered=undelivered))
    return None


def _is_retry(before: Asking | None, now: Asking | None) -> bool:
    return before is not None and now is not None and before.is_retried_by(now)


def _accept_answers(task: Task, event: InputAnswered, _at: datetime) -> Task:
    answered = tuple(
        UndeliveredAnswer(one.destination.token, event.answers[one.key], one.destination.asking)
        for one in task.input_requests
        if one.key in event.answers and isinstance(one.destination, Callback)
    )
    if not answered:
        return task
    left = tuple(one for one in task.input_requests if one.key not in event.answers)
    inputs = replace(task.inputs, undelivered=(*task.inputs.undelivered, *answered))
    return _with_requests(replace(task, inputs=inputs), left)


def _ask_again(task: Task, event: InputRefused, _at: datetime) -> Task:
    """Ask questions again under a new key and number: clients answer each key, and each number, once (X14)."""
    number, requests = task.inputs.asked, list[InputRequest]()
    # The refusals of all open questions share one limit, so that the task still fits its DynamoDB item.
    left = LONGEST_MESSAGE - sum(len(one.refusal or "") for one in task.input_requests if one.key not in event.reasons)
    for one in task.input_requests:
        if one.key not in event.reasons or number >= MOST_QUESTIONS:  # at the limit, the question stays open unchanged
            requests.append(one)
            continue
        number += 1
        refusal = event.reasons[one.key][: max(0, left)]
        left -= len(refusal)
        requests.append(replace(one, key=retry_key(one.key, number), number=number, refusal=refusal or None))
    if number == task.inputs.asked:
        return task
    return _with_requests(replace(task, inputs=replace(task.inputs, asked=number)), tuple(requests))


def _confirm(task: Task, event: WorkConfirmed, at: datetime) -> Task:
    left = tuple(one for one in task.input_requests if not isinstance(one.destination, WorkflowInput))
    race = task.race and task.race.begun(at)
    confirmed = replace(task, work=replace(task.work, terms=event.terms), ttl=task.ttl + event.waited, race=race)
    return _with_requests(confirmed, left)


def _decline(task: Task, event: WorkDeclined, _at: datetime) -> Task:
    return replace(task, status=Completed(event.result), inputs=Inputs())


def _complete(task: Task, event: WorkCompleted, _at: datetime) -> Task:
    return replace(task, status=Completed(event.result, event.message), inputs=Inputs(), may_begin=False)


def _fail(task: Task, event: WorkFailed, _at: datetime) -> Task:
    failed = Failed(event.error, event.error.message[:LONGEST_MESSAGE])
    return replace(task, status=failed, inputs=Inputs(), may_begin=event.may_begin)


def _stop(task: Task, event: WorkStopped, at: datetime) -> Task:
    # Who stops one attempt may meet another process that begins the next one.
    may_begin = event.may_begin or task.is_retried or (task.race is not None and not _is_settled(task.race, event, at))
    return replace(task, status=Cancelled(event.message), inputs=Inputs(), may_begin=may_begin)


def _end_attempt(task: Task, event: AttemptEnded, at: datetime) -> Task:
    if task.attempt is None:
        return advance(task, event.end, at)
    if not task.attempt.is_of(event.run, event.redrives):
        return task  # of an attempt that is over
    following = None if event.error is None else next_attempt(task.attempt, event.error, task.task_id, at)
    if following is None or (following.begins_at or at) >= task.expires_at:
        return replace(advance(task, event.end, at), may_begin=False)
    return _with_attempt(task, replace(following, after=event.shown), at)


def _restart(task: Task, event: RedriveRefused, at: datetime) -> Task:
    attempt = task.attempt_of(event.arm)
    if attempt is None or attempt.run != event.run or not attempt.is_redriven:
        return task  # it has begun otherwise meanwhile
    if not attempt.policy.may_restart:
        ended = advance(task, event.end, at)
        return ended if task.race else replace(ended, may_begin=False)
    anew = in_new_execution(attempt)
    if task.race is None:
        return _with_attempt(task, anew, at)
    return replace(task, race=task.race.with_attempt(event.arm, anew))


def _is_settled(race: "Race", event: WorkStopped, at: datetime) -> bool:
    """Tell whether no arm runs any more, and none can: a redrive may bring back one that was stopped."""
    left = race.left_running(at)
    return all(arm.letter in event.stopped and not arm.attempt.is_redriven for arm in left)


def _end_arm(task: Task, event: ArmEnded, at: datetime) -> Task:
    if task.race is None:
        return advance(task, event.end, at)
    from stepwire.tasks.races import ALL_STOPPED, after_end, lost_text, message_after  # noqa: PLC0415 - few are races

    race = after_end(task.race, event.arm, task.task_id, at, task.expires_at)
    if race is task.race:
        return task  # of an attempt that is over
    left = tuple(one for one in task.input_requests if _arm_of(one) != event.arm.letter)
    after = replace(task, race=race, status=_unfinished(left, task.status.message))
    if race.winner is None and not race.is_lost:
        return _with_message(after, message_after(race, event.arm))
    end = event.end if race.winner else WorkStopped(ALL_STOPPED) if race.was_stopped else _lost(lost_text(race))
    return replace(advance(after, end, at), may_begin=bool(race.left_running(at)))


def _lost(text: str) -> WorkCompleted:
    content = write({"content": [{"type": "text", "text": text}], "isError": True})
    return WorkCompleted(ToolResult(content, is_error=True), text[:LONGEST_MESSAGE])


def _arm_of(request: InputRequest) -> str | None:
    return request.destination.arm if isinstance(request.destination, Callback) else None


def _with_attempt(task: Task, attempt: Attempt, at: datetime) -> Task:
    """Return the task with its next attempt. No state of the attempt before waits for an answer any more."""
    begun = replace(
        task, attempt=attempt, status=Working(retry_text(attempt, at)), inputs=replace(task.inputs, undelivered=())
    )
    # Nobody looks for the execution before it may be there.
    return replace(begun, checked_at=max(at, attempt.begins_at or at, task.checked_at))


def _note_check(task: Task, event: WorkChecked, at: datetime) -> Task:
    checked = replace(task, checked_at=max(at, task.checked_at))
    shown = checked if event.state is None else _show_state(checked, event.state, at)
    return checked if shown is checked else _with_update_time(shown, at)


def _drop_delivered(task: Task, event: AnswersDelivered, _at: datetime) -> Task:
    left = [one for one in task.inputs.undelivered if one.token not in event.tokens]
    kept = [
        replace(one, is_unclaimed=True) if one.token in event.unclaimed and one.asking is not None else one
        for one in left
        if one.token not in event.unclaimed or one.asking is not None
    ]
    unclaimed = [one for one in kept if one.is_unclaimed]
    dropped = unclaimed[: max(0, len(unclaimed) - MOST_UNCLAIMED)]
    undelivered = tuple(one for one in kept if one not in dropped)
    if undelivered == task.inputs.undelivered:
        return task
    return replace(task, inputs=replace(task.inputs, undelivered=undelivered))


def _postpone(task: Task, _event: StartPostponed, _at: datetime) -> Task:
    return task if task.is_unbegun else replace(task, is_unbegun=True)


def _begin(task: Task, _event: WorkBegun, _at: datetime) -> Task:
    return replace(task, is_unbegun=False) if task.is_unbegun else task


def _note_client_task(task: Task, event: ClientTaskNoted, _at: datetime) -> Task:
    noted = event.client_task
    if noted in task.client_tasks or not 1 <= noted.number <= task.inputs.asked:
        return task
    open_numbers = {one.number for one in task.input_requests}
    # Of a closed question, a task that has ended needs no cancellation.
    others = [one for one in _others(task, noted) if one.number in open_numbers or not one.has_ended]
    return task if len(others) >= MOST_CLIENT_TASKS else replace(task, client_tasks=(*others, noted))


def _close_client_task(task: Task, event: ClientTaskClosed, _at: datetime) -> Task:
    others = _others(task, event.client_task)
    return task if len(others) == len(task.client_tasks) else replace(task, client_tasks=tuple(others))


def _others(task: Task, one: ClientTask) -> list[ClientTask]:
    return [other for other in task.client_tasks if other.key != one.key]


_Transition: TypeAlias = Callable[[Task, Any, datetime], Task]


class _Row(NamedTuple):
    """What an event does, by the state of the task; an ended task ignores every event."""

    working: _Transition
    input_required: _Transition
    unconfirmed: _Transition


_TRANSITIONS: Final[Mapping[type[TaskEvent], _Row]] = {
    StateEntered: _Row(_show_state, _show_state, _show_state),
    ProgressReported: _Row(_show_progress, _show_progress, _show_progress),
    InputRequested: _Row(_ask, _ask, _ask),
    InputAnswered: _Row(_ignore, _accept_answers, _accept_answers),
    InputRefused: _Row(_ignore, _ask_again, _ask_again),
    WorkConfirmed: _Row(_ignore, _ignore, _confirm),  # of two decisions, the first counts
    WorkDeclined: _Row(_ignore, _ignore, _decline),
    WorkCompleted: _Row(_complete, _complete, _complete),
    WorkFailed: _Row(_fail, _fail, _fail),
    WorkStopped: _Row(_stop, _stop, _stop),
    AttemptEnded: _Row(_end_attempt, _end_attempt, _ignore),
    ArmEnded: _Row(_end_arm, _end_arm, _ignore),
    RedriveRefused: _Row(_restart, _restart, _ignore),
    WorkChecked: _Row(_note_check, _note_check, _note_check),
    AnswersDelivered: _Row(_drop_delivered, _drop_delivered, _drop_delivered),
    StartPostponed: _Row(_postpone, _postpone, _ignore),
    WorkBegun: _Row(_begin, _begin, _ignore),
    ClientTaskNoted: _Row(_note_client_task, _note_client_task, _note_client_task),
    ClientTaskClosed: _Row(_close_client_task, _close_client_task, _close_client_task),
}
_WITHOUT_UPDATE: Final = frozenset(
    {WorkChecked, AnswersDelivered, StartPostponed, WorkBegun, InputRefused, ClientTaskNoted, ClientTaskClosed}
)
"""The events that leave `last_updated_at` as it is."""


def _transition_of(task: Task, event: TaskEvent) -> _Transition:
    row = _TRANSITIONS[type(event)]
    if task.awaits_confirmation:
        return row.unconfirmed
    return row.input_required if isinstance(task.status, InputRequired) else row.working


def _with_update_time(task: Task, at: datetime) -> Task:
    # The clocks of two function instances differ: a later state never gets an earlier time.
    updated = replace(task, last_updated_at=max(at, task.last_updated_at))
    # A concurrent request has until the next check to start the execution.
    return replace(updated, checked_at=max(at, task.checked_at)) if updated.may_begin else updated


def _with_result_retention(task: Task) -> Task:
    """Extend the ttl of an ended task, so that its result is kept as long as its tool promises."""
    if not task.has_ended or task.last_updated_at >= task.expires_at:  # an expired task stays invisible
        return task
    return replace(task, ttl=max(task.ttl, task.last_updated_at - task.created_at + task.keep_result))


def _with_requests(task: Task, requests: tuple[InputRequest, ...]) -> Task:
    return replace(task, status=_unfinished(requests, task.status.message))


def _with_message(task: Task, message: str | None) -> Task:
    if task.status.message == message:
        return task
    return replace(task, status=_unfinished(task.input_requests, message))


def _unfinished(requests: tuple[InputRequest, ...], message: str | None) -> Status:
    return InputRequired(requests, message) if requests else Working(message)
