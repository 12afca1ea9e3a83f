"""Hypothesis strategies for every value of the core."""

from datetime import UTC, datetime, timedelta
from typing import Final

from hypothesis import strategies as st

from stepwire.json_text import LARGEST_INTEGER, Json, JsonObject, write
from stepwire.principal import Principal
from stepwire.tasks.answers import Action, Answer, Given, InputResponse, Unanswerable
from stepwire.tasks.events import (
    Answered,
    AnswersDelivered,
    InputRefused,
    InputRequested,
    Noted,
    ProgressReported,
    RunEnded,
    RunNotRedriven,
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
from stepwire.tasks.ids import TaskId, new_task_id
from stepwire.tasks.inputs import (
    Asked,
    Callback,
    Elicitation,
    FormElicitation,
    InputRequest,
    Mode,
    Roots,
    Sampling,
    UndeliveredAnswer,
    UrlElicitation,
    WorkflowInput,
)
from stepwire.tasks.line import InLine, LineTerms
from stepwire.tasks.runs import ONCE, Attempt, Pending, Retry, Run, RunEnd, RunState
from stepwire.tasks.task import (
    Cancelled,
    Completed,
    Failed,
    InputRequired,
    Inputs,
    Origin,
    Progress,
    ResultElsewhere,
    ResultInExecution,
    Status,
    StoredResult,
    Task,
    TaskError,
    Terms,
    TermsElsewhere,
    ToolResult,
    Work,
    Working,
)
from stepwire.tracing import Trace

_MILLISECONDS_OF_A_CENTURY: Final = 3_155_760_000_000
_MONTH: Final = 30 * 24 * 60 * 60 * 1000  # milliseconds

json_values: st.SearchStrategy[Json] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-LARGEST_INTEGER, LARGEST_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda values: st.lists(values, max_size=5) | st.dictionaries(st.text(), values, max_size=5),
    max_leaves=20,
)
json_objects: st.SearchStrategy[dict[str, Json]] = st.dictionaries(st.text(), json_values, max_size=5)

