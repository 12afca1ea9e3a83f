"""The ports of the engine: a task store, workflows, wait slots, a clock and randomness, a gate, questions to others.

`aws/` implements them; tests use fakes that pass the same contract suite.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol, TypeAlias

from msgspec import Struct

from stepwire.principal import Principal
from stepwire.tasks.events import StateEntered
from stepwire.tasks.ids import TaskId, TaskKey
from stepwire.tasks.limiter import Limits, Refused
from stepwire.tasks.line import InLine
from stepwire.tasks.outcomes import ExecutionEnd, ExecutionState
from stepwire.tasks.task import Execution, ResultElsewhere, Task, Terms, ToolResult


class TaskPage(Struct, frozen=True):
    """One page of a caller's tasks, newest first."""

    tasks: tuple[Task, ...]
    next_after: TaskId | None
    """The cursor: the last id of this page; None on the last page."""


class WatchedTask(Struct, frozen=True):
    """A task, and whether the request that watches it was cancelled."""

    task: Task | None
    is_cancelled: bool
    """Whether the client cancelled the request and expects no further messages."""


class IdempotencyKey(Struct, frozen=True):
    """The idempotency key of one call, as digests: the caller's own key, or one of the tool (`window`)."""

    digest: str
    """Digest of the key; the key itself is not stored."""
    call_digest: str
    """Digest of what every call with this key has in common: the tool, and all arguments or those that make the key."""
    window: timedelta | None = None
    """How long after its claim a key of the tool holds; None: the caller's own key, which holds as long as its task."""


class KeyClaim(Struct, frozen=True):
    """Assigns an idempotency key to a task id; written before the task."""

    task_id: TaskId
    call_digest: str
    claimed_at: datetime
    expires_at: datetime
    """When the claim may be deleted; later than its task, so that the key stays valid as long as the task."""


class UncheckedPage(Struct, frozen=True):
    """One page of the tasks that are due for a check by the sweep."""

    keys: tuple[TaskKey, ...]
    next_after: str | None
    """Opaque cursor; None on the last page."""


class TaskItems(Protocol):
    """Tasks, each under its owner, and every save conditional on the version that was loaded."""

    def create(self, task: Task) -> Task:
        """Write a new task (version 0) and return it as it is loaded from then on. Idempotent for the same task.

        Raises:
            TaskExists: the id belongs to another task, or this task has been saved since.
        """
        ...

    def load(self, key: TaskKey) -> Task | None:
        """Return a task, possibly an expired one; None if there is none."""
        ...

    def load_many(self, owner: Principal, task_ids: frozenset[TaskId]) -> Mapping[TaskId, Task]:
        """Return up to 100 tasks by id, without those that do not exist."""
        ...

    def page(self, owner: Principal, after: TaskId | None, limit: int) -> TaskPage:
        """Return a page of an owner's tasks that are older than `after`, newest first."""
        ...

    def save(self, task: Task) -> Task:
        """Write a loaded task if it is unchanged in the store, and return it as it is loaded from then on.

        Large terms and a large result are written beside the task first (`parts`).

        Raises:
            SaveConflict: another writer saved or deleted it.
            ObjectsUnavailable: a large result belongs in S3, which does not answer; nothing is saved.
        """
        ...

    def delete(self, task: Task) -> bool:
        """Delete a loaded task unless it was saved or created anew; return whether it no longer exists."""
        ...


class TaskParts(Protocol):
    """What is too large for a task, beside it."""

    def terms_of(self, task: Task) -> Terms:
        """Return the terms of a loaded task; large ones are kept beside it and read now.

        Raises:
            PartMissing: somebody deleted them.
        """
        ...

    def result_of(self, task: Task, kept: ResultElsewhere) -> ToolResult:
        """Return the result of a loaded task that is kept beside it.

        Raises:
            PartMissing: somebody deleted it.
            ObjectsUnavailable: the store has it in S3, which does not answer.
        """
        ...


