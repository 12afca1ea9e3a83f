"""What the kit needs of the world: a store for tasks, a runner of workflows, the time and randomness.

Adapters in `aws/` fill these; tests fill them with fakes that pass the same contract suite.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias

from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId, TaskKey
from stepwire.tasks.outcomes import ExecutionState
from stepwire.tasks.task import Execution, Task
from stepwire.tasks.usage import Limits


@dataclass(frozen=True)
class TaskPage:
    """Some of a caller's tasks, newest first."""

    tasks: tuple[Task, ...]
    next_after: TaskId | None
    """The id to go on after; None on the last page."""


@dataclass(frozen=True)
class Followed:
    """A task, and what became of a request that follows it."""

    task: Task | None
    is_cancelled: bool
    """Whether the client has cancelled the request, and wants to hear no more."""


@dataclass(frozen=True)
class IdempotencyKey:
    """A key that stands for one call of one caller."""

    digest: str
    """Of the key; the key itself is nobody's business."""
    call_digest: str
    """Of the tool and the arguments."""


@dataclass(frozen=True)
class KeyClaim:
    """Says which task a key stands for, from before that task is written."""

    task_id: TaskId
    call_digest: str
    claimed_at: datetime
    expires_at: datetime
    """When the claim may be deleted; later than its task, so that a task is never without its key."""


@dataclass(frozen=True)
class NeglectedPage:
    """Some of the tasks that nobody has looked after."""

    keys: tuple[TaskKey, ...]
    next_after: str | None
    """Where to go on, opaque; None on the last page."""


class TaskStore(Protocol):
    """Durable tasks, each under its owner; every read sees every finished write."""

    def create(self, task: Task) -> Task:
        """Write a new task (version 0) and give it back with its version; nothing where just this was written before.

        Raises:
            TaskExists: the id is taken by another task, or this one has been saved since.
        """
        ...

    def claim_key(
        self, owner: Principal, digest: str, claim: KeyClaim, instead: TaskId | None = None
    ) -> KeyClaim | None:
        """Let an idempotency key stand for a task, unless it stands for one already.

        Args:
            owner: whose key it is.
            digest: of the key.
            claim: the task, and the call.
            instead: a task that the key stands for in vain; its claim is replaced.

        Returns:
            The claim that somebody else has made; None where it is this one.
        """
        ...

    def keyed(self, owner: Principal, digest: str) -> KeyClaim | None:
        """Find the claim of an idempotency key; expired ones may still be there."""
        ...

    def reserve(self, key: TaskKey, limits: Limits, at: datetime) -> None:
        """Count a task among the active ones of its owner, if he is at no limit; nothing where it is counted already.

        Raises:
            NotAdmitted: he is, with the refusal of `stepwire.tasks.usage`.
        """
        ...

    def release(self, owner: Principal, task_ids: frozenset[TaskId]) -> None:
        """Count tasks no more; nothing where they are not counted.

        Raises:
            StoreBusy: the store may not have done it; doing it again is harmless.
        """
        ...

    def begin_reclaim(self, owner: Principal, at: datetime) -> bool:
        """Remember that slots of a caller are reclaimed now; False where that was tried within `RECLAIM_PAUSE`.

        Raises:
            StoreBusy: nobody knows whether it was remembered.
        """
        ...

    def several(self, owner: Principal, task_ids: frozenset[TaskId]) -> Mapping[TaskId, Task]:
        """Read several tasks, at most 100; those that are there."""
        ...

    def unreserve(self, key: TaskKey, limits: Limits) -> None:
        """Undo a reservation of which no task came: free its slot and give back its part of the rate. Idempotent.

        Raises:
            StoreBusy: the store may not have done it; doing it again is harmless.
        """
        ...

    def load(self, key: TaskKey) -> Task | None:
        """Read a task; expired ones may still be there."""
        ...

    def load_followed(self, key: TaskKey, request: str) -> Followed:
        """Read a task, as a request follows it that the digest names; one call, like `load`.

        Raises:
            StoreBusy: try again.
        """
        ...

    def begin_request(self, owner: Principal, request: str, task_id: TaskId, until: datetime) -> bool:
        """Remember until then which task does the work of a request.

        Returns:
            Whether the work may begin: not where the request was cancelled before, or its work for this very task was.
        """
        ...

    def cancel_request(self, owner: Principal, request: str, until: datetime) -> TaskId | None:
        """Remember until then that the request of that digest was cancelled, and give the task that does its work."""
        ...

    def save(self, task: Task) -> Task:
        """Write a task that was loaded, if nobody else has since, and give it back with its new version.

        Raises:
            SaveConflict: somebody else saved or deleted it since.
        """
        ...

    def delete(self, task: Task) -> bool:
        """Remove a task that was loaded, unless somebody has saved it or made it anew; tell whether it is gone."""
        ...

    def neglected(self, since: datetime, after: str | None) -> NeglectedPage:
        """List some tasks of any owner whose execution may go on and that nobody has looked at since then.

        Those that wait for a confirmation have nothing there. Lags a little behind. Those come first that have waited
        longest, nearly.
        """
        ...

    def bookmark(self) -> str | None:
        """Give where the list of the neglected was left last time; None where it was read to its end."""
        ...

    def keep_bookmark(self, after: str | None) -> None:
        """Remember where the list of the neglected is left."""
        ...

    def page(self, owner: Principal, after: TaskId | None, limit: int) -> TaskPage:
        """Read some of an owner's tasks, newest first, those older than `after`."""
        ...


