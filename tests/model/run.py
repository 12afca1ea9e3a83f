"""One run: a stack, its running handlers, undelivered events, and the reference that checks everything."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from stepwire.aws.workflows.step_functions import execution_of, state_of
from stepwire.background.execution_events import ExecutionStatusChange
from stepwire.errors import StepwireError
from stepwire.tasks.ids import TaskKey, task_key_from_execution
from stepwire.tasks.outcomes import Succeeded
from tests.model.handlers import Broken, Handler, Outcome
from tests.model.reference import Operation, Reference
from tests.model.stack import RETRIED, RETRY, TTL, Account, Stack, label_of
from tests.server.answers import Json

LARGE = "x" * 100_001
"""Makes an output too large for a task's item and for an event."""
LARGEST = "x" * 220_000
"""Makes a result too large for any item."""


@dataclass
class News:
    """An event on its way to a function."""

    name: str
    bring: Callable[[], object]
    on_brought: Callable[[], object] = lambda: None
    may_be_lost: bool = True


@dataclass(frozen=True)
class Confirmable:
    """The question before a modern call starts."""

    client: str
    params: Json
    operation: Operation


@dataclass(frozen=True)
class PlainCall:
    """A plain call."""

    client: str
    message_id: str
    label: str
    made_at: datetime


class Run:
    """One run."""

    account: ClassVar[Account]
    """The account of all runs."""
    counted: ClassVar[Counter[str]] = Counter()
    """How often each move was made and with what outcome, in all runs."""

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
        self._begun = 0
        """How many executions have been seen."""
        self._ends: dict[str, dict[str, Any]] = {}
        self.removed_at = self.stack.clock.time
        self.anyone_died = False

    def step(self, name: str) -> None:
        """Count a move."""
        self.reference.step += 1
        self.counted.update(("steps", name))

    def begin(self, name: str, work: Callable[[], Any], ended: Callable[[Outcome], None]) -> None:
        """Start a handler, which runs up to its first call."""

        def judged(outcome: Outcome) -> None:
            if isinstance(outcome, Broken) and not isinstance(outcome.fault, StepwireError):
                raise outcome.fault
            self.counted[f"handlers {type(outcome).__name__.lower()}"] += 1
            ended(outcome)

        self.under_way.append(Handler(name, work, judged))
        self.look()

    def finish_all(self) -> None:
        """Let all handlers end."""
        while self.under_way:
            self.under_way[0].finish()
            self.look()

    def look(self) -> None:
        """Record and check what has just happened in the account."""
        self.under_way = [one for one in self.under_way if one.outcome is None]
        for arn in list(self.world.executions)[self._begun :]:
            self._begun += 1
            key = key_of(arn)
            self.reference.begins(key.task_id, key.owner, label_of(self.world.executions[arn].input))
        while self.world.ended:
            self._tell_end(self.world.ended.pop(0))
        while self.stack.messages.sent:
            self._wake(self.stack.messages.sent.pop(0))
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
        state = Succeeded(None) if is_left_out else state_of(execution.described)
        change = ExecutionStatusChange(execution_of(arn), state)
        is_followed = self.is_followed(arn, execution.status, execution.end.get("error", ""))
        on_brought = (lambda: None) if is_followed else (lambda: self.reference.has_ended(task_id))
        self.news.append(News("end", lambda: self.stack.events.record(change), on_brought))

    def is_followed(self, arn: str, status: str, error: str) -> bool:
        """Tell whether another attempt follows an execution that ends so, if its task lives long enough."""
        matches = status == "TIMED_OUT" or (status == "FAILED" and error == "Some.Error")
        return (
            matches and is_retried(label_of(self.world.executions[arn].input)) and self._attempts(arn) < RETRY.attempts
        )

    def _attempts(self, arn: str) -> int:
        """Return how many attempts of a task have begun."""
        task_id = key_of(arn).task_id
        return sum(1 + len(one.tokens) for other, one in self.world.executions.items() if task_id in other)

    def _wake(self, key: TaskKey) -> None:
        self.news.append(News("wake-up", lambda: self.stack.events.attempts.wake(key)))


def is_retried(label: str) -> bool:
    """Tell whether the call with this label is of a tool with a retry policy."""
    return label.split(" ", maxsplit=1)[0] in RETRIED


def key_of(arn: str) -> TaskKey:
    """Return the task of an execution."""
    key = task_key_from_execution(execution_of(arn).name)
    assert key is not None
    return key
