"""Two callers of one stack: one works within its limits, the other exceeds every limit all the time.

The stack is the real server with the DynamoDB adapter, over the simulated account. Both callers share the table, the
memory of the function instance and the wait slots.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from time import perf_counter
from typing import Any, Final, cast

from stepwire.aws.storage.limiter import DynamoDbWaitSlots
from stepwire.aws.storage.table import Table
from stepwire.aws.storage.task_store import task_store
from stepwire.engine.limiter import ALL_CALLERS
from stepwire.engine.ports import Lease
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire.server.services import Patience
from stepwire.server.tasks import MOST_SUBSCRIPTIONS
from stepwire.tasks.inputs import MOST_QUESTIONS
from stepwire.tasks.limiter import Limits, Places
from tests.kits import ALICE, BOB, SECRET, World
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, Endpoint, LegacyClient, ModernClient
from tests.simulated.counted import CountedCall, counted_dynamodb_client
from tests.tables import new_table

LIMITS: Final = Limits(active=30, per_minute=60)
WAITS: Final = Places.shared(5)
POLLS_PER_SECOND: Final = 2
TURN: Final = timedelta(seconds=1)
"""The time that passes before each request of the worker; it lets the other caller create one more task."""
LIMIT_REACHED: Final = -31002
INVALID_PARAMS: Final = -32602
NOT_READY: Final = -31001
"""The task is still running: the error of a request that has waited in vain."""
RIGHT: Final[Json] = {"action": "accept", "content": {"amount": 7}}
WRONG: Final[Json] = {"action": "accept", "content": {"amount": 0}}
_CAPABILITIES: Final = {**TASKS_CAPABILITY, **ASKING_CAPABILITY}


class CountedWorld(World):
    """A stack that counts its calls to DynamoDB."""

    def __init__(self) -> None:
        self.counted = list[CountedCall]()
        """The calls to AWS since it was last cleared."""
        table, client = new_table(), counted_dynamodb_client(self.counted)
        store: Any = task_store(Table(table, lambda: client))
        wait_slots: Any = DynamoDbWaitSlots(Table(table, lambda: client))
        super().__init__(
            Patience(unresumable_request=timedelta(seconds=1)),
            limits=LIMITS,
            polls_per_second=POLLS_PER_SECOND,
            waits=WAITS,
            store=store,
            wait_slots=wait_slots,
        )
        self.workflows.on_start = lambda: self.counted.append(CountedCall("StartExecution", "task"))

    def _secret(self) -> bytes:
        return SECRET


@dataclass(frozen=True)
class Taken:
    """The time and the calls of one request of the worker."""

    request: str
    seconds: float
    calls: Sequence[CountedCall]


@dataclass
class Stopwatch:
    """An endpoint that measures the time of the last request."""

    world: World
    seconds: float = 0

    @property
    def server(self) -> "Stopwatch":
        """The endpoint itself, which measures the time of the real server."""
        return self

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request."""
        began = perf_counter()
        response = self.world.server.handle(request)
        self.seconds = perf_counter() - began
        return response


@dataclass
class Worker:
    """A caller within all limits, who makes the same requests in each round."""

    world: World
    endpoint: Endpoint

    def __post_init__(self) -> None:
        self._modern = ModernClient(self.endpoint, ALICE, _CAPABILITIES)
        self._legacy = LegacyClient(self.endpoint, owner=ALICE)

    def requests(self) -> Iterator[tuple[str, Callable[[], Answer]]]:
        """Yield the requests of one round; make each request before taking the next."""
        made: list[Answer] = []
        yield "tools/call", lambda: made.append(self._modern.call("optional")) or made[0]
        task_id = made[0].id_in()
        yield "tasks/get", lambda: self._modern.task("get", task_id)
        yield "subscriptions/listen", lambda: self._modern.listen({"taskIds": [task_id]})
        yield "tasks/result, waiting", lambda: self._legacy.task("result", task_id)
        self.world.ask(task_id, token=f"token of {task_id}")
        yield "tasks/update, wrong", lambda: self._modern.update(task_id, {"approval": WRONG})
        shown = self._modern.task("get", task_id).result["inputRequests"]
        yield "tasks/update, right", lambda: self._modern.update(task_id, dict.fromkeys(shown, RIGHT))
        yield "tasks/list", lambda: self._legacy.ask("tasks/list")
        yield "tasks/cancel", lambda: self._modern.task("cancel", task_id)