class KeyClaims(Protocol):
    """Which task belongs to an idempotency key."""

    def claim_key(
        self, owner: Principal, digest: str, claim: KeyClaim, replacing: TaskId | None = None
    ) -> KeyClaim | None:
        """Claim an idempotency key for a task, unless it is claimed already.

        `replacing`: the task id of an abandoned claim, which is replaced.

        Returns:
            The existing claim of another request; None if this claim was written.
        """
        ...

    def load_key_claim(self, owner: Principal, digest: str) -> KeyClaim | None:
        """Return the claim of an idempotency key, possibly an expired one; None if there is none."""
        ...


class ActiveSlots(Protocol):
    """What callers use of their limits."""

    def reserve(self, key: TaskKey, limits: Limits, at: datetime) -> int | Refused:
        """Reserve an active slot and return its shard, or why the owner gets none. Idempotent per task."""
        ...

    def unreserve(self, key: TaskKey, limits: Limits, shard: int = 0) -> None:
        """Undo the reservation of a task that was not created: its slot and its part of the rate. Idempotent.

        Raises:
            StoreBusy: the store may not have done it; doing it again is harmless.
        """
        ...

    def release(self, owner: Principal, task_ids: frozenset[TaskId], shard: int = 0) -> None:
        """Free the slots that these tasks hold of a shard. Idempotent.

        Raises:
            StoreBusy: the store may not have done it; doing it again is harmless.
        """
        ...

    def begin_reclaim(self, owner: Principal, at: datetime) -> bool:
        """Record that a caller's slots are reclaimed now, or return False if the last time is within `RECLAIM_PAUSE`.

        Raises:
            StoreBusy: it may or may not have been recorded.
        """
        ...


class Requests(Protocol):
    """The requests that clients may cancel, and the tasks that belong to them."""

    def begin_request(self, owner: Principal, request: str, task_id: TaskId, until: datetime) -> bool:
        """Record which task belongs to a request, and keep the record until `until`.

        Returns:
            Whether the work may start: False if the request was cancelled first, or was cancelled for this task.
        """
        ...

    def cancel_request(self, owner: Principal, request: str, until: datetime) -> TaskId | None:
        """Record that a request was cancelled, and keep the record until `until`; return its task, if there is one."""
        ...

    def load_watched(self, key: TaskKey, request: str) -> WatchedTask:
        """Return a task together with the state of the request that watches it, in one call.

        Raises:
            StoreBusy: the store did not return everything; retry.
        """
        ...


class UncheckedTasks(Protocol):
    """The tasks that nobody has checked for long, for the sweep."""

    def unchecked_since(self, since: datetime, after: str | None) -> UncheckedPage:
        """Return a page of tasks, of any owner, whose execution may run and was last checked before `since`.

        Roughly ordered by the time of the last check, oldest first. Eventually consistent. Tasks that were checked some
        minutes after `since` may be included. Tasks that await a confirmation are not: they have no execution.
        """
        ...

    def load_all(self, keys: Sequence[TaskKey]) -> Mapping[TaskKey, Task]:
        """Return several tasks of any owners, without those that do not exist. Eventually consistent.

        A key may be there several times.
        """
        ...

    def bookmark(self) -> str | None:
        """Return the cursor at which the last sweep stopped; None if it reached the end."""
        ...

    def save_bookmark(self, after: str | None) -> None:
        """Save the cursor at which the sweep stops; None: it reached the end."""
        ...


class TaskStore(TaskItems, KeyClaims, Requests, UncheckedTasks, Protocol):
    """Durable tasks and what belongs to them. Reads are strongly consistent, unless a method says otherwise."""

    @property
    def parts(self) -> TaskParts:
        """What is too large for a task, beside it."""
        ...

    @property
    def slots(self) -> ActiveSlots:
        """What callers use of their limits."""
        ...


class Lease(Struct, frozen=True):
    """Holds a wait slot until it is released or expires."""

    until: datetime
    number: int
    """Random, below 65,536; distinguishes leases that expire at the same time."""


class SlotTaken(Struct, frozen=True):
    """A slot of a pool was taken; what else the pool has."""

    others: int = 0
    """Slots that other leases hold, which have not expired."""
    rests_until: datetime | None = None
    """Until when the pool's caller rests."""
    refusals: int = 0
    """How many times in a row its caller was refused."""


