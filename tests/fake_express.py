"""Synchronous executions and their rate, in memory; `tests/contracts/test_express.py` has the contract of both."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from stepwire.principal import Principal
from stepwire.tasks.limiter import Limits, Refused, Usage, count_call
from stepwire.tasks.outcomes import ExecutionEnd, Succeeded
from stepwire.tasks.task import Execution
from tests.fake_workflows import Start
from tests.fakes import FixedClock, InMemoryTaskStore


@dataclass
class FakeSyncWorkflows:
    """Executions that end at once, as a test says."""

    clock: FixedClock
    answer: ExecutionEnd | Exception = field(default_factory=lambda: Succeeded("{}"))
    """The end of every execution, or the error that is raised instead."""
    seconds: float = 0
    """The duration of every execution."""
    starts: list[Start] = field(default_factory=list[Start])

    def run(self, execution: Execution, input_text: str, trace_header: str | None = None) -> ExecutionEnd:
        self.starts.append(Start(execution, input_text, trace_header))
        self.clock.time += timedelta(seconds=self.seconds)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@dataclass
class InMemoryCallRate:
    """The rate of calls, in the usage of the store."""

    store: InMemoryTaskStore

    def count(self, owner: Principal, limits: Limits, at: datetime) -> Refused | None:
        self.store.calls.append("count")
        decided = count_call(self.store.usage.get(owner, Usage()), limits, at)
        if not isinstance(decided, Usage):
            return decided
        self.store.usage[owner] = decided
        return None