@dataclass
class NoisyNeighbour:
    """A caller who exceeds every limit in each turn."""

    world: World
    _tasks: list[str] = field(default_factory=list[str])
    """The active tasks, the oldest first."""

    def __post_init__(self) -> None:
        self._modern = ModernClient(self.world, BOB, _CAPABILITIES)
        self._legacy = LegacyClient(self.world, owner=BOB)
        while len(self._tasks) < LIMITS.active:
            self._tasks.append(self._modern.start())
        self._asked = self._tasks.pop()
        self._waited_for = self._tasks.pop()
        self._take_wait_slots()
        self._use_up_answers()
        self._use_up_the_minute()

    def take_turn(self) -> None:
        """Exceed each limit once.

        Raises:
            AssertionError: the server did not refuse a request above a limit.
        """
        assert not self._refusal(), "the limit per minute must allow one task a second"
        assert "active" in self._refusal()
        self._use_up_the_minute()
        while (polled := self._modern.task("get", self._tasks[0])).status == 200:
            pass
        assert polled.code == LIMIT_REACHED
        slept = len(self.world.clock.slept)
        self._legacy.task("result", self._waited_for)
        assert len(self.world.clock.slept) == slept, "a request must not wait when all wait slots are taken"
        assert self._modern.update(self._asked, dict.fromkeys(self._questions(), WRONG)).status == 200
        assert self._modern.listen({"taskIds": self._tasks[1 : 1 + MOST_SUBSCRIPTIONS]}).status == 200
        assert self._modern.listen({"taskIds": self._tasks[1 : 2 + MOST_SUBSCRIPTIONS]}).code == INVALID_PARAMS
        assert self._legacy.ask("tasks/list").result["tasks"]

    def _refusal(self) -> str:
        """Call for a task; return the reason of the refusal, or nothing if the task was created."""
        answer = self._modern.call("optional")
        if "error" in answer.body:
            assert answer.code == LIMIT_REACHED
            return answer.error["message"]
        self._tasks.append(answer.id_in())
        return ""

    def _use_up_the_minute(self) -> None:
        self._cancel_oldest()
        while not (refusal := self._refusal()):
            self._cancel_oldest()
        assert "created" in refusal

    def _cancel_oldest(self) -> None:
        assert self._modern.task("cancel", self._tasks.pop(0)).status == 200

    def _take_wait_slots(self) -> None:
        """Take all wait slots of this caller, as requests on other instances would do."""
        until = self.world.clock.now() + timedelta(hours=1)
        for number in range(WAITS.each):
            for room, most in ((BOB, WAITS.each), (ALL_CALLERS, WAITS.all)):
                assert self.world.wait_slots.acquire(room, Lease(until, number), most, self.world.clock.now())

    def _use_up_answers(self) -> None:
        self.world.ask(self._asked)
        for _ in range(MOST_QUESTIONS):
            self._modern.update(self._asked, dict.fromkeys(self._questions(), WRONG))
            self.world.clock.time += TURN

    def _questions(self) -> Json:
        return cast(Json, self._modern.task("get", self._asked).result["inputRequests"])


class Noise(Enum):
    """Where the noisy caller makes its requests."""

    NONE = "none"
    ELSEWHERE = "elsewhere"
    HERE = "here"


@dataclass
class Stack:
    """A worker, and a noisy caller in the same stack, in another stack, or none."""

    noise: Noise

    def __post_init__(self) -> None:
        self.world = CountedWorld()
        self._stopwatch = Stopwatch(self.world)
        self._worker = Worker(self.world, self._stopwatch)
        self._neighbour = None if self.noise is Noise.NONE else NoisyNeighbour(self._noisy_world())
        if self._neighbour:
            self.world.clock.time = self._neighbour.world.clock.time

    def _noisy_world(self) -> CountedWorld:
        return self.world if self.noise is Noise.HERE else CountedWorld()

    def run_round(self) -> list[Taken]:
        """Make the worker's requests of one round, each after a turn of the noisy caller."""
        return [self._taken(name, act) for name, act in self._worker.requests()]

    def _taken(self, name: str, act: Callable[[], Answer]) -> Taken:
        self.world.clock.time += TURN
        if self._neighbour:
            self._neighbour.world.clock.time = self.world.clock.time
            self._neighbour.take_turn()
        self.world.counted.clear()
        answer = act()
        assert answer.body.get("error", {}).get("code") in {None, NOT_READY}, answer.body
        return Taken(name, self._stopwatch.seconds, tuple(self.world.counted))
