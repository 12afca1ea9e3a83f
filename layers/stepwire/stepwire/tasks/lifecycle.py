"""The lifecycle of a task: a pure function from a task and an event to the next task, and to what follows.

Every change of status is made here and nowhere else. No clock, no I/O, no logging. The function is total, and an ended
task ignores every event about its work, so events may arrive late, more than once and in any order. `TABLE` has the
states that each event leads to. An unconfirmed task is input_required on the wire: its workflow starts when its user
confirms the call. The statuses completed, failed and cancelled are final (T10, X30): what comes after the end
(`events.AfterEnd`) leaves them as they are. Time changes a state too (`as_of`): when its last
question expires, an input_required task becomes working, and an unconfirmed one completed. While every open question is
for others than the caller, clients see such a task as working (`Task.shown_status`).

After the end of a run, the retry policy starts another attempt, or the quorum ends the task (`runs`), or nothing
happens while other runs can fill the quorum. Effects are returned (`events`). Those that must survive a crash are also
in the task (`Run.pending`, `Inputs.undelivered`) until they are known to be done.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from enum import Enum
from itertools import chain, count
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from stepwire.tasks.answers import Decision, Given, Matter, with_room
from stepwire.tasks.events import (
    Advanced,
    Answered,
    AnswersDelivered,
    Begin,
    FollowedUp,
    GiveBack,
    InputRefused,
    InputRequested,
    LineChecked,
    Noted,
    ProgressReported,
    Readdressed,
    RunEnded,
    RunNotRedriven,
    RunsStopped,
    StartPostponed,
    StateEntered,
    TaskEvent,
    WorkBegun,
    WorkChecked,
    WorkCompleted,
    WorkConfirmed,
    WorkDeclined,
    WorkEnded,
    WorkFailed,
    WorkStopped,
)
from stepwire.tasks.ids import LETTERS
from stepwire.tasks.inputs import (
    MOST_QUESTIONS,
    MOST_UNCLAIMED,
    AskingState,
    Callback,
    FormElicitation,
    InputRequest,
    UndeliveredAnswer,
    WorkflowInput,
    retry_key,
)
from stepwire.tasks.runs import (
    LONGEST_ERROR,
    Attempt,
    Pending,
    RunEnd,
    RunState,
    begun,
    begun_text,
    end_text,
    in_new_execution,
    left_running,
    lost_text,
    needed_now,
    next_attempt,
    retry_text,
    successes,
    with_run,
)
from stepwire.tasks.task import (
    LONGEST_MESSAGE,
    Cancelled,
    Completed,
    Failed,
    InputRequired,
    Inputs,
    Progress,
    Status,
    Task,
    Working,
    newest_states,
    reports_progress,
    tool_error,
)

_UNCONFIRMED: Final = "Nobody confirmed the call in time, and nothing was started."


def advance(task: Task, event: TaskEvent, at: datetime) -> Advanced:
    """Return the task after the event, and its effects; the same task if nothing changes."""
    task = as_of(task, at)
    row = TABLE[type(event)]
    if not row.targets.get(state_of(task)):  # T10, X30: a terminal status never changes
        return Advanced(task)
    changed = row.act(task, event, at)
    after = changed if isinstance(changed, Advanced) else Advanced(changed)
    if after.task == task:
        return Advanced(task, after.effects)
    return Advanced(_updated(after.task, at), after.effects) if row.is_update else after


def as_of(task: Task, at: datetime) -> Task:
    """Return the task without its expired questions; the same object if time has changed nothing.

    Once the next attempt has begun, the message no longer says when it begins. A task that was not confirmed in time is
    completed, and its workflow never starts; this is not saved, so it does not extend its retention.
    """
    attempt = task.runs[0].attempt  # only the attempt of a sole run is in messages
    if attempt.begins_at is not None and attempt.begins_at <= at and not task.has_ended:
        task = _with_message(task, begun_text(task.status.message, attempt, task.retry, at))
    requests = task.questions
    left = tuple(one for one in requests if one.expires_at is None or one.expires_at > at)
    if len(left) == len(requests):
        return task
    for one in requests:
        if one not in left and one.expires_at is not None and isinstance(one.destination, WorkflowInput):
            ended_at = max(one.expires_at, task.last_updated_at)
            ended = Completed(tool_error(_UNCONFIRMED))
            return replace(task, status=ended, inputs=Inputs(), last_updated_at=ended_at, keep_result=timedelta())
    return _with_requests(task, left)


def _show_state(task: Task, event: StateEntered, _at: datetime) -> Task:
    states = None if task.states is None else newest_states((*task.states, *event.passed))
    task = replace(task, states=states)
    # The workflow's own progress takes precedence over the name of a state.
    if reports_progress(task):
        return task
    if event.items is None:
        return _with_message(replace(task, progress=None), f"The workflow is in its state {event.name}.")
    before = task.progress
    if before is not None and before.total == event.items.total and before.done > event.items.done:
        return task  # an older count of the same items: Step Functions' reads are eventually consistent
    counted = Progress(event.items.done, event.items.total, is_counted=True)
    advanced = replace(task, progress=counted)
    failed = f", {event.items.failed:,} of them failed" if event.items.failed else ""
    items = f"{event.items.done:,} of {event.items.total:,} items are done{failed}"
    return _with_message(advanced, f"The workflow is in its state {event.name}: {items}.")


def _show_progress(task: Task, event: ProgressReported, _at: datetime) -> Task:
    # Progress never decreases.
    if task.progress is not None and reports_progress(task) and event.progress.done <= task.progress.done:
        return task
    advanced = replace(task, progress=event.progress)
    return advanced if event.message is None else _with_message(advanced, event.message[:LONGEST_MESSAGE])


def _ask(task: Task, event: InputRequested, at: datetime) -> Task:
    if event.expires_at is not None and event.expires_at <= at:
        return task  # the event arrived after the workflow stopped waiting for the answer
    if event.destination in {one.destination for one in task.questions}:
        return task  # a retry of a request that is recorded, and whose response was lost
    if event.destination.token in {one.token for one in task.inputs.undelivered}:
        return task  # the same, and the question is answered already
    adopted = _adopted(task, event)
    if adopted is not None:
        return adopted
    number = task.inputs.asked + 1
    names = chain((event.key,), (f"{event.key}-{suffix}" for suffix in count(number)))
    key = next(name for name in names if name not in task.inputs.used_keys)
    request = InputRequest(key, number, event.asked, event.destination, event.expires_at, audience=event.audience)
    has_asked_others = task.inputs.has_asked_others or not event.audience.is_caller
    used_keys = (*task.inputs.used_keys, key)
    inputs = replace(task.inputs, asked=number, used_keys=used_keys, has_asked_others=has_asked_others)
    return _with_requests(replace(task, inputs=inputs), (*task.questions, request))


def _adopted(task: Task, event: InputRequested) -> Task | None:
    """Return the task if a retried state has asked this before: it gets that question or its answer; else None."""
    asking = event.destination.asking
    for one in task.questions:
        callback = one.destination
        if isinstance(callback, Callback) and callback.token in event.dead and _is_retry(callback.asking, asking):
            destination = replace(event.destination, asking=callback.asking)
            adopted = replace(one, destination=destination, expires_at=event.expires_at)
            return _with_requests(task, tuple(adopted if other is one else other for other in task.questions))
    for one in task.inputs.undelivered:
        if (one.is_unclaimed or one.token in event.dead) and _is_retry(one.asking, asking):
            claimed = replace(one, token=event.destination.token, is_unclaimed=False)
            undelivered = tuple(claimed if other is one else other for other in task.inputs.undelivered)
            return replace(task, inputs=replace(task.inputs, undelivered=undelivered))
    return None


def _is_retry(before: AskingState | None, now: AskingState | None) -> bool:
    return before is not None and now is not None and before.is_retried_by(now)


def _answer(task: Task, event: Answered, _at: datetime) -> Task:
    for asked in task.questions:
        given = event.answers.get(asked.number)
        is_theirs = asked.audience.extra == event.extra and isinstance(asked.destination, Callback)
        if given is not None and is_theirs and asked.audience.counts(given, asked.answers):
            task = _answered(task, asked, (*asked.answers, given))
    return task


def _answered(task: Task, asked: InputRequest, answers: tuple[Given, ...]) -> Task:
    """Return the task after an answer: closed questions are delivered, and what others decided is kept."""
    if not asked.audience.closes(answers):
        counted = replace(asked, answers=answers)
        return _with_requests(task, tuple(counted if one.key == asked.key else one for one in task.questions))
    inputs, to = task.inputs, asked.destination
    if isinstance(to, Callback):
        names_people = not asked.audience.is_caller
        undelivered = UndeliveredAnswer(to.token, answers, to.asking, run=to.run, names_people=names_people)
        inputs = replace(inputs, undelivered=(*inputs.undelivered, undelivered))
    left = tuple(one for one in task.questions if one.key != asked.key)
    after = _with_requests(replace(task, inputs=inputs), left)
    return after if asked.audience.is_caller else _decided(after, asked, answers)


def _decided(task: Task, asked: InputRequest, answers: tuple[Given, ...]) -> Task:
    """Return the task with what others than the caller have decided, which its message says."""
    audience, form, matter = asked.audience, asked.asked, None
    if isinstance(form, FormElicitation):
        matter = Matter(form.message, form.requested_schema, audience, answers[-1].content)
    people = tuple(one.without_content() for one in answers)
    decision = Decision(asked.number, asked.key, audience.name, people, audience.shows_people, matter)
    inputs = replace(task.inputs, decisions=with_room((*task.inputs.decisions, decision)))
    return _with_message(replace(task, inputs=inputs), decision.text()[:LONGEST_MESSAGE])


def _readdress(task: Task, event: Readdressed, _at: datetime) -> Task:
    changed = tuple(replace(one, audience=event.audiences.get(one.number, one.audience)) for one in task.questions)
    return _with_requests(task, changed)


def _ask_again(task: Task, event: InputRefused, _at: datetime) -> Task:
    """Ask questions again under a new key and number: clients answer each key, and each number, once (X14)."""
    number, requests = task.inputs.asked, list[InputRequest]()
    # The refusals of all open questions share one limit, so that the task still fits its DynamoDB item.
    left = LONGEST_MESSAGE - sum(len(one.refusal or "") for one in task.questions if one.key not in event.reasons)
    for one in task.questions:
        # At the limit, the question stays open unchanged.
        if one.key not in event.reasons or number >= MOST_QUESTIONS:
            requests.append(one)
            continue
        number += 1
        refusal = event.reasons[one.key][: max(0, left)]
        left -= len(refusal)
        requests.append(replace(one, key=retry_key(one.key, number), number=number, refusal=refusal or None))
    return _with_requests(replace(task, inputs=replace(task.inputs, asked=number)), tuple(requests))


def _confirm(task: Task, event: WorkConfirmed, at: datetime) -> Advanced:
    left = tuple(one for one in task.questions if not isinstance(one.destination, WorkflowInput))
    work = replace(task.work, terms=event.terms)
    confirmed = replace(task, work=work, ttl=task.ttl + event.waited, runs=begun(task.runs, at))
    return Advanced(_with_requests(confirmed, left), tuple(_beginning(confirmed, range(len(task.runs)), at)))


def _decline(task: Task, event: WorkDeclined, _at: datetime) -> Task:
    return replace(task, status=Completed(event.result), inputs=Inputs())


def _end(task: Task, event: WorkEnded, at: datetime) -> Advanced:
    """End the task. The runs that may run on are to be stopped, although the process may die before that."""
    stopped = event.stopped if isinstance(event, WorkStopped) else frozenset[str]()
    begun = () if task.awaits_confirmation else left_running(task.runs, at)
    left = [index for index in begun if not task.is_stopped(index, stopped)]
    runs = tuple(replace(run, pending=Pending.STOP if index in left else None) for index, run in enumerate(task.runs))
    ended = Inputs(decisions=task.inputs.decisions)
    # What may run on keeps its turn until it is stopped.
    over = (index for index, run in enumerate(task.runs) if run.is_open and index not in left)
    after = replace(task, status=event.status, inputs=ended, runs=runs, in_line=None)
    return Advanced(after, _given_back(task, over))


def _given_back(task: Task, runs: Iterable[int]) -> tuple[GiveBack, ...]:
    return () if task.line is None or task.awaits_confirmation else tuple(map(GiveBack, runs))


def _end_run(task: Task, event: RunEnded, at: datetime) -> Task | Advanced:
    end, run = event.end, task.runs[event.end.run]
    if not run.is_open or not run.attempt.is_of(end.execution, end.redrives):
        return task  # of an attempt that is over
    if end.error is not None:
        seed = task.task_id if len(task.runs) == 1 else f"{task.task_id}.{LETTERS[end.run]}"
        following = next_attempt(run.attempt, task.retry, end.error, seed, at)
        if following is not None and (following.begins_at or at) < task.expires_at:
            return _with_attempt(task, end, replace(following, after=end.shown), at)
    return _after_run(task, event, at)


def _after_run(task: Task, event: RunEnded | RunNotRedriven, at: datetime) -> Task | Advanced:
    """Return the task after the last attempt of a run: decided, or with the runs that start because of this end."""
    end, run, won = event.end, task.runs[event.end.run], successes(task.runs)
    if end.state is RunState.SUCCEEDED:
        won += 1
        ended = replace(run, state=end.state, place=won, pending=None)
    else:
        ended = replace(run, state=end.state, error=end.text[:LONGEST_ERROR], pending=None)
    runs = with_run(task.runs, end.run, ended)
    if won >= task.quorum or won + sum(one.is_open for one in runs) < task.quorum:  # decided, or too few are left
        after = _end(replace(task, runs=runs), _deciding_end(replace(task, runs=runs), event.then), at)
        return Advanced(after.task, (*_given_back(task, [end.run]), *after.effects))
    starts = [] if end.state is RunState.SUCCEEDED else needed_now(runs, task.quorum, at)
    for other in starts:
        runs = with_run(runs, other, runs[other].beginning_at(at))
    after = _without_questions_of(replace(task, runs=runs), end.run)
    told = _with_message(after, end_text(runs, task.quorum, task.retry, end))
    return Advanced(told, (*_given_back(task, [end.run]), *_beginning(told, starts, at)))


def _deciding_end(task: Task, last: WorkEnded) -> WorkEnded:
    """Return the end of a task whose last needed run has ended so."""
    states = {run.state for run in task.runs}
    if len(task.runs) == 1 or task.winner or states == {RunState.REFUSED}:
        return last
    if states <= {RunState.OPEN, RunState.STOPPED}:
        return WorkStopped("The executions were stopped.")
    text = lost_text(task.runs, task.quorum)
    return WorkCompleted(tool_error(text), text[:LONGEST_MESSAGE])


def _begin_anew(task: Task, event: RunNotRedriven, at: datetime) -> Task | Advanced:
    end, run = event.end, task.runs[event.end.run]
    if not run.is_open or run.attempt.execution != end.execution or not run.attempt.is_redriven:
        return task  # it has begun otherwise meanwhile
    if task.retry.may_restart:
        return _with_attempt(task, end, in_new_execution(run.attempt), at)
    return _after_run(task, event, at)


def _with_attempt(task: Task, end: RunEnd, attempt: Attempt, at: datetime) -> Advanced:
    """Return the task with the next attempt of a run. No state of the attempt before waits for an answer any more.

    It gives up its turn and asks for another one: until the attempt begins, it uses nothing of the limit.
    """
    run = replace(task.runs[end.run], attempt=attempt, pending=None if task.line is None else Pending.TURN)
    begun = _without_questions_of(replace(task, runs=with_run(task.runs, end.run, run)), end.run)
    is_sole = len(task.runs) == 1
    message = retry_text(attempt, task.retry, at) if is_sole else end_text(begun.runs, task.quorum, task.retry, end)
    begun = _with_message(begun, message)
    if begun.ready_runs(at) in {(), (end.run,)}:  # skip checks until it may be there
        begun = replace(begun, checked_at=max(at, attempt.begins_at or at, task.checked_at))
    return Advanced(begun, (*_given_back(task, [end.run]), *_beginning(begun, [end.run], at)))


def _beginning(task: Task, runs: Iterable[int], at: datetime) -> Iterator[Begin]:
    for index in runs:
        if task.runs[index].is_open:
            begins_at = task.runs[index].attempt.begins_at
            yield Begin(index, begins_at if begins_at and begins_at > at else None)


def _without_questions_of(task: Task, index: int) -> Task:
    """Return the task without a run's questions and their answers."""
    asked_by = [one.destination.run if isinstance(one.destination, Callback) else None for one in task.questions]
    left = tuple(one for one, run in zip(task.questions, asked_by, strict=True) if run != index)
    undelivered = tuple(one for one in task.inputs.undelivered if one.run != index)
    return _with_requests(replace(task, inputs=replace(task.inputs, undelivered=undelivered)), left)


