"""What is noted with a task of the tasks that clients have made of its questions, and what their words mean. Pure.

What a client says is input: an id that is not printable, an unknown status or an interval that is no number is ignored.
"""

import math
import re
from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from typing import Final, TypeAlias

from msgspec import Struct

from stepwire.codec import MILLISECOND, encode, value_of
from stepwire.json_text import Json, JsonObject, as_object, load_json
from stepwire.tasks.task import Task

NAME: Final = "client_tasks"
MOST_CLIENT_TASKS: Final = 32
"""Of one task of ours, in all sessions together."""
LONGEST_INTERVAL: Final = timedelta(hours=1)
_CLIENT_TASK_ID: Final = re.compile(r"[!-~]{1,128}")
_DEFAULT_INTERVAL: Final = timedelta(seconds=1)


class ClientTask(Struct, frozen=True, omit_defaults=True):
    """A task that a client has made of a question."""

    number: int
    """Sequence number of the question."""
    session: str
    """Digest of the session and the number: only this client knows the task."""
    task_id: str
    """The client's own id."""
    poll_interval: timedelta = _DEFAULT_INTERVAL
    """How long to wait between two questions about it."""
    has_ended: bool = False
    """Whether it has ended, so that its result can be fetched."""

    @property
    def key(self) -> tuple[int, str, str]:
        """What tells it from the others of our task."""
        return self.number, self.session, self.task_id


class ClientTaskState(Enum):
    """How a client's task stands, by the client's answer to `tasks/get`."""

    GOES_ON = "goes on"
    HAS_RESULT = "has a result, or the error in its place"
    CANCELLED = "cancelled"
    LOST = "the client does not know it, or says nothing that can be understood"


class Note(Struct, frozen=True):
    """What is noted with a task of ours."""

    made: tuple[ClientTask, ...]
    """The tasks that clients have made of its questions, oldest first. They outlive the questions, to be cancelled."""


Change: TypeAlias = Callable[[Task], JsonObject | None]
"""Returns the note of a task as it is now; None: there is nothing to note."""


def made_of(task: Task) -> tuple[ClientTask, ...]:
    """Return the tasks that clients have made of a task's questions."""
    note = task.notes.get(NAME)
    return () if note is None else value_of(note, Note).made


def noted(client_task: ClientTask) -> Change:
    """Note that a client has made a task of a question, or that its task has ended, unless there are too many."""

    def note(task: Task) -> JsonObject | None:
        made = made_of(task)
        if client_task in made or not 1 <= client_task.number <= task.inputs.asked:
            return _note_of(made)
        open_numbers = {one.number for one in task.input_requests}
        # Of a closed question, a task that has ended needs no cancellation.
        others = [
            one for one in made if one.key != client_task.key and (one.number in open_numbers or not one.has_ended)
        ]
        return _note_of(made if len(others) >= MOST_CLIENT_TASKS else (*others, client_task))

    return note


def closed(client_task: ClientTask) -> Change:
    """Note that a client's task needs no more of us: it was cancelled, or its client has lost it."""
    return lambda task: _note_of(tuple(one for one in made_of(task) if one.key != client_task.key))


def _note_of(made: tuple[ClientTask, ...]) -> JsonObject | None:
    return load_json(encode(Note(made))) if made else None


def client_task_of(number: int, session: str, result: Json) -> ClientTask | None:
    """Return the task that a client has made of a question; None if its answer is no CreateTaskResult."""
    task = as_object(as_object(result).get("task"))
    task_id, state = task.get("taskId"), _CLIENT_TASK_STATES.get(str(task.get("status")))
    if not isinstance(task_id, str) or not _CLIENT_TASK_ID.fullmatch(task_id) or state is None:
        return None
    interval = _interval_of(task.get("pollInterval"))
    return ClientTask(number, session, task_id, interval, state is ClientTaskState.HAS_RESULT)


def client_task_state_of(task: ClientTask, result: Json) -> ClientTaskState:
    """Say how a client's task stands, by the result of `tasks/get`; None stands for an error."""
    told = as_object(result)
    status = str(told.get("status")) if told.get("taskId") == task.task_id else ""
    return _CLIENT_TASK_STATES.get(status, ClientTaskState.LOST)


def _interval_of(value: Json) -> timedelta:
    # NaN stands for a number that lost digits.
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 1:
        return _DEFAULT_INTERVAL
    return int(min(value, LONGEST_INTERVAL // MILLISECOND)) * MILLISECOND


# A client whose task is `input_required` wants to ask something itself, on `tasks/result`. We have nothing to answer
# with, so its task goes on until its user has dealt with it.
_CLIENT_TASK_STATES: Final = {
    "working": ClientTaskState.GOES_ON,
    "input_required": ClientTaskState.GOES_ON,
    "completed": ClientTaskState.HAS_RESULT,
    "failed": ClientTaskState.HAS_RESULT,
    "cancelled": ClientTaskState.CANCELLED,
}