class WaitSlots(Protocol):
    """Pools with a bounded number of slots, shared by all function instances: one for each caller, one for all."""

    def acquire(
        self, pool: str, lease: Lease, most: int, at: datetime, rests_until: datetime | None = None
    ) -> SlotTaken | Refused:
        """Take one of a pool's `most` slots, or say that there is none for this caller.

        There is none if leases that have not expired hold all, if the pool's caller is refused, or if a caller that
        rests less than until `rests_until` wants one.

        Raises:
            Exception: any error of the store; a slot that was taken nevertheless expires with its lease.
        """
        ...

    def want(self, pool: str, rests_until: datetime | None, at: datetime, until: datetime) -> None:
        """Keep slots of the pool from callers that rest longer, until then, unless one that rests less does so."""
        ...

    def refuse(self, pool: str, lease: Lease, until: datetime, refusals: int) -> None:
        """Release a slot, and refuse the pool's caller until then; it was refused so many times in a row."""
        ...

    def release(self, pool: str, lease: Lease, rests_until: datetime | None = None) -> None:
        """Release a slot, which ends a row of refusals, and let the pool's caller rest. Idempotent."""
        ...


class Workflows(Protocol):
    """State machines, their executions, and the states that wait for a callback."""

    def start(self, execution: Execution, input_text: str, trace_header: str | None = None) -> None:
        """Start an execution. Idempotent for the same name and input, even after the execution has ended.

        The trace is that of the request, as an AWS X-Ray header.

        Raises:
            StartRefused: the execution was not started.
            StartUnclear: the execution may or may not have been started.
        """
        ...

    def redrive(self, execution: Execution, token: str) -> None:
        """Let a failed execution go on from its failed state. Idempotent per token, for a quarter of an hour.

        `token`: 1 to 64 characters that stand for this redrive and no other.

        Raises:
            RedriveRefused: the execution runs, has succeeded, is not there, or may not be redriven.
            WorkflowsUnavailable: it may or may not go on.
        """
        ...

    def describe(self, execution: Execution) -> ExecutionState:
        """Return the state of an execution. Eventually consistent."""
        ...

    def current_state(self, execution: Execution) -> StateEntered | None:
        """Return the state entered last; None if the execution has ended, or the state is not known.

        Raises:
            WorkflowsUnavailable: no answer.
        """
        ...

    def passed_states(self, execution: Execution) -> tuple[str, ...]:
        """Return the names of the states that an execution entered, oldest first; of a long one the newest.

        Raises:
            WorkflowsUnavailable: no answer.
        """
        ...

    def list_running(self, state_machine_arn: str) -> Iterable[frozenset[str]]:
        """Yield the names of a state machine's running executions in pages, at most 100,000. Eventually consistent.

        Raises:
            WorkflowsUnavailable: no answer for a page.
        """
        ...

    def stop(self, execution: Execution, cause: str) -> bool:
        """Stop an execution. Idempotent.

        Raises:
            StopRefused: this server may not stop it.

        Returns:
            Whether the execution exists; one that does not exist may still be started by a concurrent request.
        """
        ...

    def waits(self, token: str) -> bool:
        """Tell whether a state still waits for a callback.

        Raises:
            WorkflowsUnavailable: as for `complete_callback`.
        """
        ...

    def complete_callback(self, token: str, output: str) -> bool:
        """Complete a state that waits for a callback; False if certainly no state has waited for this one.

        Raises:
            WorkflowsUnavailable: the state may not have received it. A retry is safe.
        """
        ...

    def fail_callback(self, token: str, error: str, cause: str) -> None:
        """Fail a state that waits for a callback. Does nothing if the state no longer waits.

        Raises:
            WorkflowsUnavailable: as for `complete_callback`.
        """
        ...


