"""One run: a stack, the handlers that are under way in it, the news on its way, and the reference that judges all."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from stepwire.aws.workflows.step_functions import execution_of, state_of
from stepwire.background.execution_events import ExecutionStatusChange
from stepwire.errors import StepwireError
from stepwire.tasks.ids import TaskKey, task_key_from_execution
from stepwire.tasks.outcomes import Succeeded
from tests.model.handlers import Broken, Handler, Outcome
from tests.model.reference import Operation, Reference
from tests.model.stack import TTL, Account, Stack, label_of
from tests.server.answers import Json

LARGE = "x" * 100_001
"""Makes an output too large for a task's item, and for an event."""


@dataclass
class News:
    """Something on its way to a function."""

    name: str
    bring: Callable[[], object]
    on_brought: Callable[[], object] = lambda: None
    may_be_lost: bool = True


@dataclass(frozen=True)
class Confirmable:
    """A question that comes before a modern call begins."""

    client: str
    params: Json
    operation: Operation


@dataclass(frozen=True)
class PlainCall:
    """A call without a task."""

    client: str
    message_id: str
    label: str


class Run:
    """One run."""

    account: ClassVar[Account]
    """The account that all runs are in."""
    counted: ClassVar[Counter[str]] = Counter()
    """How often each move was made, and what came of it, in all runs."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = Stack(self.account)
        self.world = self.stack.step_functions
        self.reference = Reference(self.world, TTL)
        self.under_way: list[Handler] = []
        self.news: list[News] = []
        self.confirmables: list[Confirmable] = []
        self.plain: list[PlainCall] = []
        self.keys: dict[str, str] = {}
        """By the tokens of questions: the keys that answer them."""
        self.ids: dict[str, str] = {}
        """By the tokens of questions: the ids of the requests that ask them."""
        self.left_out: frozenset[str] = frozenset()
        """The moves that are not made in this run."""
        self._calls = self.account.boundary.calls
        self._ends: dict[str, dict[str, Any]] = {}
        self.removed_at = self.stack.clock.time
        self.anyone_died = False

    def step(self, name: str) -> None:
        """Count a move."""
        self.reference.step += 1
        self.counted.update(("steps", name))

    def begin(self, name: str, work: Callable[[], Any], ended: Callable[[Outcome], None]) -> None:
        """Begin a handler, which goes as far as its first call."""

        def judged(outcome: Outcome) -> None:
            if isinstance(outcome, Broken) and not isinstance(outcome.fault, StepwireError):
                raise outcome.fault
            self.counted[f"handlers {type(outcome).__name__.lower()}"] += 1
            ended(outcome)

        self.under_way.append(Handler(name, work, judged))
        self.look()

    def finish_all(self) -> None:
        """Let all handlers answer."""
        while self.under_way:
            self.under_way[0].finish()
            self.look()

    def look(self) -> None:
        """Take note of what has just happened in the account, and judge it."""
        self.under_way = [one for one in self.under_way if one.outcome is None]
        for arn in list(self.world.executions)[len(self.reference.executions) :]:
            key = key_of(arn)
            self.reference.begins(key.task_id, key.owner, label_of(self.world.executions[arn].input))
        while self.world.ended:
            self._tell_end(self.world.ended.pop(0))
        self.reference.checks_answers()
        if self.account.boundary.calls > self._calls:
            self._calls = self.account.boundary.calls
            self._check_ends()
        faults, self.stack.faults[:] = self.stack.faults[:], []
        self.counted["faults reported"] += len(faults)
        for fault in faults:
            if not isinstance(fault, StepwireError):
                raise fault

    def _check_ends(self) -> None:
        before, self._ends = self._ends, self.stack.ends()
        for sort_key, end in before.items():
            assert self._ends.get(sort_key, end) == end, "a final status changes"

    def _tell_end(self, arn: str) -> None:
        execution, task_id = self.world.executions[arn], key_of(arn).task_id
        is_left_out = LARGE in execution.end.get("output", "")
        state = Succeeded(None) if is_left_out else state_of({"status": execution.status, **execution.end})
        change = ExecutionStatusChange(execution_of(arn), state)
        self.news.append(
            News("end", lambda: self.stack.events.record(change), lambda: self.reference.has_ended(task_id))
        )


def key_of(arn: str) -> TaskKey:
    """Give the task of an execution."""
    key = task_key_from_execution(execution_of(arn).name)
    assert key is not None
    return key
