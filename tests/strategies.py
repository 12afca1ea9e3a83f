"""Any value of the core, for properties."""

from datetime import UTC, datetime, timedelta
from typing import Final

from hypothesis import strategies as st

from stepwire.json_text import LARGEST_INTEGER, Json, write
from stepwire.principal import Principal
from stepwire.tasks.events import TaskEvent, WorkChecked, WorkCompleted, WorkFailed, WorkStopped
from stepwire.tasks.ids import TaskId, new_task_id
from stepwire.tasks.task import (
    Cancelled,
    Completed,
    Failed,
    ResultInExecution,
    Status,
    Task,
    TaskError,
    ToolResult,
    Work,
    Working,
)

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

results: st.SearchStrategy[ToolResult | ResultInExecution] = st.builds(
    ToolResult, json_objects.map(write), st.booleans()
) | st.builds(ResultInExecution, st.booleans())
errors: st.SearchStrategy[TaskError] = st.builds(TaskError, st.integers(-(2**31), 2**31), st.text(), json_values)
messages: st.SearchStrategy[str | None] = st.none() | st.text()

ends: st.SearchStrategy[Status] = (
    st.builds(Completed, results, messages) | st.builds(Failed, errors, messages) | st.builds(Cancelled, messages)
)
statuses: st.SearchStrategy[Status] = st.builds(Working, messages) | ends

ending_events: st.SearchStrategy[TaskEvent] = (
    st.builds(WorkCompleted, results, messages) | st.builds(WorkFailed, errors) | st.builds(WorkStopped, st.text())
)
events: st.SearchStrategy[TaskEvent] = st.just(WorkChecked()) | ending_events


def tasks(status: st.SearchStrategy[Status] = statuses) -> st.SearchStrategy[Task]:
    """Any task with one of these statuses."""
    return st.builds(
        Task,
        owner=principals,
        task_id=task_ids,
        work=st.builds(
            Work,
            tool=st.text(min_size=1),
            state_machine_arn=st.text(min_size=1),
            input=json_objects.map(write),
            output_schema=st.none() | json_objects.map(write),
        ),
        status=status,
        created_at=moments,
        last_updated_at=moments,
        ttl=durations,
        poll_interval=durations,
        checked_at=moments,
        version=st.integers(0, 1000),
    )