def _note_check(task: Task, event: WorkChecked, at: datetime) -> Task:
    checked = replace(task, checked_at=max(at, task.checked_at))
    shown = checked if event.state is None else _show_state(checked, event.state, at)
    return checked if shown == checked else _updated(shown, at)


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
    return replace(task, inputs=replace(task.inputs, undelivered=undelivered))


def _mark_starts(task: Task, event: StartPostponed | WorkBegun, _at: datetime) -> Task:
    pending, runs = Pending.START if isinstance(event, StartPostponed) else None, task.runs
    for index in event.runs:
        if runs[index].is_open:
            runs = with_run(runs, index, replace(runs[index], pending=pending))
    return replace(task, runs=runs)


def _note_line(task: Task, event: LineChecked, at: datetime) -> Task:
    runs = task.runs
    for index in event.taken:
        if runs[index].pending is Pending.TURN:
            runs = with_run(runs, index, replace(runs[index], pending=None))
    checked = replace(task, runs=runs, in_line=None, checked_at=max(at, task.checked_at))
    if task.due_runs(at):
        return checked  # a running run's state takes precedence over a place in line
    words = retry_text(runs[0].attempt, task.retry, at) if len(runs) == 1 and runs[0].attempt.number > 1 else None
    if event.in_line is not None and checked.waiting_runs(at) and not checked.due_runs(at):
        checked, words = replace(checked, in_line=event.in_line), event.in_line.text(at)
    shown = _with_message(checked, words)
    return checked if shown is checked else _updated(shown, at)


