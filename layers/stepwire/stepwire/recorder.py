"""Record what happened to a task: load, advance, save, and try again where somebody else was faster.

A lost race is no error: the task is read anew and advanced from what it is now, and a finished task absorbs the event.
"""

import secrets
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from stepwire.audit import Action, Audit, Entry, Source, unheard
from stepwire.errors import InternalError, SaveConflict, StoreBusy, UnknownTask
from stepwire.ports import Clock, Followed, TaskPage, TaskStore
from stepwire.principal import Principal
from stepwire.tasks.events import TaskEvent
from stepwire.tasks.ids import TaskId, TaskKey, task_id_of
from stepwire.tasks.lifecycle import advance, as_of
from stepwire.tasks.task import Completed, Status, Task

# The branches of a workflow may all ask at once, and of those who write at the same time one wins: so many may.
MOST_TRIES: Final = 20
_LONGEST_PAUSE: Final = 0.1  # seconds
_CHANCE: Final = secrets.SystemRandom()


@dataclass(frozen=True)
class Recorder:
    """Reads tasks, and writes what happened to them."""

    store: TaskStore
    clock: Clock
    audit: Audit = unheard

    def now(self) -> datetime:
        """Tell the time in whole milliseconds: what the wire and the store hold."""
        now = self.clock.now().astimezone(UTC)
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    def load(self, key: TaskKey) -> Task | None:
        """Read a task; an expired one is gone, whether DynamoDB has deleted it yet or not."""
        return self._present(key.owner, self.store.load(key))

    def known(self, owner: Principal, task_id: object) -> Task:
        """Read a task that a caller names.

        Raises:
            UnknownTask: no such task for this caller.
        """
        wellformed = task_id_of(task_id)
        task = self.load(TaskKey(owner, wellformed)) if wellformed else None
        if task is None:
            raise UnknownTask
        return task

    def followed(self, key: TaskKey, request: str) -> Followed:
        """Read a task as a request follows it."""
        followed = self.store.load_followed(key, request)
        return replace(followed, task=self._present(key.owner, followed.task))

    def page(self, owner: Principal, after: TaskId | None, limit: int) -> TaskPage:
        """Read some of a caller's tasks, newest first."""
        page = self.store.page(owner, after, limit)
        present = (self._present(owner, task) for task in page.tasks)
        return replace(page, tasks=tuple(filter(None, present)))

    def several(self, owner: Principal, task_ids: frozenset[TaskId]) -> dict[TaskId, Task]:
        """Read several of a caller's tasks, expired ones with them: their slots are to be freed."""
        found = self.store.several(owner, task_ids)
        return {task_id: task for task_id, task in found.items() if task.owner == owner}

    def record(self, task: Task, event: TaskEvent, source: Source | None = None) -> Task | None:
        """Advance a task and save it; None where it is gone.

        Args:
            task: as it was loaded; read again only where that turns out to be stale.
            event: what happened.
            source: how it is known that an execution has ended, where that is what happened.
        """
        current: Task | None = task
        for attempt in range(MOST_TRIES):
            if attempt > 1:  # two may meet by chance; more than two do better to spread
                # Of the kernel's randomness: copies of one snapshot would all draw the same pauses from Python's own.
                self.clock.sleep(_CHANCE.uniform(0, _LONGEST_PAUSE))
            if current is None:
                return None
            after = advance(current, event, self.now())
            if after is current:
                return current
            try:
                return self._saved(after, source)
            except SaveConflict:
                current = self.load(task.key)
        raise InternalError("The task is being changed by too many others at once. Try again.")

    def claim(self, task: Task, event: TaskEvent) -> Task | None:
        """Save like `record`, but only as the first: None where somebody else was faster."""
        try:
            return self._saved(advance(task, event, self.now()))
        except SaveConflict:
            return None

    def _saved(self, task: Task, source: Source | None = None) -> Task:
        saved = self.store.save(task)
        if saved.has_ended:
            self._ended(saved, source)
        return saved

    def _ended(self, task: Task, source: Source | None) -> None:
        # What is not released now is found out when its owner is at his limit (`Operations`).
        with suppress(StoreBusy):
            self.store.release(task.owner, frozenset({task.task_id}))
        duration = task.last_updated_at - task.created_at
        outcome = outcome_of(task.status)
        self.audit(Entry(Action.ENDED, task.owner, task.work.tool, task.task_id, outcome, duration, source))

    def _present(self, owner: Principal, task: Task | None) -> Task | None:
        # Isolation at two layers: the key holds the owner already, and a store that errs must not show another's task.
        if task is None or task.owner != owner:
            return None
        now = self.now()
        return as_of(task, now) if task.expires_at > now else None


def outcome_of(status: Status) -> str:
    """Name how a task ended, or that it has not; a tool that failed is told from one that did not."""
    if isinstance(status, Completed) and status.result.is_error:
        return "completed_with_error"
    return type(status).__name__.lower()


def is_due(task: Task, at: datetime, interval: timedelta) -> bool:
    """Tell whether nobody has looked at Step Functions for this task for a while."""
    return not task.has_ended and at - task.checked_at >= interval
