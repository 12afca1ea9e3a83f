"""1,000 races whose arms end within a millisecond of each other: 1,000 single winners, and no arm runs on.

Each race has its own seed, which decides who ends first, which events come twice, late or never, and at which call the
process that handles one dies. The clock is the test's.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any, Final

import pytest

from stepwire.audit import AuditAction
from stepwire.background.execution_events import ExecutionStatusChange
from stepwire.background.sweep import Sweep
from stepwire.engine.upkeep import Intervals
from stepwire.json_text import write
from stepwire.tasks.ids import LETTERS
from stepwire.tasks.outcomes import Succeeded
from stepwire.tasks.runs import Pending
from stepwire.tasks.task import Completed, Execution, Task
from tests.fake_workflows import FakeWorkflows
from tests.fakes import InMemoryTaskStore
from tests.kits import ALICE, World
from tests.races import execution_of, racing

RACES: Final = 1_000
_A_CALL: Final = 6
"""A process dies at one of its first calls, or at none."""


class Death(Exception):
    """The process dies between two calls."""


@dataclass
class Mortal:
    """Counts the calls of a process, lets others come between them, and lets it die."""

    dies_at: int | None = None
    between: Callable[[], object] | None = None
    calls: int = 0

    def call(self) -> None:
        """Count a call; before the second one, others have their turn."""
        self.calls += 1
        if self.calls == 2 and self.between is not None:
            others, self.between = self.between, None
            others()
        if self.dies_at is not None and self.calls >= self.dies_at:
            raise Death


@dataclass
class _Workflows(FakeWorkflows):
    mortal: Mortal = field(default_factory=Mortal)

    def start(self, execution: Execution, input_text: str, trace_header: str | None = None) -> None:
        self.mortal.call()
        super().start(execution, input_text, trace_header)

    def stop(self, execution: Execution, cause: str) -> bool:
        self.mortal.call()
        return super().stop(execution, cause)


class _Store(InMemoryTaskStore):
    def __init__(self) -> None:
        super().__init__()
        self.mortal = Mortal()

    def save(self, task: Task) -> Task:
        self.mortal.call()
        return super().save(task)


@dataclass
class OneRace:
    """A race, from its start to the time when all repair is done."""

    seed: int
    quorum: int = 1

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.workflows, self.store = _Workflows(), _Store()
        self.world = World(workflows=self.workflows, store=self.store, intervals=Intervals(state=timedelta()))

    def run(self) -> Task:
        """Let all arms end within a millisecond, and return the task after the sweep."""
        count, random = self.random.randint(2, 5), self.random
        task = self.world.call(racing(max(count, self.quorum), quorum=self.quorum))
        letters = random.sample(LETTERS[: len(task.runs)], k=random.randint(max(2, self.quorum), len(task.runs)))
        changes = [self.end_of(execution_of(task, letter), letter) for letter in letters]
        news = [change for change in changes for _ in range(random.choice((0, 1, 1, 1, 2)))]
        random.shuffle(news)
        self.workflows.undelivered.clear()
        while news:
            change = news.pop()
            others = [news.pop() for _ in range(min(len(news), random.randint(0, 2)))]
            self.process(lambda: self.world.events.record(change), lambda: [self.handle(one) for one in others])  # noqa: B023
        self.repair(task)
        return self.world.stored(task)

    def end_of(self, execution: Execution, letter: str) -> ExecutionStatusChange:
        self.world.clock.time += timedelta(microseconds=self.random.randint(0, 200))
        end = Succeeded(write({"letter": letter}))
        self.workflows.end(execution, end)
        return ExecutionStatusChange(execution, end)

    def handle(self, change: ExecutionStatusChange) -> None:
        self.world.events.record(change)

    def process(self, work: Callable[[], object], between: Callable[[], object]) -> None:
        """Let a process work, with others between its calls; it may die, and then its event comes again or never."""
        dies_at = self.random.choice((None, None, self.random.randint(1, _A_CALL)))
        self.workflows.mortal = self.store.mortal = Mortal(dies_at, between)
        with suppress(Death):
            work()
        self.workflows.mortal = self.store.mortal = Mortal()

    def repair(self, task: Task) -> None:
        """Let time pass: a reader, or the sweep, finds what is left."""
        self.world.clock.advance(minutes=20)
        if self.random.random() < 0.5:
            self.world.operations.get(ALICE, task.task_id)
        for _ in range(2):
            Sweep(self.world.sweeping(timedelta(minutes=15))).run()
            self.world.clock.advance(minutes=20)


# R19
@pytest.mark.parametrize("quorum", [pytest.param(1, marks=pytest.mark.long), 2])
def test_a_thousand_races_have_a_thousand_winners_and_no_arm_runs_on(quorum: int) -> None:
    winners = 0
    for seed in range(RACES // 2):
        race = OneRace(seed, quorum)

        task = race.run()

        told = f"seed {seed}"
        assert isinstance(task.status, Completed), told
        assert task.winner is not None, told
        result: Any = race.world.operations.result_of(task)
        assert result.value()["structuredContent"] == {"letter": LETTERS[task.runs.index(task.winner)]}, told
        assert sum(run.place == quorum for run in task.runs) == 1, told
        assert [one.action for one in race.world.audit].count(AuditAction.ENDED) == 1, told
        assert race.workflows.running() == (), told
        assert not task.runs_pending(Pending.STOP), told
        assert race.world.store.usage[ALICE].active == frozenset(), told
        winners += 1

    assert winners == RACES // 2
