"""Record events in tasks: load, advance, save, and retry after a lost race (optimistic locking).

A lost race is not an error: the task is loaded again and advanced from its new state. An ended task ignores the event
unless it comes after the end.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stepwire.audit import Audit, AuditAction, Audited, AuditEntry, EndSource, no_audit
from stepwire.engine.ports import Clock, TaskPage, TaskStore, WatchedTask
from stepwire.errors import InternalError, SaveConflict, StoreBusy, UnknownTask
from stepwire.principal import Principal
from stepwire.tasks.events import Advanced, AfterEnd, RunEnded, TaskEvent, WorkCompleted, WorkEnded
from stepwire.tasks.ids import TaskId, TaskKey, task_id_of, task_key_from_execution
from stepwire.tasks.lifecycle import advance, as_of
from stepwire.tasks.outcomes import ExecutionEnd, ReadObject, Succeeded, event_of, event_of_object
from stepwire.tasks.task import Completed, Execution, Task
from stepwire.tracing import follow_unless_another

# All branches of a workflow may ask at the same time, and of concurrent writers only one succeeds per round.
MOST_TRIES: Final = 20
_LONGEST_PAUSE: Final = 0.1  # seconds


class RunOfTask(Struct, frozen=True):
    """A run of a task, which may have ended."""

    task: Task
    run: int
    """Index of the run."""


class Recorder(Struct, frozen=True):
    """Loads tasks and records events in them."""

    store: TaskStore
    clock: Clock
    audit: Audit = no_audit
    read_object: ReadObject | None = None
    """Reads workflows' outputs in S3; None if this function may not."""

    def load(self, key: TaskKey) -> Task | None:
        """Return a task; None if it does not exist or has expired, even if DynamoDB has not deleted it yet."""
        task = self.visible(key.owner, self.store.load(key))
        if task is not None and task.origin.trace is not None:
            follow_unless_another(task.origin.trace)
        return task

    def visible(self, owner: Principal, task: Task | None) -> Task | None:
        """Return a task as it is now, given as the store has it; None unless it is the owner's and has not expired."""
        # Isolation at two layers: the key contains the owner; this check holds even if a store returns a wrong item.
        if task is None or task.owner != owner:
            return None
        now = self.clock.now()
        return as_of(task, now) if task.expires_at > now else None

    def load_for(self, execution: Execution) -> RunOfTask | None:
        """Return the task that an execution works for, and the run; None if there is none.

        That is the task in its name or, after redrives of ended tasks, the newest one that continues it.
        """
        key = task_key_from_execution(execution.name)
        task = self.load(key) if key else None
        while task is not None and task.follow_up is not None:  # then it has ended
            newer = self.load(TaskKey(task.owner, task.follow_up))
            if newer is None:  # not there yet, or expired
                break
            task = newer
        run = None if task is None else task.run_of(execution)
        return None if task is None or run is None else RunOfTask(task, run)

    def require(self, owner: Principal, task_id: object) -> Task:
        """Return the task with an id that a caller sent.

        Raises:
            UnknownTask: the caller has no such task.
        """
        wellformed = task_id_of(task_id)
        task = self.load(TaskKey(owner, wellformed)) if wellformed else None
        if task is None:
            raise UnknownTask
        return task

    def load_watched(self, key: TaskKey, request: str) -> WatchedTask:
        """Return a task together with the state of the request that watches it."""
        watched = self.store.load_watched(key, request)
        return replace(watched, task=self.visible(key.owner, watched.task))

    def page(self, owner: Principal, after: TaskId | None, limit: int) -> TaskPage:
        """Return one page of a caller's tasks, newest first."""
        page = self.store.page(owner, after, limit)
        visible = (self.visible(owner, task) for task in page.tasks)
        return replace(page, tasks=tuple(filter(None, visible)))

    def load_many(self, owner: Principal, task_ids: frozenset[TaskId]) -> dict[TaskId, Task]:
        """Return several of a caller's tasks, including expired ones, whose slots must be freed."""
        found = self.store.load_many(owner, task_ids)
        return {task_id: task for task_id, task in found.items() if task.owner == owner}

    def record(self, task: Task, event: TaskEvent, source: EndSource | None = None) -> Task | None:
        """Record an event without effects, and return the task (`advanced`)."""
        after = self.advanced(task, event, source)
        return None if after is None else after.task

    def advanced(self, task: Task, event: TaskEvent, source: EndSource | None = None) -> Advanced | None:
        """Advance a task, save it and return it with its effects; None if it no longer exists.

        The task is loaded again only after a lost race. `source`: how the end of an execution became known.
        """
        current: Task | None = task
        for attempt in range(MOST_TRIES):
            if attempt > 1:  # no pause after the first conflict: two writers rarely meet again
                from secrets import SystemRandom  # noqa: PLC0415 - few requests retry

                # The kernel's randomness: copies of one snapshot would draw the same pauses from `random`.
                self.clock.sleep(SystemRandom().uniform(0, _LONGEST_PAUSE))
            if current is None:
                return None
            after = advance(current, event, self.clock.now())
            if after.task is current:
                return after
            try:
                return self._saved(after, event, source)
            except SaveConflict:
                current = self.load(task.key)
                if after.effects and current is not None and _is_of(current, after.task):
                    return replace(after, task=current)  # the save was done, and its answer was lost
        raise InternalError("Too many concurrent requests are changing this task. Send the request again.")

    def event_of_end(self, task: Task, end: ExecutionEnd) -> WorkEnded:
        """Return the event for the end of a task's execution. Only a success needs the terms of the task.

        Raises:
            ObjectsUnavailable: the output is in S3, which does not answer.
        """
        if not isinstance(end, Succeeded):
            return event_of(end, None, task.work.causes)
        terms = self.store.parts.terms_of(task)
        if self.read_object is None:
            return event_of(end, terms.output_schema, task.work.causes, terms.output_shape)
        return event_of_object(task, end, terms, self.read_object)

    def save_if_unchanged(self, task: Task, event: TaskEvent) -> Task | None:
        """Advance a task, save it and return it; None, without a retry, if another writer saved first."""
        after = self.advanced_if_unchanged(task, event)
        return None if after is None else after.task

    def advanced_if_unchanged(self, task: Task, event: TaskEvent) -> Advanced | None:
        """Advance a task, save it and return it with its effects; None, without a retry, if another saved first."""
        after = advance(task, event, self.clock.now())
        try:
            return self._saved(after, event)
        except SaveConflict:
            return None

    def note(self, action: Audited, task: Task, outcome: str | None = None) -> None:
        """Write an action on a task to the audit trail, with its status or another outcome."""
        self.audit(entry_of(action, task, outcome))

    def load_all(self, keys: Sequence[TaskKey]) -> Mapping[TaskKey, Task]:
        """Return several tasks of any owners, without missing and expired ones."""
        found = {key: self.visible(key.owner, task) for key, task in self.store.load_all(keys).items()}
        return {key: task for key, task in found.items() if task is not None}

    def note_end(self, task: Task, event: TaskEvent, source: EndSource | None, at: datetime) -> None:
        """Write the end of a task to the audit trail, and whether its output could not be shaped."""
        entry, winner = entry_of(AuditAction.ENDED, task), task.winner
        name = (winner.name or None) if winner else None
        self.audit(replace(entry, duration=at - task.created_at, source=source, winner=name))
        end = event.then if isinstance(event, RunEnded) else event
        if isinstance(end, WorkCompleted) and end.shaping_fault is not None:
            self.note(AuditAction.UNSHAPED, task, end.shaping_fault)

    def _saved(self, after: Advanced, event: TaskEvent, source: EndSource | None = None) -> Advanced:
        """Save a task and return it with its effects; with its end, free its slot and write the audit trail."""
        task = self.store.save(after.task)
        after = replace(after, task=task)
        if not task.has_ended or isinstance(event, AfterEnd):
            return after
        # A slot that is not freed now is reclaimed when its owner reaches the limit (`Admission`).
        with suppress(StoreBusy):
            self.store.slots.release(task.owner, frozenset({task.task_id}), task.usage_shard)
        self.note_end(task, event, source, task.last_updated_at)
        return after


def _is_of(stored: Task, sent: Task) -> bool:
    """Tell whether a stored task is the one that was sent, not another writer's from the same millisecond.

    Separately stored parts are not compared: if another writer sent the same, effects are idempotent.
    """
    is_next = stored.version == sent.version + 1 and stored.last_updated_at == sent.last_updated_at
    is_same = stored.runs == sent.runs and type(stored.status) is type(sent.status)
    return is_next and is_same and stored.questions == sent.questions and stored.inputs == sent.inputs


def entry_of(action: Audited, task: Task, outcome: str | None = None) -> AuditEntry:
    """Return an entry of the audit trail, with the status of the task or with another outcome."""
    if outcome is None:
        is_error = isinstance(task.status, Completed) and task.status.result.is_error  # differs from a success
        outcome = "completed_with_error" if is_error else type(task.shown_status).__name__.lower()
    return AuditEntry(action, task.owner, task.work.tool, task.task_id, outcome, trace=task.origin.trace)
