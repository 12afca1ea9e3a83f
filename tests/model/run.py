"""One run: a stack, its running handlers, undelivered events, and the reference that checks everything."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from stepwire.aws.step_functions import execution_arn_of, execution_of, state_of
from stepwire.background.execution_events import ExecutionStatusChange
from stepwire.errors import StepwireError
from stepwire.tasks.ids import TaskId, TaskKey, task_key_from_execution
from stepwire.tasks.outcomes import Succeeded
from stepwire.tasks.task import Status
from tests.model.ends import End, arm_of, first_run_of
from tests.model.handlers import Broken, Handler, Outcome
from tests.model.reference import Operation, Reference
from tests.model.stack import IN_LINE, MOST_AT_ONCE, RETRY, TTL, WITH_RETRY, Account, Stack, label_of
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
        self.of_extras: dict[str, Any] = {}
        """What extras keep of the run, by their names."""
        self.keys: dict[str, str] = {}
        """By the tokens of questions: the keys that answer them."""
        self.ids: dict[str, str] = {}
        """By the tokens of questions: the ids of the requests that ask them."""
        self.left_out: frozenset[str] = frozenset()
        """The moves that are not made in this run."""
        self._calls = self.account.boundary.calls
        self._begun = 0
        """How many executions have been seen."""
        self._ends: dict[TaskId, Status] = {}
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
        if self.account.boundary.calls > self._calls:
            self._calls = self.account.boundary.calls
            self._check_ends()
        for arn in list(self.world.executions)[self._begun :]:
            self._begun += 1
            key = key_of(arn)
            self.reference.begins(key.task_id, key.owner, label_of(self.world.executions[arn].input), arn)
        assert len(self.in_turn()) <= MOST_AT_ONCE, "more executions run than the limit allows"
        while self.world.ended:
            self._tell_end(self.world.ended.pop(0))
        while self.stack.messages.sent:
            self._wake(*self.stack.messages.sent.pop(0))
        self.reference.checks_answers()
        faults, self.stack.faults[:] = self.stack.faults[:], []
        self.counted["faults reported"] += len(faults)
        for fault in faults:
            if not isinstance(fault, StepwireError):
                raise fault

    def in_turn(self) -> list[str]:
        """Return the ARNs of the running executions of tools with a limit."""
        return [arn for arn in self.world.running() if is_limited(label_of(self.world.executions[arn].input))]

    def _check_ends(self) -> None:
        before, self._ends = self._ends, self.stack.ends()
        for task_id, end in before.items():
            assert self._ends.get(task_id, end) == end, "a final status changes"
        for task in self.stack.follow_ups():
            if task.task_id not in self.reference.bases:
                before = task.follows.task_id if task.follows else ""
                assert before in self.ended_ids(), "a task that goes on is followed"
                self.reference.continues(task.task_id, before, key_of(execution_arn_of(task.execution)).task_id)
        settled = self.stack.settled()
        for arn in self.world.running():
            assert key_of(arn).task_id not in settled, "nobody will stop the execution of an ended task"

    def ended_ids(self) -> list[str]:
        """Return the ids of the tasks that are stored as ended, the oldest first."""
        return sorted(self._ends)

    def worker(self, arn: str) -> str:
        """Return the id of the task that an execution works for."""
        return self.reference.worker(key_of(arn).task_id, set(self.ended_ids()))

    def _tell_end(self, arn: str) -> None:
        execution, name, task_id = self.world.executions[arn], key_of(arn).task_id, self.worker(arn)
        is_left_out = LARGE in execution.end.get("output", "")
        state = Succeeded(None) if is_left_out else state_of(execution.described)
        change = ExecutionStatusChange(execution_of(arn), state)
        status = execution.status
        is_followed = self.is_followed(arn, status, execution.end.get("error", ""))
        asked = [one for one in self.reference.questions.values() if self.world.states[one.token].arn == arn]
        recorded = [one for one in asked if one.recorded is not None]

        def on_brought() -> None:
            for question in recorded:
                question.over = question.over or self.reference.step
            # An event finds the task that follows only by the one in the execution's name.
            if not is_followed and (task_id == name or self.stack.has(name)):
                self.reference.hears_end(task_id, arn, status)

        self.news.append(News("end", lambda: self.stack.events.record(change), on_brought))

    def is_followed(self, arn: str, status: str, error: str) -> bool:
        """Tell whether another attempt follows an execution that ends so, if its task lives long enough."""
        matches = status == "TIMED_OUT" or (status == "FAILED" and error == "Some.Error")
        return (
            matches and is_retried(label_of(self.world.executions[arn].input)) and self._attempts(arn) < RETRY.attempts
        )

    def _attempts(self, arn: str) -> int:
        """Return how many attempts of a task, or of an arm of its race, have begun."""
        runs, first = self.world.executions.items(), first_run_of(arn)
        return sum(1 + len(one.tokens) for other, one in runs if first_run_of(other) == first)

    def may_end(self, arn: str, status: str, error: str, end: End) -> None:
        """Record an end that the task of an execution may have, because the execution ends so."""
        is_followed = self.is_followed(arn, status, error)
        known = self.reference.tasks[self.worker(arn)]
        if not arm_of(arn):
            (known.followed if is_followed else known.ends).add(end)
        elif is_followed:
            self.reference.followed.add(arn)

    def _wake(self, key: TaskKey, run: int) -> None:
        self.news.append(News(f"wake-up {run}", lambda: self.stack.events.engine.runs.wake(key, run)))


def is_retried(label: str) -> bool:
    """Tell whether the call with this label is of a tool with a retry policy."""
    return label.split(" ", maxsplit=1)[0] in WITH_RETRY


def is_limited(label: str) -> bool:
    """Tell whether the call with this label is of a tool with a limit."""
    return label.split(" ", maxsplit=1)[0] in IN_LINE


def key_of(arn: str) -> TaskKey:
    """Return the task of an execution."""
    key = task_key_from_execution(execution_of(arn).name)
    assert key is not None
    return key
