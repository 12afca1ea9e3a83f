"""Simulate tasks that arrive, are polled and end, and count their AWS calls.

The rule: no number of calls is written here. `calls` has the calls of each step, and the code itself sets the intervals
at which clients poll (`Task.poll_hint`, `retry_ms`). Time is simulated; the same seed gives the same counts.
"""

import math
import random
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from msgspec import structs

from benchmarks.cost import calls, prices
from stepwire.aws.storage.items import CHECKED_AT_STEP
from stepwire.engine.upkeep import Intervals
from stepwire.server.sse_polling import retry_ms
from stepwire.tasks.task import Task
from tests.kits import World

TASKS: Final = 1_000
WHOLE_PROCESSOR: Final = 1_769  # MB of a function that gets one whole CPU; others get a part
_SEED: Final = 5
_MOST_POLLS: Final = (
    50_000  # with more polls than this in all, fewer tasks are simulated and their counts are scaled up
)
_INDEX_STEP: Final = CHECKED_AT_STEP.total_seconds()
_READ: Final = frozenset({"GetItem", "BatchGetItem", "Query"})
_WRITE: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem"})
_PAIR: Final = "TransactWriteItems"
"""Of an item and a small one; DynamoDB counts each write of a transaction twice."""


@dataclass(frozen=True)
class Assumptions:
    """Values that are assumed, not counted: sizes and times. Measure them in your own account."""

    item: int = 1_000  # bytes of an active task, with its arguments
    ended_item: int = 2_000  # bytes with its result
    usage_item: int = 500  # bytes: a caller with ten active tasks
    transitions: int = 5  # of a workflow, including the start
    own: float = 0.0008  # seconds of CPU time for a request (benchmarks.hot_path): more than a poll, less than a call
    dynamodb: float = 0.012  # seconds of a call, including boto3
    step_functions: float = 0.040  # seconds of a call
    memory: int = 512  # MB; McpMemory
    background_memory: int = 256  # MB of the functions for which no client waits
    audit_line: int = 230  # bytes, as the functions write them without metrics by tool
    polls_per_line: int = 20  # POLLS_PER_LOG_LINE
    access_line: int = 220  # bytes that API Gateway logs for a request
    platform_lines: int = (
        0  # bytes that Lambda itself logs for an invocation: none that succeeded, with MetricsDashboard=off
    )
    state_after: float = 60  # seconds; STATE_AFTER_SECONDS
    inline_wait: float = 2  # seconds; INLINE_WAIT_SECONDS
    lost_events: float = 0.001  # share of the status events that are lost
    cold: float = 0.01  # share of the requests with a cold start
    cold_start: float = 0.27  # seconds of CPU time that a cold start adds (benchmarks.cold: tasks/get without bytecode)

    @property
    def before(self) -> "Assumptions":
        """The same with what was logged, and with the memory, before both were cut to what is needed."""
        return replace(self, background_memory=512, audit_line=400, polls_per_line=1, platform_lines=600)


@dataclass(frozen=True)
class Step:
    """One invocation of a function."""

    calls: tuple[str, ...]
    lines: float  # of the audit; a poll has a part of one
    item: int  # bytes
    over_http: bool = True
    waits: float = 0  # seconds
    index_writes: int = 0


@dataclass(frozen=True)
class Usage:
    """The usage of some tasks: how often each kind of step was taken."""

    steps: Mapping[Step, float]
    tasks: float
    assumed: Assumptions

    @property
    def requests(self) -> float:
        """Count the requests of API Gateway."""
        return self._sum(lambda step: step.over_http)

    @property
    def invocations(self) -> float:
        """Count the invocations of Lambda."""
        return self._sum(lambda _step: 1)

    @property
    def seconds(self) -> float:
        """Return the duration of all invocations in seconds."""
        return self._sum(self._duration)

    @property
    def written(self) -> float:
        """Return the DynamoDB write units."""
        return self._sum(self._writes)

    @property
    def index_written(self) -> float:
        """Return those of the write units that DynamoDB makes in the index `neglected`."""
        return self._sum(lambda step: step.index_writes)

    @property
    def read(self) -> float:
        """Return the DynamoDB read units."""
        return self._sum(self._reads)

    @property
    def logged(self) -> float:
        """Return the size of the logs in bytes."""
        assumed = self.assumed
        return self._sum(
            lambda step: step.lines * assumed.audit_line + step.over_http * assumed.access_line + assumed.platform_lines
        )

    @property
    def transitions(self) -> float:
        """Return the number of Step Functions state transitions."""
        return self.tasks * self.assumed.transitions

    def calls(self, operation: str) -> float:
        """Count the calls of one operation."""
        return self._sum(lambda step: step.calls.count(operation))

    def dollars(self) -> dict[str, float]:
        """Return the cost in dollars, by service."""
        gigabytes = self._sum(lambda step: self._duration(step) * self._memory(step) / 1024)
        return {
            "API Gateway": prices.HTTP_API.of(self.requests),
            "Lambda": prices.LAMBDA_REQUEST.of(self.invocations) + prices.LAMBDA_SECOND.of(gigabytes),
            "DynamoDB": prices.WRITE.of(self.written) + prices.READ.of(self.read),
            "Logs": prices.LOG.of(self.logged),
            "Step Functions": prices.TRANSITION.of(self.transitions),
        }

    def _sum(self, of_one: Callable[[Step], float]) -> float:
        return sum(of_one(step) * times for step, times in self.steps.items())

    def _memory(self, step: Step) -> int:
        return self.assumed.memory if step.over_http else self.assumed.background_memory

    def _duration(self, step: Step) -> float:
        assumed, stored = self.assumed, sum(name in _READ | _WRITE | {_PAIR} for name in step.calls)
        own = (assumed.own + assumed.cold * assumed.cold_start) / (self._memory(step) / WHOLE_PROCESSOR)
        others = (len(step.calls) - stored) * assumed.step_functions
        return own + stored * assumed.dynamodb + others + step.waits

    def _reads(self, step: Step) -> float:
        """Return the read units: one for each 4 KB of a consistent read, and at least one for each key."""
        units = math.ceil(step.item / 4096)
        return sum((name in _READ) * units + (name == "BatchGetItem") for name in step.calls)

    def _writes(self, step: Step) -> float:
        sizes = [
            self.assumed.usage_item if name == "UpdateItem" else step.item for name in step.calls if name in _WRITE
        ]
        sizes += [one for name in step.calls if name == _PAIR for one in (step.item, self.assumed.usage_item) * 2]
        return step.index_writes + sum(math.ceil(size / 1024) for size in sizes)