class WakeUps(Protocol):
    """Calls `Runs.wake` at a time, so that nobody waits for an attempt."""

    def schedule(self, key: TaskKey, delay: timedelta, run: int = 0) -> None:
        """Wake a run of a task after this delay or earlier. At least once, or never.

        Raises:
            WakeUpsUnavailable: it may or may not be woken.
        """
        ...


class SyncWorkflows(Protocol):
    """EXPRESS state machines, whose executions a request waits for."""

    def run(self, execution: Execution, input_text: str, trace_header: str | None = None) -> ExecutionEnd:
        """Start an execution once, wait for its end and return it. Not idempotent.

        Raises:
            StartRefused: nothing was started.
            StartUnclear: no end within the longest wait, or no answer; the execution may run, or have run.
        """
        ...


class Starters(Protocol):
    """Which execution has started another one, for the questions of nested executions."""

    def starter_of(self, execution: Execution) -> Execution | None:
        """Return the execution that has started another one; None if there is none that may be read.

        Raises:
            StarterUnproven: it names one that does not confirm it. Histories are eventually consistent: ask again.
            WorkflowsUnavailable: no answer.
        """
        ...


class CallRate(Protocol):
    """The rate of a caller's calls that take no active slot. Tasks count against the same rate."""

    def count(self, owner: Principal, limits: Limits, at: datetime) -> Refused | None:
        """Count a call, or return why it is refused.

        Raises:
            StoreBusy: not counted; retry.
        """
        ...


class Clock(Protocol):
    """The source of time."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC and in whole milliseconds, as the wire and the store have it."""
        ...

    def sleep(self, seconds: float) -> None:
        """Block for that many seconds."""
        ...


Randomness: TypeAlias = Callable[[int], bytes]
"""Returns that many bytes from a cryptographically secure source (X27)."""


class Refuses(Protocol):
    """Whom an operator refuses."""

    def __call__(self, at: datetime, /, *hashes: str, may_read: bool = True) -> bool:
        """Tell whether a caller is refused, by the hashes that stand for it, as a principal and as a person.

        `may_read`: whether AWS may be asked; if not, what is known decides.
        """
        ...


def refuses_nobody(_at: datetime, *_hashes: str, may_read: bool = True) -> bool:  # noqa: ARG001 - of the protocol
    """Refuse nobody: nobody can be blocked here."""
    return False


# ---------------------------------------------------------------------------------------------------------------- lines


class Turn(Struct, frozen=True):
    """The turn of a run, or its place in line."""

    line: str
    """The key of the line."""
    key: TaskKey
    """Of the run's task."""
    run: int = 0


class Asked(Struct, frozen=True):
    """What runs have that asked for their turns."""

    taken: frozenset[int]
    """The runs that have their turns."""
    in_line: InLine | None = None
    """Where the first of the others stands."""
    others: tuple[Turn, ...] = ()
    """Those of other tasks to which turns were given on this occasion."""


class Gate(Protocol):
    """Decides when runs of tasks with a limit (`Task.line`) begin. Idempotent.

    Each method returns the turns that it has given to others, whose runs are then to begin.
    """

    def ask(self, task: Task, runs: Sequence[int], /, *, is_new: bool) -> Asked:
        """Give each run its turn or a place in line. A run that has either keeps it.

        Raises:
            LimitReached: of a new task: no more runs may wait; none has a place.
            StoreBusy: others ask at the same moment; ask again.
        """
        ...

    def hold(self, task: Task, run: int, /) -> None:
        """Count a run that runs already, whatever the limit is."""
        ...

    def over(self, turn: Turn, begins_at: datetime | None = None, /) -> tuple[Turn, ...]:
        """Take back a turn or a place that its run needs no more.

        `begins_at`: when its next attempt begins, which keeps what it has got meanwhile.
        """
        ...

    def due(self, line: str, /) -> tuple[Turn, ...]:
        """Give the turns that are free to those who wait."""
        ...

    def sweep(self, begin: Callable[[Collection[Turn]], None], /) -> timedelta:
        """Do what processes that died have left undone, and return how long somebody has waited at most.

        `begin`: begins the runs that got turns by that.
        """
        ...


# -------------------------------------------------------------------------------------------------- questions to others
