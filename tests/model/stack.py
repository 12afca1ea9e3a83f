"""A whole Stepwire on the real adapters. Every AWS call is a step of a handler, and events wait for a move."""

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec.structs import replace

from stepwire.aws.bootstrap import gate_of, routers_of
from stepwire.aws.s3 import LargeResults
from stepwire.aws.step_functions import StepFunctionsWorkflows, execution_arn_of
from stepwire.aws.storage.items import TASK_PREFIX, task_of
from stepwire.aws.storage.limiter import DynamoDbWaitSlots, usage_of
from stepwire.aws.storage.table import Table
from stepwire.aws.storage.task_store import task_store
from stepwire.aws.workflow_events import NestedExecutions
from stepwire.background.execution_events import ExecutionEvents
from stepwire.background.expirations import Expirations
from stepwire.background.input_requests import InputRequests
from stepwire.background.sweep import INTERVAL, Sweep
from stepwire.composition import EXTRAS
from stepwire.engine.assembly import Ports, Settings, assemble
from stepwire.engine.limiter import PollLimit
from stepwire.engine.upkeep import Intervals
from stepwire.hooks import Ground
from stepwire.principal import Principal
from stepwire.server.mcp_server import McpServer
from stepwire.server.services import Patience, Services
from stepwire.tasks.ids import TaskId, TaskKey
from stepwire.tasks.inputs import Callback
from stepwire.tasks.limiter import Limits
from stepwire.tasks.runs import Retry
from stepwire.tasks.task import Status, Task
from stepwire_local.account.engine import shared_account
from tests.extras import parts
from tests.fakes import FixedClock, counting
from tests.kits import CONFIRMED, EXECUTION_PREFIX, OPTIONAL, PARTS, RESUMING, SECRET, catalog_of, signed_url
from tests.model.ends import RULES
from tests.model.handlers import Boundary, pause
from tests.races import racing
from tests.simulated.step_functions import StepFunctions
from tests.tables import new_table, table_behind

REPAIR: Final = Intervals().repair
SWEEP: Final = INTERVAL
TTL: Final = timedelta(days=1)
NO_TIME: Final = timedelta()
DELAY: Final = timedelta(minutes=1)
"""The time between a failure and the next attempt."""
RETRY: Final = Retry(3, ("Some.Error", "States.Timeout"), delay=DELAY, backoff=1.0)
RESTARTED: Final = replace(OPTIONAL, name="restarted", retry=RETRY)
REDRIVEN: Final = replace(OPTIONAL, name="redriven", retry=replace(RETRY, redrives=True))
RETRIED: Final = (RESTARTED.name, REDRIVEN.name)
MOST_AT_ONCE: Final = 1
_WITH_LIMIT: Final = tuple(tool for part in parts("modelled") for tool in part.tools(OPTIONAL, RESTARTED, MOST_AT_ONCE))
IN_LINE: Final = tuple(tool.name for tool in _WITH_LIMIT)
"""The tools that share a limit."""
RACING: Final = racing(3, 0, 0, DELAY.total_seconds())
QUORUM: Final = replace(racing(3, quorum=2, retry=RETRY), name="quorum")
RACED: Final = tuple(RULES)
WITH_RETRY: Final = (*RETRIED, *(tool.name for tool in _WITH_LIMIT if tool.retry), QUORUM.name)
_DECIDED: Final = tuple(tool for part in parts("deciding") for tool in part.TOOLS)
DECIDED: Final = tuple(tool.name for tool in _DECIDED)
"""The tools whose workflows ask others than their callers."""
CATALOG: Final = catalog_of(
    *(
        replace(tool, ttl=TTL)
        for tool in (OPTIONAL, CONFIRMED, RESTARTED, REDRIVEN, RACING, QUORUM, *_WITH_LIMIT, *_DECIDED)
    )
)
MOST_ACTIVE: Final = 8


class WorldClock(FixedClock):
    """A clock that only moves change; a handler that sleeps lets others run."""

    def sleep(self, seconds: float) -> None:
        pause("sleep")


@dataclass
class Messages:
    """The queue that wakes tasks; each message is an event on its way."""

    sent: list[tuple[TaskKey, int]] = field(default_factory=list[tuple[TaskKey, int]])
    """Whom they wake: a task, and the index of a run."""

    def schedule(self, key: TaskKey, delay: timedelta, run: int = 0) -> None:
        """Send a message: a step of a handler."""
        pause("SendMessage")
        self.sent.append((key, run))


@dataclass
class Account:
    """What all runs share: the clients, which are slow to build, and a table, which each run leaves empty."""

    boundary: Boundary = field(default_factory=Boundary)
    table: str = field(default_factory=new_table)


@contextmanager
def simulated_account() -> Generator[Account]:
    """Open the account."""
    with shared_account():
        yield Account()