Pause = Callable[[Task, float, int], float]
"""Returns the seconds until the next poll, from the task, its age in seconds and the number of polls so far."""


@dataclass(frozen=True)
class Client:
    """How a client follows a task."""

    name: str
    pause: Pause
    streams: bool = False  # a plain call of 2025-11-25 that the client resumes (SSE polling)
    fetches: bool = False  # fetches the result with tasks/result, as in 2025-11-25


def every(seconds: float) -> Pause:
    """Return a client that polls at a fixed interval."""
    return lambda _task, _age, _polls: seconds


def as_hinted(task: Task, age: float, _polls: int) -> float:
    """Return the poll hint of the last response."""
    return task.poll_hint(task.created_at + timedelta(seconds=age)).total_seconds()


def as_streamed(_task: Task, _age: float, polls: int) -> float:
    """Return the retry time of the last SSE body."""
    return retry_ms(polls) / 1000


def simulate(seconds: float, client: Client, assumed: Assumptions | None = None) -> Usage:
    """Simulate a thousand tasks of one duration with one kind of client; return their usage."""
    assumed = assumed or Assumptions()
    chance = random.Random(_SEED)  # noqa: S311 - a simulation
    task = structs.replace(
        World().call(), poll_interval=timedelta(seconds=1), longest_poll_interval=timedelta(minutes=1)
    )
    steps, simulated, taken = defaultdict[Step, float](float), 0, 0.0
    while simulated < TASKS and taken < _MOST_POLLS:
        # The durations differ a little, so that not all polls come at the same age of a task.
        for step, times in _run(task, client, seconds * chance.uniform(0.95, 1.05), assumed).items():
            steps[step] += times
            taken += times
        simulated += 1
    return Usage({step: times * TASKS / simulated for step, times in steps.items()}, TASKS, assumed)


def _run(task: Task, client: Client, seconds: float, assumed: Assumptions) -> Mapping[Step, float]:
    """Simulate one task; a lost event counts by its share."""
    waits = min(seconds, assumed.inline_wait) if client.streams else 0
    heard = 1 - assumed.lost_events
    create = (*calls.CREATE, *calls.WAIT * (waits > 0), *calls.POLL * _reads_within(waits))
    begun = Step(create, 1, assumed.item, waits=waits, index_writes=calls.INDEX_WRITES[calls.CREATE])
    line = 1 / assumed.polls_per_line
    coming = Step(calls.STREAM_POLL, 0, assumed.item) if client.streams else Step(calls.POLL, line, assumed.item)
    looking = replace(coming, calls=calls.LOOK, index_writes=calls.INDEX_WRITES[calls.LOOK])
    repairing = Step(calls.REPAIR, 1 + line, assumed.ended_item, index_writes=calls.INDEX_WRITES[calls.REPAIR])
    ending = Step(calls.END, 1, assumed.ended_item, over_http=False, index_writes=calls.INDEX_WRITES[calls.END])
    steps = defaultdict[Step, float](float, {begun: 1})
    age, polls, looked = waits, 0, 0.0
    while age < seconds:
        age += client.pause(task, age, polls)
        polls += 1
        if age >= seconds:
            steps[replace(coming, lines=1, item=assumed.ended_item)] += heard
            steps[repairing] += 1 - heard
        elif assumed.state_after and age - looked >= _until_next_look(assumed, age, is_first=not looked):
            is_in_next_step = age // _INDEX_STEP > looked // _INDEX_STEP
            steps[looking if is_in_next_step else replace(looking, index_writes=0)] += 1
            looked = age
        else:
            steps[coming] += 1
    steps[ending] += heard
    if client.fetches:
        steps[Step(calls.POLL, 1, assumed.ended_item)] += 1
    # When its TTL has passed, the stream delivers the removal, which needs no call. Each removal is counted as one
    # batch.
    steps[Step(calls.REMOVAL, 0, 0, over_http=False)] += 1
    return steps


def _until_next_look(assumed: Assumptions, age: float, *, is_first: bool) -> float:
    """Return the seconds between two reads of the state's name at an age, or until the first."""
    usual = min(assumed.state_after, Intervals().first_state.total_seconds()) if is_first else assumed.state_after
    return max(usual, age * Intervals().share_of_age)


def _reads_within(seconds: float) -> int:
    """Count the reads of a request that waits: after 0.1 s, 0.2 s, 0.4 s, ... and then every second."""
    reads, pause = 0, 0.1
    while seconds > 0:
        seconds -= pause
        pause, reads = min(pause * 2, 1.0), reads + 1
    return reads
