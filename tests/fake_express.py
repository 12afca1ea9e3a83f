"""Executions that a request waits for, and their rate, in memory; `tests/contracts/test_express.py` holds both."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from stepwire.errors import NotAdmitted
from stepwire.principal import Principal
from stepwire.tasks.outcomes import ExecutionEnd, Succeeded
from stepwire.tasks.task import Execution
from stepwire.tasks.usage import Limits, Usage, pace_after
from tests.fake_workflows import Start
from tests.fakes import FixedClock, InMemoryTaskStore


@dataclass
class FakeSyncWorkflows:
    """Executions that end at once, as a test has said."""

    clock: FixedClock
    answer: ExecutionEnd | Exception = field(default_factory=lambda: Succeeded("{}"))
    """How every execution ends, or what is raised instead."""
    seconds: float = 0
    """How long every execution takes."""
    starts: list[Start] = field(default_factory=list[Start])

    def run(self, execution: Execution, input_text: str, trace_header: str | None = None) -> ExecutionEnd:
        self.starts.append(Start(execution, input_text, trace_header))
        self.clock.time += timedelta(seconds=self.seconds)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@dataclass
class InMemoryCallRate:
    """The rate of calls, in the usage that the store keeps."""

    store: InMemoryTaskStore

    def count(self, owner: Principal, limits: Limits, at: datetime) -> None:
        self.store.calls.append("count")
        decided = pace_after(self.store.usage.get(owner, Usage()), limits, at)
        if not isinstance(decided, Usage):
            raise NotAdmitted(decided)
        self.store.usage[owner] = decided
