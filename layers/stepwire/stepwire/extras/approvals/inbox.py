"""The questions that others than the caller decide, where these find them, and what their clients have answered."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from stepwire.extras.approvals.rules import Approval, route_of
from stepwire.principal import PRINCIPAL_PATTERN, Principal
from stepwire.protocol.tokens import unwrap, wrap
from stepwire.tasks.ids import TaskId, TaskKey, task_id_of
from stepwire.tasks.inputs import InputRequest
from stepwire.tasks.task import Task


class QuestionKey(Struct, frozen=True):
    """Names a question to others than the caller."""

    task: TaskKey
    number: int
    """Sequence number of the question in its task."""


def approval_id_of(key: QuestionKey) -> str:
    """Return the id by which approvers name a question of a task. Knowing it opens nothing."""
    return wrap([key.task.owner, key.task.task_id, key.number])


def approval_in(approval_id: str) -> QuestionKey | None:
    """Return the question that an id names; None if it is no such id."""
    match unwrap(approval_id):
        case [str(owner), str(task_id), int(number)] if PRINCIPAL_PATTERN.fullmatch(owner) and task_id_of(task_id):
            return QuestionKey(TaskKey(Principal(owner), TaskId(task_id)), number)
        case _:
            return None


class QuestionToOthers(Struct, frozen=True):
    """A question that others than the caller decide, with its task."""

    task: Task
    request: InputRequest
    approval: Approval
    """Its own."""

    @property
    def key(self) -> QuestionKey:
        """What names it."""
        return QuestionKey(self.task.key, self.request.number)

    @property
    def title(self) -> str:
        """What people call the tool whose work asks."""
        route = route_of(self.task)
        return "" if route is None else route.title

    @property
    def expires_at(self) -> datetime:
        """From when on nobody can decide it."""
        return min(self.request.expires_at or self.task.expires_at, self.task.expires_at)


class OpenQuestion(QuestionToOthers, frozen=True):
    """A question that an approver may decide."""


class InboxEntry(Struct, frozen=True):
    """A question, where the people who may decide it find it."""

    key: QuestionKey
    digests: tuple[str, ...]
    """Of the qualities under which it is found (`Approval.digests`)."""
    asked_at: datetime
    expires_at: datetime
    """When its task ends at the latest, and it may be dropped."""


class Found(Struct, frozen=True):
    """Questions that an approver may perhaps decide."""

    questions: tuple[QuestionKey, ...]
    """Each once, the oldest first."""
    is_all: bool = True
    """Whether there are no more; a bounded number of places is looked into, and of each a bounded part is read."""


class Inbox(Protocol):
    """The open questions to others than the callers, by the quality that an approver must have.

    A hint where to look: only the task says whether a question is open. An entry may appear some seconds after its
    question, and go some seconds after it was decided.
    """

    def add(self, entry: InboxEntry) -> None:
        """Add a question. Idempotent."""
        ...

    def remove(self, entry: InboxEntry) -> None:
        """Remove a question. Idempotent."""
        ...

    def find(self, digests: Sequence[str], most: int) -> Found:
        """Return the oldest questions under any of these digests, about `most` at most."""
        ...


class Asking(Struct, frozen=True):
    """What an approver's client has answered to a question that this call put to its user, and that decides nothing."""

    attempt: int
    """How often the question had been put."""
    reason: str | None = None
    """What was wrong with the form; None: the user has closed it."""


class Askings(Protocol):
    """What a legacy client has answered, for the stream on which it was asked: that is another request."""

    def note(self, approver: Principal, call: str, asking: Asking, until: datetime) -> None:
        """Keep an answer to a call, by the call's digest, until a time; not where a later attempt has one."""
        ...

    def find(self, approver: Principal, call: str) -> Asking | None:
        """Return the answer to a call; None if there is none yet."""
        ...
