"""The tasks that a client makes of our questions (2025-11-25), and what the client says of them.

What a client says is input: an id that could not be kept, or a status that the specification does not have, makes no
task. No clock, no I/O.
"""

import math
import re
from datetime import timedelta
from enum import Enum
from typing import Any, Final

from msgspec import Struct

from stepwire.json_text import Json, as_object

MOST_CLIENT_TASKS: Final = 32
"""Of one task of ours, in all sessions together."""
LONGEST_INTERVAL: Final = timedelta(hours=1)
_TASK_ID: Final = re.compile(r"[!-~]{1,128}")
_DEFAULT_INTERVAL: Final = timedelta(seconds=1)
_MILLISECOND: Final = timedelta(milliseconds=1)


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


class Standing(Enum):
    """How a client's task stands, by the client's answer to `tasks/get`."""

    GOES_ON = "goes on"
    HAS_RESULT = "has a result, or the error in its place"
    CANCELLED = "cancelled"
    LOST = "the client does not know it, or says nothing that can be understood"


def client_task_of(number: int, session: str, result: Json) -> ClientTask | None:
    """Return the task that a client has made of a question; None if its answer is no CreateTaskResult."""
    task = as_object(as_object(result).get("task"))
    task_id, standing = task.get("taskId"), _STANDINGS.get(_status(task))
    if not isinstance(task_id, str) or not _TASK_ID.fullmatch(task_id) or standing is None:
        return None
    interval = _interval_of(task.get("pollInterval"))
    return ClientTask(number, session, task_id, interval, standing is Standing.HAS_RESULT)


def standing_of(task: ClientTask, result: Json) -> Standing:
    """Say how a client's task stands, by the result of `tasks/get`; None stands for an error."""
    told = as_object(result)
    return _STANDINGS.get(_status(told), Standing.LOST) if told.get("taskId") == task.task_id else Standing.LOST


def _status(told: dict[str, Any]) -> str:
    return str(told.get("status"))


def _interval_of(value: Json) -> timedelta:
    # NaN stands for a number that lost digits.
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 1:
        return _DEFAULT_INTERVAL
    return int(min(value, LONGEST_INTERVAL // _MILLISECOND)) * _MILLISECOND


# A client whose task is `input_required` wants to ask something itself, on `tasks/result`. We have nothing to answer
# with, so its task goes on until its user has dealt with it.
_STANDINGS: Final = {
    "working": Standing.GOES_ON,
    "input_required": Standing.GOES_ON,
    "completed": Standing.HAS_RESULT,
    "failed": Standing.HAS_RESULT,
    "cancelled": Standing.CANCELLED,
}