def _note_stops(task: Task, _event: RunsStopped, _at: datetime) -> Task:
    return replace(task, runs=tuple(replace(run, pending=None) for run in task.runs))


def _follow_up(task: Task, event: FollowedUp, at: datetime) -> Task:
    if task.follow_up is not None:
        return task
    # Its execution is the follow-up's now: nobody stops it any more because of this task.
    return _note_stops(replace(task, follow_up=event.task_id), RunsStopped(), at)


def _note_of_extra(task: Task, event: Noted, _at: datetime) -> Task:
    note, others = event.note_of(task), {name: one for name, one in task.notes.items() if name != event.by}
    return replace(task, notes=others if note is None else {**others, event.by: note})


class State(Enum):
    """The states of the lifecycle."""

    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    UNCONFIRMED = "unconfirmed"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


_ENDS: Final = frozenset({State.COMPLETED, State.FAILED, State.CANCELLED})


class Row(NamedTuple):
    """The effect of an event, and the states that it leads to."""

    act: Callable[[Task, Any, datetime], Task | Advanced]
    targets: Mapping[State, frozenset[State]]
    """By the state before; without one, the event is ignored in it. A terminal state leads to none but itself."""
    is_update: bool
    """Whether it changes `last_updated_at`."""


def _row(
    act: Callable[[Task, Any, datetime], Task | Advanced],
    working: Iterable[State],
    input_required: Iterable[State],
    unconfirmed: Iterable[State],
    *,
    is_update: bool = True,
) -> Row:
    targets = {State.WORKING: working, State.INPUT_REQUIRED: input_required, State.UNCONFIRMED: unconfirmed}
    return Row(act, {state: frozenset(one) for state, one in targets.items()}, is_update)


