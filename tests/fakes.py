"""The ports in memory; the contract tests (`tests/contracts`) hold for them as for the adapters.

Nothing happens by itself: time passes only when the code sleeps or a test advances the clock.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec.structs import replace

from stepwire.engine.ports import (
    ActiveSlots,
    KeyClaim,
    Lease,
    Randomness,
    SlotTaken,
    TaskPage,
    TaskParts,
    UncheckedPage,
    WatchedTask,
)
from stepwire.errors import (
    PartMissing,
    SaveConflict,
    StoreBusy,
    TaskExists,
    WakeUpsUnavailable,
)
from stepwire.json_text import write
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId, TaskKey
from stepwire.tasks.limiter import Limits, Refused, Usage, admit, admit_anywhere, home_of, pause_after
from stepwire.tasks.task import Completed, ResultElsewhere, Task, Terms, TermsElsewhere, ToolResult

NEGLECTED_PAGE: Final = 100  # tasks, as on DynamoDB
LARGE: Final = 1_000  # characters of terms or of a result that are kept beside the task
START_OF_TIME: Final = datetime(2026, 8, 1, 12, 0, 0, tzinfo=UTC)


def nothing() -> None:
    """Do nothing: the default of hooks such as `on_sleep`."""


def nothing_written(_before: Task | None, _after: Task) -> None:
    """Do nothing: the default of what is told of writes."""


class FixedClock:
    """A clock that moves only when the code sleeps or a test advances it."""

    def __init__(self, now: datetime = START_OF_TIME) -> None:
        self.time = now
        self.slept: list[float] = []
        """The duration of each sleep, in seconds."""
        self.on_sleep: Callable[[], object] = nothing
        """Called at the end of each sleep, to simulate what happened meanwhile."""

    def now(self) -> datetime:
        return self.time.replace(microsecond=self.time.microsecond // 1000 * 1000)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += timedelta(seconds=seconds)
        self.on_sleep()

    def advance(self, **duration: float) -> None:
        """Let time pass; takes the arguments of a timedelta: `advance(seconds=60)`."""
        self.time += timedelta(**duration)


def counting() -> Randomness:
    """Return a source of randomness that counts from 1: its values are unique and in ascending order."""
    given = 0

    def random_bytes(count: int) -> bytes:
        nonlocal given
        given += 1
        return given.to_bytes(count, "big")

    return random_bytes


class InMemoryTaskStore:
    """Tasks in a dictionary."""

    def __init__(self) -> None:
        self.tasks: dict[TaskKey, Task] = {}
        self.calls: list[str] = []
        """The name of each call, in order; one entry is one call to DynamoDB."""
        self.before_save: Callable[[], object] = nothing
        """Called once, before the next save writes, to simulate a concurrent writer."""
        self.before_create: Callable[[], object] = nothing
        """Called once, before the next create writes, to simulate a concurrent writer."""
        self.written: Callable[[Task | None, Task], object] = nothing_written
        """Called after each write with the task before and after it, as the table's stream has both."""
        self.cancelled: dict[tuple[Principal, str], datetime] = {}
        """The cancelled requests, and until when each is remembered."""
        self.requests: dict[tuple[Principal, str], TaskId] = {}
        """The task that belongs to each request."""
        self.keys: dict[tuple[Principal, str], KeyClaim] = {}
        """The task that belongs to each idempotency key."""
        self.usage: dict[Principal, Usage] = {}
        """What each caller uses of its limits, in the first shard."""
        self.usage_shards: dict[Principal, dict[int, Usage]] = {}
        """What each caller uses in the other shards, by their number."""
        self.kept_bookmark: str | None = None
        """Where the sweep continues its list of neglected tasks."""
        self.is_available = True
        """Whether reads succeed."""
        self.serves_parts = True
        """Whether terms and results beside tasks can be read."""
        self.terms: dict[tuple[TaskKey, str], Terms] = {}
        """Terms that are too large for their task, by its key and their place."""
        self.results: dict[tuple[TaskKey, str], ToolResult] = {}
        """Results that are too large for their task."""

    @property
    def parts(self) -> TaskParts:
        return self

    @property
    def slots(self) -> ActiveSlots:
        return self

    def create(self, task: Task) -> Task:
        self.calls.append("create")
        meanwhile, self.before_create = self.before_create, nothing
        meanwhile()
        created = self._divided(replace(task, version=1))
        if self.tasks.get(task.key, created) != created:
            raise TaskExists
        return self._put(created)

    def claim_key(
        self, owner: Principal, digest: str, claim: KeyClaim, replacing: TaskId | None = None
    ) -> KeyClaim | None:
        self.calls.append("claim_key")
        known = self.keys.setdefault((owner, digest), claim)
        if known.task_id == replacing:
            self.keys[owner, digest] = claim
            return None
        return None if known == claim else known

    def load_key_claim(self, owner: Principal, digest: str) -> KeyClaim | None:
        self.calls.append("load_key_claim")
        self._check_available()
        return self.keys.get((owner, digest))

    def reserve(self, key: TaskKey, limits: Limits, at: datetime) -> int | Refused:
        self.calls.append("reserve")
        shards = self._shards_of(key.owner)
        home = home_of(key.task_id, limits)
        shard = home
        if not isinstance(admit(shards.get(home, Usage()), limits.share(home), key.task_id, at), Usage):
            counted = shards if limits.shards > 1 else {0: shards.get(0, Usage())}
            found = admit_anywhere(counted, limits, key.task_id, at)
            if not isinstance(found, int):
                return found
            shard = found
        usage = shards.get(shard, Usage())
        if key.task_id not in usage.active:
            decided = admit(usage, limits.share(shard), key.task_id, at)
            assert isinstance(decided, Usage)
            self._put_usage(key.owner, shard, decided)
        return shard

    def _shards_of(self, owner: Principal) -> dict[int, Usage]:
        first = {0: self.usage[owner]} if owner in self.usage else {}
        return {**first, **self.usage_shards.get(owner, {})}

    def _put_usage(self, owner: Principal, shard: int, usage: Usage) -> None:
        if shard:
            self.usage_shards.setdefault(owner, {})[shard] = usage
        else:
            self.usage[owner] = usage

    def release(self, owner: Principal, task_ids: frozenset[TaskId], shard: int = 0) -> None:
        self.calls.append("release")
        self._check_available()
        usage = self._shards_of(owner).get(shard, Usage())
        self._put_usage(owner, shard, replace(usage, active=usage.active - task_ids))

    def begin_reclaim(self, owner: Principal, at: datetime) -> bool:
        self.calls.append("begin_reclaim")
        self._check_available()
        usage = self.usage.get(owner, Usage())
        if owner not in self.usage or not usage.may_reclaim(at):
            return False
        self.usage[owner] = replace(usage, reclaimed_at=at)
        return True

    def unreserve(self, key: TaskKey, limits: Limits, shard: int = 0) -> None:
        self.calls.append("unreserve")
        self._check_available()
        usage = self._shards_of(key.owner).get(shard, Usage())
        if key.task_id in usage.active and usage.paced_until is not None:
            active = usage.active - {key.task_id}
            paced_until = usage.paced_until - limits.share(shard).rate.pace
            self._put_usage(key.owner, shard, replace(usage, active=active, paced_until=paced_until))

    def load_many(self, owner: Principal, task_ids: frozenset[TaskId]) -> dict[TaskId, Task]:
        self.calls.append("load_many")
        self._check_available()
        keys = [TaskKey(owner, task_id) for task_id in task_ids]
        return {key.task_id: self.tasks[key] for key in keys if key in self.tasks}

    def load_all(self, keys: Sequence[TaskKey]) -> dict[TaskKey, Task]:
        self.calls.append("load_all")
        self._check_available()
        return {key: self.tasks[key] for key in keys if key in self.tasks}

    def load(self, key: TaskKey) -> Task | None:
        self.calls.append("load")
        self._check_available()
        return self.tasks.get(key)

    def terms_of(self, task: Task) -> Terms:
        terms = task.work.terms
        if isinstance(terms, Terms):
            return terms
        self.calls.append("terms_of")
        self._check_parts()
        if (task.key, terms.place) not in self.terms:
            raise PartMissing
        return self.terms[task.key, terms.place]

    def result_of(self, task: Task, kept: ResultElsewhere) -> ToolResult:
        self.calls.append("result_of")
        self._check_parts()
        if (task.key, kept.place) not in self.results:
            raise PartMissing
        return self.results[task.key, kept.place]

    def load_watched(self, key: TaskKey, request: str) -> WatchedTask:
        self.calls.append("load")
        self._check_available()
        return WatchedTask(self.tasks.get(key), (key.owner, request) in self.cancelled)

    def begin_request(self, owner: Principal, request: str, task_id: TaskId, until: datetime) -> bool:
        self.calls.append("begin_request")
        one = (owner, request)
        if one in self.cancelled and self.requests.get(one) in {None, task_id}:
            return False
        self.cancelled.pop(one, None)
        self.requests[one] = task_id
        return True

    def cancel_request(self, owner: Principal, request: str, until: datetime) -> TaskId | None:
        self.calls.append("cancel_request")
        self.cancelled[owner, request] = until
        return self.requests.get((owner, request))

    def save(self, task: Task) -> Task:
        self.calls.append("save")
        meanwhile, self.before_save = self.before_save, nothing
        meanwhile()
        if not self._is_as_loaded(task):
            raise SaveConflict
        return self._put(self._divided(replace(task, version=task.version + 1)))

    def delete(self, task: Task) -> bool:
        self.calls.append("delete")
        if not self._is_as_loaded(task) or self.tasks[task.key].created_at != task.created_at:
            return task.key not in self.tasks
        del self.tasks[task.key]
        return True

    def unchecked_since(self, since: datetime, after: str | None) -> UncheckedPage:
        self.calls.append("unchecked_since")
        self._check_available()
        waiting = [one for one in self.tasks.values() if one.needs_checks]
        oldest = sorted((one for one in waiting if one.checked_at <= since), key=_turn)
        rest = [one for one in oldest if after is None or _turn(one) > after]
        page = rest[:NEGLECTED_PAGE]
        return UncheckedPage(tuple(one.key for one in page), _turn(page[-1]) if len(rest) > len(page) else None)

    def bookmark(self) -> str | None:
        self.calls.append("bookmark")
        return self.kept_bookmark

    def save_bookmark(self, after: str | None) -> None:
        self.calls.append("save_bookmark")
        self.kept_bookmark = after

    def page(self, owner: Principal, after: TaskId | None, limit: int) -> TaskPage:
        self.calls.append("page")
        ids = (key.task_id for key in self.tasks if key.owner == owner and (after is None or key.task_id < after))
        found = sorted(ids, reverse=True)[:limit]
        # Like DynamoDB: a full page has a cursor, even if the next page is empty.
        next_after = found[-1] if len(found) == limit else None
        return TaskPage(tuple(self.tasks[TaskKey(owner, task_id)] for task_id in found), next_after)

    def _check_parts(self) -> None:
        if not self.serves_parts:
            raise StoreBusy

    def _check_available(self) -> None:
        if not self.is_available:
            raise StoreBusy

    def _divided(self, task: Task) -> Task:
        """Put what is large beside a task, as the store on DynamoDB does."""
        terms, status = task.work.terms, task.status
        if isinstance(terms, Terms) and len(write([terms.input, terms.output_schema, terms.output_shape])) > LARGE:
            place = str(hash(terms))
            self.terms[task.key, place] = terms
            task = replace(task, work=replace(task.work, terms=TermsElsewhere(place)))
        if isinstance(status, Completed) and isinstance(status.result, ToolResult) and len(status.result.text) > LARGE:
            result, place = status.result, str(hash(status.result))
            self.results[task.key, place] = result
            kept = ResultElsewhere(result.is_error, place, len(result.text.encode()))
            task = replace(task, status=replace(status, result=kept))
        return task

    def _put(self, task: Task) -> Task:
        before = self.tasks.get(task.key)
        self.tasks[task.key] = task
        self.written(before, task)
        return task

    def _is_as_loaded(self, task: Task) -> bool:
        stored = self.tasks.get(task.key)
        return stored is not None and stored.version == task.version