moments: st.SearchStrategy[datetime] = st.integers(0, _MILLISECONDS_OF_A_CENTURY).map(
    lambda milliseconds: datetime(2000, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
)
durations: st.SearchStrategy[timedelta] = st.integers(1, _MONTH).map(
    lambda milliseconds: timedelta(milliseconds=milliseconds)
)
principals: st.SearchStrategy[Principal] = st.binary(min_size=16, max_size=16).map(lambda some: Principal(some.hex()))
task_ids: st.SearchStrategy[TaskId] = st.builds(new_task_id, moments, st.binary(min_size=16, max_size=16))

texts: st.SearchStrategy[str | None] = st.none() | json_objects.map(write)
terms: st.SearchStrategy[Terms] = st.builds(Terms, json_objects.map(write), texts, texts)
results: st.SearchStrategy[StoredResult] = (
    st.builds(ToolResult, json_objects.map(write), st.booleans())
    | st.builds(ResultElsewhere, st.booleans(), st.text(min_size=1), st.integers(0, 6_000_000))
    | st.builds(ResultInExecution, st.booleans())
)
errors: st.SearchStrategy[TaskError] = st.builds(TaskError, st.integers(-(2**31), 2**31), st.text(), json_values)
messages: st.SearchStrategy[str | None] = st.none() | st.text()

# Few keys and tokens, so that random histories repeat them. One key looks as if a number had been appended to it.
keys: st.SearchStrategy[str] = st.sampled_from(["approval", "approval-2", "approval-3", "amount"])
tokens: st.SearchStrategy[str] = st.sampled_from(["one", "two", "three", "four"])
elicitations: st.SearchStrategy[Elicitation] = st.builds(
    FormElicitation, st.text(min_size=1), json_objects.map(write)
) | st.builds(UrlElicitation, st.text(min_size=1), st.text(min_size=1))
asked: st.SearchStrategy[Asked] = elicitations | st.builds(Sampling, json_objects.map(write)) | st.just(Roots())
callbacks: st.SearchStrategy[Callback] = st.builds(Callback, tokens, st.integers(0, 4))
times_of_expiry: st.SearchStrategy[datetime | None] = st.none() | moments
input_requests: st.SearchStrategy[InputRequest] = st.builds(
    InputRequest,
    keys,
    st.integers(1, 1000),
    asked,
    callbacks | st.builds(WorkflowInput, st.none() | st.text()),
    times_of_expiry,
    st.none() | st.text(),
)
reactions: st.SearchStrategy[Answer] = st.builds(
    InputResponse, st.sampled_from(Action), st.none() | json_objects.map(write)
)
results_of_clients: st.SearchStrategy[Answer] = st.builds(InputResponse, st.none(), json_objects.map(write))
answers: st.SearchStrategy[Answer] = reactions | results_of_clients | st.just(Unanswerable())
given: st.SearchStrategy[Given] = st.builds(Given, st.just("a" * 32), moments, answers)

amounts: st.SearchStrategy[int | float] = st.integers(0, LARGEST_INTEGER) | st.floats(
    0, allow_nan=False, allow_infinity=False
)
progress: st.SearchStrategy[Progress] = st.builds(Progress, amounts, st.none() | amounts)
counts: st.SearchStrategy[Progress] = st.builds(Progress, amounts, amounts, is_counted=st.just(value=True))
origins: st.SearchStrategy[Origin] = st.builds(
    Origin,
    st.frozensets(st.sampled_from(Mode)),
    st.none() | st.text() | st.integers(-LARGEST_INTEGER, LARGEST_INTEGER),
    st.none() | st.text(),
    st.none() | st.just(Trace(f"00-{'a' * 32}-{'b' * 16}-01", "vendor=value")),
)
inputs: st.SearchStrategy[Inputs] = st.builds(
    Inputs,
    st.integers(0, 1000),
    st.lists(keys, unique=True).map(tuple),
    st.lists(st.builds(UndeliveredAnswer, tokens, given.map(lambda one: (one,))), max_size=3).map(tuple),
)

working: st.SearchStrategy[Status] = st.builds(Working, messages)
asking: st.SearchStrategy[Status] = st.builds(
    InputRequired, st.lists(input_requests, min_size=1, max_size=3).map(tuple), messages
)
ends: st.SearchStrategy[Status] = (
    st.builds(Completed, results, messages) | st.builds(Failed, errors, messages) | st.builds(Cancelled, messages)
)
statuses: st.SearchStrategy[Status] = working | asking | ends

progress_events: st.SearchStrategy[TaskEvent] = st.builds(ProgressReported, progress, messages)
questions: st.SearchStrategy[TaskEvent] = st.builds(InputRequested, keys, asked, callbacks, times_of_expiry)
extras: st.SearchStrategy[str] = st.sampled_from(["one extra", "another"])
notes: st.SearchStrategy[JsonObject] = st.dictionaries(st.text(max_size=3), st.integers(), max_size=2)


def noting(by: str, note: JsonObject | None) -> Noted:
    return Noted(by, lambda _task: note)


dialogue_events: st.SearchStrategy[TaskEvent] = (
    questions
    | st.builds(Answered, st.dictionaries(st.integers(1, 5), given))
    | st.builds(InputRefused, st.dictionaries(keys, st.text(), max_size=3))
    | st.builds(AnswersDelivered, st.frozensets(tokens))
    | st.builds(noting, extras, st.none() | notes)
)
ending_events: st.SearchStrategy[WorkEnded] = (
    st.builds(WorkCompleted, results, messages) | st.builds(WorkFailed, errors) | st.builds(WorkStopped, st.text())
)
lasting_events: st.SearchStrategy[TaskEvent] = (
    st.just(WorkChecked())
    | st.builds(StateEntered, st.text(min_size=1), st.none(), st.lists(st.text(min_size=1), max_size=3).map(tuple))
    | progress_events
    | dialogue_events
    | st.builds(WorkConfirmed, terms)
)
"""Events that do not end a task."""
refusals: st.SearchStrategy[TaskEvent] = st.builds(
    WorkDeclined, st.builds(ToolResult, json_objects.map(write), st.booleans())
)
events: st.SearchStrategy[TaskEvent] = lasting_events | refusals | ending_events


retries: st.SearchStrategy[Retry] = st.builds(
    Retry,
    attempts=st.integers(2, 10),
    errors=st.lists(st.text(min_size=1), min_size=1, max_size=3).map(tuple),
    redrives=st.booleans(),
    may_restart=st.booleans(),
    delay=durations,
    backoff=st.floats(1, 10),
    longest_delay=durations,
    has_jitter=st.booleans(),
)
attempts: st.SearchStrategy[Attempt] = st.builds(
    Attempt, st.integers(1, 10), st.integers(1, 10), st.integers(0, 9), st.none() | moments, st.text()
)
runs: st.SearchStrategy[Run] = st.builds(
    Run,
    state_machine_arn=st.text(min_size=1),
    name=st.text(),
    role=st.text(),
    constants=st.just("") | json_objects.map(write),
    delay=st.just(timedelta()) | durations,
    attempt=attempts,
    state=st.sampled_from(RunState),
    place=st.integers(0, 5),
    error=st.text(),
    pending=st.none() | st.sampled_from(Pending),
)
_run_ends: st.SearchStrategy[RunEnd] = st.builds(
    RunEnd,
    st.just(0),
    st.integers(1, 3),
    st.integers(0, 3),
    st.sampled_from([one for one in RunState if one is not RunState.OPEN]),
    st.none() | st.text(),
    st.text(),
    st.text(),
)
ends_of_runs: st.SearchStrategy[TaskEvent] = st.builds(RunEnded, _run_ends, ending_events) | st.builds(
    RunNotRedriven, _run_ends, ending_events
)


def tasks(status: st.SearchStrategy[Status] = statuses) -> st.SearchStrategy[Task]:
    """Draw any task with one of these statuses."""
    return st.builds(
        Task,
        owner=principals,
        task_id=task_ids,
        work=st.builds(
            Work,
            tool=st.text(min_size=1),
            terms=terms | st.builds(TermsElsewhere, st.text(min_size=1)),
            shows_state=st.booleans(),
            result_bucket=st.none() | st.text(min_size=1),
            result_prefix=st.none() | st.text(min_size=1),
            execution_prefix=st.from_regex(r"[a-z0-9]{1,11}-", fullmatch=True),
        ),
        status=status,
        created_at=moments,
        last_updated_at=moments,
        ttl=durations,
        poll_interval=durations,
        longest_poll_interval=durations,
        checked_at=moments,
        origin=origins,
        inputs=inputs,
        progress=st.none() | progress,
        line=st.none() | st.builds(LineTerms, st.text(min_size=1), st.text(min_size=1), st.text()),
        in_line=st.none() | st.builds(InLine, st.integers(1, 10**6), st.none() | moments, st.booleans()),
        notes=st.dictionaries(extras, notes),
        states=st.none() | st.lists(st.text(min_size=1, max_size=80), max_size=3).map(tuple),
        keep_result=st.just(timedelta()) | durations,
        runs=st.lists(runs, min_size=1, max_size=5).map(tuple),
        quorum=st.integers(1, 2),
        retry=st.just(ONCE) | retries,
        version=st.integers(0, 1000),
    )