def _row_after_end(act: Callable[[Task, Any, datetime], Task | Advanced]) -> Row:
    return Row(act, {state: frozenset({state}) for state in _ENDS}, is_update=False)


_W, _I, _U = State.WORKING, State.INPUT_REQUIRED, State.UNCONFIRMED
TABLE: Final[Mapping[type[TaskEvent], Row]] = {
    #                       from          working      input_required   unconfirmed
    StateEntered: _row(_show_state,       [_W],        [_I],            [_U]),
    ProgressReported: _row(_show_progress, [_W],       [_I],            [_U]),
    InputRequested: _row(_ask,            [_I],        [_I],            [_U]),
    Answered: _row(_answer,               [],          [_W, _I],        [_U]),
    Readdressed: _row(_readdress,         [],          [_I],            [_U], is_update=False),
    InputRefused: _row(_ask_again,        [],          [_I],            [_U], is_update=False),
    WorkConfirmed: _row(_confirm,         [],          [],              [_W]),  # of two decisions, the first counts
    WorkDeclined: _row(_decline,          [],          [],              [State.COMPLETED]),
    WorkCompleted: _row(_end,             [State.COMPLETED], [State.COMPLETED], [State.COMPLETED]),
    WorkFailed: _row(_end,                [State.FAILED], [State.FAILED], [State.FAILED]),
    WorkStopped: _row(_end,               [State.CANCELLED], [State.CANCELLED], [State.CANCELLED]),
    RunEnded: _row(_end_run,              [_W, *_ENDS], [_W, _I, *_ENDS], []),
    RunNotRedriven: _row(_begin_anew,     [_W, *_ENDS], [_W, _I, *_ENDS], []),
    WorkChecked: _row(_note_check,        [_W],        [_I],            [_U], is_update=False),
    AnswersDelivered: _row(_drop_delivered, [_W],      [_I],            [_U], is_update=False),
    StartPostponed: _row(_mark_starts,    [_W],        [_I],            [], is_update=False),
    WorkBegun: _row(_mark_starts,         [_W],        [_I],            [], is_update=False),
    LineChecked: _row(_note_line,         [_W],        [_I],            [], is_update=False),
    Noted: _row(_note_of_extra,           [_W],        [_I],            [_U], is_update=False),
    RunsStopped: _row_after_end(_note_stops),
    FollowedUp: _row_after_end(_follow_up),
}  # fmt: skip
"""Every event, with the function that says what it does and the states that it leads to."""