def _turn(task: Task) -> str:
    return f"{task.checked_at.isoformat()} {task.task_id}"


class InMemoryWakeUps:
    """Wake-ups that a test delivers."""

    def __init__(self) -> None:
        self.scheduled: list[tuple[TaskKey, timedelta]] = []
        """The tasks to wake, each with the delay of the call."""
        self.runs: list[int] = []
        """The index of the run of each."""
        self.is_available = True

    def schedule(self, key: TaskKey, delay: timedelta, run: int = 0) -> None:
        if not self.is_available:
            raise WakeUpsUnavailable
        self.scheduled.append((key, delay))
        self.runs.append(run)


class InMemoryWaitSlots:
    """Wait slots in memory."""

    def __init__(self) -> None:
        self.pools: dict[str, set[Lease]] = {}
        """The leases of each pool, including expired ones."""
        self.most_held = 0
        """The most leases that one pool ever had at the same time."""
        self.rests: dict[str, datetime] = {}
        self.wanted: dict[str, tuple[datetime, datetime]] = {}
        """Until when a pool's slots are kept, and from callers that rest longer than until when."""
        self.refused: dict[str, tuple[datetime | None, int]] = {}
        """Until when the caller of a pool is refused, and how many times in a row it was."""

    def acquire(
        self, pool: str, lease: Lease, most: int, at: datetime, rests_until: datetime | None = None
    ) -> SlotTaken | Refused:
        held = {one for one in self.pools.get(pool, set[Lease]()) if one.until >= at}
        refused_until, refusals = self.refused.get(pool, (None, 0))
        if refused_until is not None and refused_until > at:
            return Refused(refused_until - at)
        if len(held - {lease}) >= most or self._is_wanted(pool, rests_until, at):
            return Refused(pause_after(0))
        self.pools[pool] = held | {lease}
        self.most_held = max(self.most_held, len(held) + 1)
        return SlotTaken(len(held - {lease}), self.rests.get(pool), refusals)

    def want(self, pool: str, rests_until: datetime | None, at: datetime, until: datetime) -> None:
        if not self._is_wanted(pool, rests_until, at):
            self.wanted[pool] = (until, max(rests_until or at, at))

    def _is_wanted(self, pool: str, rests_until: datetime | None, at: datetime) -> bool:
        """Tell whether a caller that rests less wants a slot."""
        until, rests = self.wanted.get(pool, (at, at))
        return until > at and max(rests_until or at, at) > max(rests, at)

    def refuse(self, pool: str, lease: Lease, until: datetime, refusals: int) -> None:
        self.pools.get(pool, set[Lease]()).discard(lease)
        self.refused[pool] = (until, refusals)

    def release(self, pool: str, lease: Lease, rests_until: datetime | None = None) -> None:
        self.pools.get(pool, set[Lease]()).discard(lease)
        self.refused.pop(pool, None)
        if rests_until is not None:
            self.rests[pool] = rests_until