@dataclass(frozen=True)
class Lease:
    """A place that is held until it is given back, or lapses."""

    until: datetime
    number: int
    """Random, below 65,536: what tells two leases of one moment apart."""


class Places(Protocol):
    """Rooms with a bounded number of places, shared by all function instances."""

    def take(self, room: str, lease: Lease, most: int, at: datetime) -> bool:
        """Take a place in a room that has so many; False where all are taken, by leases that have not lapsed.

        Raises:
            Exception: any error of the store; the place may be taken, and then lapses.
        """
        ...

    def give_back(self, room: str, lease: Lease) -> None:
        """Give a place back; nothing where it is not held."""
        ...


class Workflows(Protocol):
    """State machines that run, and states of theirs that wait for an answer."""

    def start(self, execution: Execution, input_text: str, trace_header: str | None = None) -> None:
        """Begin an execution; nothing where the same one was begun before, whatever became of it.

        Args:
            execution: its state machine and its name.
            input_text: JSON text.
            trace_header: the trace that it belongs to, as AWS X-Ray writes it.

        Raises:
            StartRefused: it certainly was not begun.
            StartUnclear: nobody knows.
        """
        ...

    def describe(self, execution: Execution) -> ExecutionState:
        """Tell how an execution stands; lags a little behind."""
        ...

    def current_state(self, execution: Execution) -> str | None:
        """Name the state that an execution entered last; None where it has ended, or is not known.

        Raises:
            WorkflowsUnavailable: no answer.
        """
        ...

    def list_running(self, state_machine_arn: str) -> frozenset[str]:
        """Name the executions of a state machine that run, at most some 100,000; lags a little behind.

        Raises:
            WorkflowsUnavailable: no answer.
        """
        ...

    def stop(self, execution: Execution, cause: str) -> bool:
        """End an execution; nothing where it has ended, or never began.

        Returns:
            Whether there is such an execution: one that is not there may be about to begin.
        """
        ...

    def resume(self, token: str, output: str) -> None:
        """Give a state the answer that it waits for; nothing where it waits no more.

        Args:
            token: the state's callback token.
            output: JSON text.

        Raises:
            WorkflowsUnavailable: the state may not have got it; giving it again is harmless.
        """
        ...

    def break_off(self, token: str, error: str, cause: str) -> None:
        """Let a state fail that waits for an answer; nothing where it waits no more.

        Raises:
            WorkflowsUnavailable: as for `resume`.
        """
        ...


class Clock(Protocol):
    """The time."""

    def now(self) -> datetime:
        """Tell the time, aware and in UTC."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        ...


Randomness: TypeAlias = Callable[[int], bytes]
"""Gives that many random bytes that nobody can guess (X27)."""