def state_of(task: Task) -> State:
    """Return the state of a task."""
    state = _STATES[type(task.status)]
    return State.UNCONFIRMED if state is State.INPUT_REQUIRED and task.awaits_confirmation else state


_STATES: Final[Mapping[type[Status], State]] = {
    Working: State.WORKING,
    InputRequired: State.INPUT_REQUIRED,
    Completed: State.COMPLETED,
    Failed: State.FAILED,
    Cancelled: State.CANCELLED,
}


def _updated(task: Task, at: datetime) -> Task:
    """Return a changed task with the time of the change."""
    # The clocks of two function instances differ: a later state never gets an earlier time.
    # A concurrent request has until the next check to start an execution that is to be stopped.
    is_to_be_stopped = task.has_ended and bool(task.runs_pending(Pending.STOP))
    checked_at = max(at, task.checked_at) if is_to_be_stopped else task.checked_at
    return replace(task, last_updated_at=max(at, task.last_updated_at), checked_at=checked_at)


def _with_requests(task: Task, requests: tuple[InputRequest, ...]) -> Task:
    return replace(task, status=_unfinished(requests, task.status.message))


def _with_message(task: Task, message: str | None) -> Task:
    if task.status.message == message:
        return task
    return replace(task, status=_unfinished(task.questions, message))


def _unfinished(requests: tuple[InputRequest, ...], message: str | None) -> Status:
    return InputRequired(requests, message) if requests else Working(message)