@dataclass
class Stack:
    """One stack. It is an endpoint for the clients of `tests.server.clients`."""

    account: Account
    clock: WorldClock = field(default_factory=WorldClock)
    faults: list[Exception] = field(default_factory=list[Exception])
    """The reported errors."""

    def __post_init__(self) -> None:
        self.step_functions = StepFunctions(self.clock)
        self.account.boundary.objects.contents.clear()
        self.account.boundary.answer_for_step_functions = self.step_functions.answer
        self.randomness = counting()
        self.messages = Messages()
        self.limit(MOST_ACTIVE)

    def limit(self, most_active: int) -> None:
        """Build the functions, with a limit of active tasks per caller."""
        boundary, report = self.account.boundary, self.faults.append
        large_results = LargeResults("large-results", boundary.objects)
        store = task_store(Table(self.account.table, lambda: boundary.dynamodb), lambda: large_results)
        workflows = StepFunctionsWorkflows(lambda: boundary.step_functions)
        wait_slots = DynamoDbWaitSlots(Table(self.account.table, lambda: boundary.dynamodb))
        self.table = Table(self.account.table, lambda: boundary.dynamodb)
        gate = gate_of(EXTRAS, self.table)
        ports = Ports(
            store,
            workflows,
            self.clock,
            self.randomness,
            wait_slots,
            signed_url,
            report,
            wake_ups=self.messages,
            gate=gate,
            routers=routers_of(EXTRAS),
        )
        limits = Limits(active=most_active, per_minute=100_000)
        engine = assemble(ports, Settings(limits=limits, execution_prefix=EXECUTION_PREFIX))
        self.operations = engine.operations
        services = Services(
            CATALOG,
            self.operations,
            engine.calls,
            engine.answers,
            Patience(NO_TIME, NO_TIME, NO_TIME),
            lambda: SECRET,
            RESUMING,
            PollLimit(0),
            report,
            PARTS,
            Ground(Table(self.account.table, lambda: boundary.dynamodb), {}, engine),
        )
        self.server = McpServer(services, frozenset(), report)
        self.events = ExecutionEvents(assemble(ports))
        self.requests = InputRequests(engine, NestedExecutions(lambda: boundary.step_functions))
        self.expirations = Expirations(self.events.engine)
        self.sweep = Sweep(assemble(ports, Settings.of_sweep(SWEEP)))

    def close(self) -> None:
        """Delete everything for the next run."""
        self._table.items.clear()

    def pass_time(self, duration: timedelta) -> None:
        """Let time pass for all handlers."""
        self.clock.time += duration
        self.step_functions.time_out_states()

    # The state of the account.

    @property
    def _table(self) -> Any:
        return table_behind(self.account.table)

    @property
    def items(self) -> list[dict[str, Any]]:
        """Return all items of the table."""
        return [item.to_json()["Attributes"] for item in self._table.all_items()]

    def _heads(self) -> Iterator[dict[str, Any]]:
        """Yield the items of the tasks."""
        return (item for item in self.items if item["sk"]["S"].startswith(TASK_PREFIX))

    def tasks(self) -> dict[TaskId, Task]:
        """Return the tasks, by id."""
        return {task.task_id: task for task in map(task_of, self._heads())}

    def has(self, task_id: str) -> bool:
        """Tell whether a task is there and has not expired."""
        task = self.tasks().get(TaskId(task_id))
        return task is not None and task.expires_at > self.clock.time

    def number_of(self, task_id: str, token: str) -> int | None:
        """Return the number of an open question of a task; None if it is not open."""
        task = self.tasks().get(TaskId(task_id))
        asked = () if task is None else task.questions
        return next((one.number for one in asked if one.destination == Callback(token)), None)

    def ends(self) -> dict[TaskId, Status]:
        """Return the status of each ended task, by id."""
        return {task_id: task.status for task_id, task in self.tasks().items() if task.has_ended}

    def settled(self) -> set[str]:
        """Return the ids of the ended tasks of which no reader and no sweep expects that work begins or goes on."""
        heads = [(item, task_of(item)) for item in self._heads()]
        return {
            task.task_id for item, task in heads if "open" not in item and task.has_ended and task.follow_up is None
        }

    def follow_ups(self) -> Iterator[Task]:
        """Yield the tasks that operators made."""
        yield from (task for task in self.tasks().values() if task.follows is not None)

    def slots(self) -> dict[Principal, frozenset[TaskId]]:
        """Return the tasks that hold a slot, by owner."""
        counted = (item for item in self.items if item["sk"]["S"] == "usage#0")
        return {Principal(item["pk"]["S"]): usage_of(item).active for item in counted}

    def line(self) -> tuple[int, int]:
        """Return how many turns of the only line are held, and how many runs wait, as it counts them."""
        return next((part.counted(self.table) for part in parts("modelled")), (0, 0))

    def reclaimed_at(self, owner: Principal) -> datetime | None:
        """Tell when slots of a caller were last reclaimed."""
        usage = (item for item in self.items if (item["pk"]["S"], item["sk"]["S"]) == (owner, "usage#0"))
        return next((usage_of(item).reclaimed_at for item in usage), None)

    def remove_expired(self) -> list[Task]:
        """Remove the expired items as DynamoDB's TTL does; return the tasks among them, as the stream does."""
        now = self.clock.time.timestamp()
        removed: list[Task] = []
        for item in self._table.all_items():
            attributes = item.to_json()["Attributes"]
            if float(attributes["expires_at"]["N"]) <= now:
                self._table.delete_item(item.hash_key, item.range_key)
                removed += [task_of(attributes)] if attributes["sk"]["S"].startswith("task#") else []
        return removed


def arns_of(task: Task) -> set[str]:
    """Return the ARNs of the executions that work for a task, or have worked for it: of each arm, the last one."""
    return {execution_arn_of(task.execution_of(index)) for index in range(len(task.runs))}


def label_of(input_text: str) -> str:
    """Return the label of the call to which an execution belongs."""
    return json.loads(input_text)["text"]
