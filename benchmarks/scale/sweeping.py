"""Run the sweep itself over very many open tasks that nobody polls, on simulated time, and count its calls.

The rule: nothing decides here what the sweep does. The store and Step Functions are in memory; each call takes the time
that `Assumptions` has for it, and Step Functions throttles as an account of a smaller Region is throttled.
"""

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from benchmarks.cost.simulation import Assumptions
from stepwire.aws.storage.items import SHARDS
from stepwire.background.sweep import CHECK_BURST, CHECKS_PER_SECOND, INTERVAL, Sweep
from stepwire.engine.assembly import Ports, Settings, assemble
from stepwire.engine.limiter import Allowance
from stepwire.engine.ports import UncheckedPage
from stepwire.errors import WorkflowsThrottled
from stepwire.tasks.ids import TaskKey, new_task_id
from stepwire.tasks.outcomes import ExecutionState, Running, Succeeded
from stepwire.tasks.runs import Run
from stepwire.tasks.task import Execution, Task
from tests.fake_workflows import FakeWorkflows
from tests.fakes import FixedClock, InMemoryTaskStore, InMemoryWaitSlots, counting
from tests.kits import World, signed_url, state_machine_arn

LONGEST_RUN: Final = timedelta(minutes=14)  # of the function
PAGE: Final = 100  # tasks
LISTED_AT_ONCE: Final = 1_000
QUOTAS: Final = {"DescribeExecution": (10.0, 250.0), "ListExecutions": (2.0, 100.0)}
"""Calls a second and burst, of an account in a smaller Region (docs.aws.amazon.com/step-functions, quotas)."""
_ASSUMED: Final = Assumptions()
_PAGE_READ: Final = 0.060  # seconds: a hundred items are parsed


@dataclass(frozen=True)
class Round:
    """What it took until each task was looked after."""

    elapsed: timedelta
    """From the start of the first run until the last task was looked after."""
    runs: int
    calls: Counter[str]
    throttled: int


@dataclass
class Account:
    """The clock and the calls that both services share."""

    clock: FixedClock
    calls: Counter[str] = field(default_factory=Counter[str])
    throttled: int = 0
    _quotas: dict[str, Allowance] = field(
        default_factory=lambda: {name: Allowance(*quota) for name, quota in QUOTAS.items()}
    )

    def count(self, operation: str, times: int = 1) -> None:
        """Count calls, let their time pass, and throttle what is over its quota."""
        takes = _PAGE_READ if operation == "BatchGetItem" else _ASSUMED.dynamodb
        takes = _ASSUMED.step_functions if operation in QUOTAS else takes
        self.calls[operation] += times
        self.clock.advance(seconds=takes * times)
        if operation in self._quotas and not self._quotas[operation].take(self.clock.now()):
            self.throttled += 1
            raise WorkflowsThrottled


class ManyTasks(InMemoryTaskStore):
    """Tasks in memory, with the calls that DynamoDB would get."""

    def __init__(self, account: Account) -> None:
        super().__init__()
        self._account = account

    def unchecked_since(self, since: datetime, after: str | None) -> UncheckedPage:  # noqa: ARG002 - all are due
        """Return a page of the tasks that nobody has looked after."""
        self._account.count("Query", len(SHARDS))
        first = int(after or 0)
        due = [key for key, task in self._ordered[first : first + PAGE] if self.tasks[key] is task]
        is_last = first + PAGE >= len(self._ordered)
        return UncheckedPage(tuple(due), None if is_last else str(first + PAGE))

    def order(self) -> None:
        """Fix the order of the index; what is saved later is due after this round."""
        self._ordered = list(self.tasks.items())

    def load(self, key: TaskKey) -> Task | None:
        """Return a task, in one call."""
        self._account.count("GetItem")
        return super().load(key)

    def load_all(self, keys: Sequence[TaskKey]) -> dict[TaskKey, Task]:
        """Return the tasks of a page, in one call."""
        self._account.count("BatchGetItem")
        return super().load_all(keys)

    def save(self, task: Task) -> Task:
        """Write a task, in one call."""
        self._account.count("PutItem")
        return super().save(task)


class ManyExecutions(FakeWorkflows):
    """Executions of which most run; of some, the end was lost."""

    def __init__(self, account: Account, running: set[Execution]) -> None:
        super().__init__()
        self._account = account
        self._running = running

    def list_running(self, state_machine_arn: str) -> Generator[frozenset[str]]:
        """Yield the names of what runs, 1,000 per call."""
        names = [one.name for one in self._running if one.state_machine_arn == state_machine_arn]
        for start in range(0, max(1, len(names)), LISTED_AT_ONCE):
            self._account.count("ListExecutions")
            yield frozenset(names[start : start + LISTED_AT_ONCE])

    def describe(self, execution: Execution) -> ExecutionState:
        """Return the state of an execution, in one call."""
        self._account.count("DescribeExecution")
        return Running() if execution in self._running else Succeeded("{}")


def swept(tasks: int, lost: int, machines: int = 10) -> Round:
    """Return what the sweep does until it has looked after all tasks, of which so many have lost their ends."""
    world = World()
    account = Account(world.clock)
    store = ManyTasks(account)
    made = list(_made(world, tasks, machines))
    store.tasks = {task.key: task for task in made}
    store.order()
    world.clock.advance(seconds=2 * INTERVAL.total_seconds())
    ended = {made[number * tasks // lost].key for number in range(lost)}  # all over the list
    executions = ManyExecutions(account, {task.execution for task in made if task.key not in ended})
    return _swept(store, executions, account, ended)


def _swept(store: ManyTasks, executions: ManyExecutions, account: Account, ended: set[TaskKey]) -> Round:
    began, runs = account.clock.now(), 0
    while True:
        runs += 1
        started = account.clock.now()
        is_done = _sweep(store, executions, account).run(started + LONGEST_RUN).is_done
        if is_done and all(store.tasks[key].has_ended for key in ended):
            return Round(account.clock.now() - began, runs, account.calls, account.throttled)
        account.clock.time = max(account.clock.time, started + INTERVAL)


def _sweep(store: ManyTasks, executions: ManyExecutions, account: Account) -> Sweep:
    pace = Allowance(CHECKS_PER_SECOND, CHECK_BURST)

    def report(fault: Exception) -> None:
        if isinstance(fault, WorkflowsThrottled):
            pace.pause(account.clock.now())

    ports = Ports(store, executions, account.clock, counting(), InMemoryWaitSlots(), signed_url, report)
    return Sweep(assemble(ports, Settings.of_sweep(INTERVAL)), pace)


def _made(world: World, tasks: int, machines: int) -> Iterator[Task]:
    task = world.call()
    arns = [state_machine_arn(f"Machine{number}") for number in range(machines)]
    for number in range(tasks):
        run = Run(arns[number % machines])
        yield replace(
            task,
            ttl=timedelta(days=1),
            task_id=new_task_id(task.created_at, number.to_bytes(16, "big")),
            runs=(run,),
            version=1,
        )
