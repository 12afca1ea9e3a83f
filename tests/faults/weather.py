"""Bad weather: tasks of every kind while AWS throttles calls, answers none, and loses, doubles and delays events.

Everything is chosen by a seed, and the clock moves from one thing that happens to the next, so a seed gives the same
run each time. Clients, workflows, Lambda and Step Functions behave as the real ones do after an error: they retry.
"""

import heapq
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

from stepwire.aws.background_functions import ExecutionEventsHandler, InputRequestsHandler
from stepwire.aws.clients import is_weather
from stepwire.aws.step_functions import execution_of
from stepwire.errors import StepwireError
from stepwire.tasks.ids import task_key_from_execution
from stepwire.tasks.limiter import Limits
from stepwire.tasks.task import Task
from tests.faults.boundary import Fault
from tests.faults.site import SWEEP, Account, Site
from tests.kits import FORM
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, ModernClient
from tests.simulated.step_functions import RUNNING, StepFunctions, Waiting

LONGEST: Final = timedelta(hours=2)
POLL: Final = 5.0  # seconds
ASYNCHRONOUS_RETRIES: Final = (60.0, 120.0)  # seconds; of Lambda, after an event that failed
MOST_RETRIES: Final = 12
"""Of a state that asks, as docs/talking_workflows.md has it."""
SEED: Final = 1
TASKS: Final = 350
"""Of the run whose figures are in the document."""
KINDS: Final = ("plain", "question", "key", "race")


@dataclass(frozen=True)
class Rates:
    """How bad the weather is: shares of the calls of each service, and of the events."""

    refused: float = 0.30
    """Throttled, each third of them with an internal error instead."""
    silent: float = 0.03
    """Done, but without an answer."""
    services: tuple[str, ...] = ("dynamodb", "sfn", "sqs", "s3", "secrets-manager")
    lost: float = 0.40
    tripled: float = 0.20
    late: float = 0.20


@dataclass
class Figures:
    """What a run has shown."""

    tasks: int = 0
    requests: int = 0
    refused: int = 0
    """Requests that were answered with an error that says when to retry."""
    without_time: int = 0
    """Requests that were answered with any other error."""
    faults: int = 0
    weather: int = 0
    """Lines of the log that count as a fault, and as weather."""
    asked_twice: int = 0
    failed_states: int = 0
    """States that asked and used up their retries."""
    lost: int = 0
    doubled: int = 0
    mixed_up: int = 0
    begun_late: list[float] = field(default_factory=list[float])
    """Seconds from an accepted call to its execution."""
    ended_late: list[float] = field(default_factory=list[float])
    """Seconds from the end of an execution until its client knew the result."""


@dataclass(frozen=True)
class Invocation:
    """The context of an invocation with so much time."""

    seconds: float

    def get_remaining_time_in_millis(self) -> int:
        return int(self.seconds * 1000)


class Retrying(StepFunctions):
    """Executions that end as a test says; a state that fails is retried by the test."""

    def __init__(self, clock: Any, failed: Callable[[Waiting, Json], object]) -> None:
        super().__init__(clock)
        self.failed = failed

    def _go_on(self, state: Waiting, answer: Json) -> None:
        if "output" in answer:
            self.end(state.arn, "SUCCEEDED", {"output": answer["output"]})
        else:
            self.failed(state, answer)


@dataclass
class _Call:
    """One call of a client, to its end."""

    label: str
    kind: str
    task_id: str = ""
    accepted_at: datetime | None = None
    ended_at: datetime | None = None
    """When its execution ended."""
    answered: set[str] = field(default_factory=set[str])
    result: Json | None = None

    @property
    def number(self) -> int:
        return int(self.label)


class Run:
    """One run."""

    def __init__(self, account: Account, seed: int, tasks: int, rates: Rates | None = None) -> None:
        self.random, self.rates, self.figures = Random(seed), rates or Rates(), Figures(tasks)
        self.site = Site(account, Limits(active=tasks + 9, per_minute=100 * tasks), repeats=True)
        self.site.step_functions = Retrying(self.site.clock, self._state_failed)
        account.boundary.services["sfn"] = self.site.step_functions.answer
        self.client = ModernClient(self.site, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})
        self.calls = {str(n): _Call(str(n), KINDS[n % len(KINDS)]) for n in range(tasks)}
        self.begun, self.retries = dict[str, datetime](), Counter[str]()
        self.tokens = 0
        self._due: list[tuple[datetime, int, Callable[[], object]]] = []
        self._number = 0
        self.end_at = self.site.clock.time + LONGEST

    def go(self) -> Figures:
        """Let everything happen, and return the figures."""
        boundary = self.site.account.boundary
        boundary.weather = self._weather
        try:
            for one in self.calls.values():
                self._after(self.random.uniform(0, 60), lambda one=one: self._call(one))
            self._after(1, self._look_for_executions)
            self._after(10, self._wake)
            self._after(SWEEP.total_seconds(), self._sweep)
            while self._due and any(one.result is None for one in self.calls.values()):
                at, _, act = heapq.heappop(self._due)
                if at > self.end_at:
                    break
                self.site.clock.time = max(self.site.clock.time, at)
                act()
        finally:
            boundary.weather = None
        self._count()
        self.site.close()
        return self.figures

    def _after(self, seconds: float, act: Callable[[], object]) -> None:
        self._number += 1
        heapq.heappush(self._due, (self.site.clock.time + timedelta(seconds=seconds), self._number, act))

    def _weather(self, service: str, _operation: str) -> Fault | None:
        if service not in self.rates.services:
            return None
        drawn = self.random.random()
        if drawn < self.rates.refused:
            return Fault.INTERNAL if drawn < self.rates.refused / 3 else Fault.THROTTLED
        return Fault.TIMEOUT_AFTER if drawn < self.rates.refused + self.rates.silent else None

    # -------------------------------------------------------------------------------------------------------- clients

    def _asked(self, answer: Answer) -> float | None:
        """Count a request; return when to repeat it, None if it was served."""
        self.figures.requests += 1
        if "result" in answer.body:
            return None
        data: Json = answer.error.get("data") or {}
        wait: float | None = data.get("retryAfterMs")
        if wait is None:
            self.figures.without_time += 1
            return POLL
        self.figures.refused += 1
        return wait / 1000

    def _call(self, one: _Call) -> None:
        tool = "racing" if one.kind == "race" else "optional"
        meta = {"stepwire/idempotencyKey": one.label} if one.kind in {"key", "race"} else {}
        params = {"name": tool, "arguments": {"text": one.label}}
        answer = self.client.ask("tools/call", params, meta=meta)
        wait = self._asked(answer)
        if wait is not None:
            self._after(wait, lambda: self._call(one))
            return
        one.task_id, one.accepted_at = answer.id_in(), self.site.clock.time
        self._after(POLL, lambda: self._poll(one))

    def _poll(self, one: _Call) -> None:
        answer = self.client.task("get", one.task_id)
        wait = self._asked(answer)
        if wait is None and answer.result["status"] in {"completed", "failed", "cancelled"}:
            one.result = answer.result
            if one.ended_at is not None:
                self.figures.ended_late.append((self.site.clock.time - one.ended_at).total_seconds())
            return
        if wait is None:
            new = [key for key in answer.result.get("inputRequests", {}) if key not in one.answered]
            self.figures.asked_twice += len(new) if one.answered else len(new[1:])
            one.answered |= set(new)
            if new:
                self._after(self.random.uniform(0, 3), lambda: self._answer(one, new))
        self._after(wait or POLL, lambda: self._poll(one))

    def _answer(self, one: _Call, keys: list[str]) -> None:
        given = {"action": "accept", "content": {"amount": one.number % 100 + 1}}
        wait = self._asked(self.client.update(one.task_id, dict.fromkeys(keys, given)))
        if wait is not None:
            self._after(wait, lambda: self._answer(one, keys))

    # ------------------------------------------------------------------------------------------------------ workflows

    def _look_for_executions(self) -> None:
        for arn, execution in self.site.step_functions.executions.items():
            if arn not in self.begun:
                one = self.calls[json.loads(execution.input)["text"]]
                self.begun[arn] = self.site.clock.time
                if one.accepted_at is not None and _works_for(arn, one):
                    self.figures.begun_late.append((self.site.clock.time - one.accepted_at).total_seconds())
                self._after(self.random.uniform(1, 60), lambda arn=arn, one=one: self._go_on(arn, one))
        self._after(1, self._look_for_executions)

    def _go_on(self, arn: str, one: _Call) -> None:
        if one.kind == "question":
            self._ask(arn)
        elif self.site.step_functions.executions[arn].status == RUNNING:
            self._end(arn, "SUCCEEDED", {"output": json.dumps({"said": one.label})})

    def _ask(self, arn: str) -> None:
        if self.site.step_functions.executions[arn].status != RUNNING:
            return
        self.tokens += 1
        token = f"token {self.tokens}"
        state = self.site.step_functions.states[token] = Waiting(arn, None)
        event = {"execution_arn": arn, "task_token": token, "key": "approval", "elicitation": FORM}
        handler = _InputRequests(self)
        try:
            handler({**event, "state_entered": self.begun[arn].isoformat()}, Invocation(120))
            is_heard = self.random.random() >= self.rates.silent
        except StepwireError:
            is_heard = False
        if state.waits and not is_heard:  # Step Functions fails the state, and its token is good for nothing
            state.waits = False
            self._state_failed(state, {})
        self._tell_ended(arn)

    def _state_failed(self, state: Waiting, _answer: Json) -> None:
        self.retries[state.arn] += 1
        if self.retries[state.arn] > MOST_RETRIES:
            self.figures.failed_states += 1
            self._end(state.arn, "FAILED", {"error": "Stepwire.NotRecorded", "cause": ""})
            return
        pause = min(60.0, 2.0 ** self.retries[state.arn]) * self.random.random()
        self._after(pause, lambda: self._ask(state.arn))

    def _end(self, arn: str, status: str, detail: Json) -> None:
        self.site.step_functions.end(arn, status, detail)
        self._tell_ended(arn)

    def _tell_ended(self, _arn: str) -> None:
        """Send the events of what has ended, each with its fate."""
        ended, self.site.step_functions.ended = self.site.step_functions.ended, []
        for arn in ended:
            execution = self.site.step_functions.executions[arn]
            one = self.calls[json.loads(execution.input)["text"]]
            if one.ended_at is None and _works_for(arn, one):
                one.ended_at = self.site.clock.time
            drawn = self.random.random()
            copies = 3 if self.rates.lost <= drawn < self.rates.lost + self.rates.tripled else 1
            is_late = drawn >= 1 - self.rates.late
            for _ in range(0 if drawn < self.rates.lost else copies):
                delay = self.random.uniform(60, 600) if is_late else self.random.uniform(0.5, 2)
                self._after(delay, lambda arn=arn: self._deliver(arn, [*ASYNCHRONOUS_RETRIES]))

    def _deliver(self, arn: str, retries: list[float]) -> None:
        known, execution = self.site.step_functions.executions[arn], execution_of(arn)
        detail = {"stateMachineArn": execution.state_machine_arn, "name": execution.name, **known.described}
        event = {"detail-type": "Step Functions Execution Status Change", "detail": detail}
        try:
            _ExecutionEvents(self)(event, Invocation(30))
        except Exception as fault:  # noqa: BLE001 - Lambda has it delivered again
            self.report(fault)
            if retries:
                self._after(retries.pop(0), lambda: self._deliver(arn, retries))
        self._tell_ended(arn)

    def _wake(self) -> None:
        for one in [one for one in self.site.messages if one[0] <= self.site.clock.time]:
            self.site.messages.remove(one)
            answer = _ExecutionEvents(self)({"Records": [one[1]]}, Invocation(30))
            if answer and answer["batchItemFailures"]:
                self.site.messages.append((self.site.clock.time + timedelta(minutes=3), one[1]))
        self._after(10, self._wake)

    def _sweep(self) -> None:
        try:
            self.site.process.sweep.run()
        except Exception as fault:  # noqa: BLE001 - the next run does what is left
            self.report(fault)
        self._tell_ended("")
        self._after(SWEEP.total_seconds(), self._sweep)

    def report(self, fault: Exception) -> None:
        """Take what a function logs."""
        self.site.troubles.append(fault)

    # -------------------------------------------------------------------------------------------------------- the end

    def _count(self) -> None:
        figures, tasks = self.figures, {str(task.task_id): task for task in self.site.all_tasks()}
        figures.faults = sum(not is_weather(fault) for fault in self.site.troubles)
        figures.weather = len(self.site.troubles) - figures.faults
        started = Counter(json.loads(one.input)["text"] for one in self.site.step_functions.executions.values())
        for one in self.calls.values():
            arms = 2 if one.kind == "race" else 1
            # A call without a key that was answered with an error may have begun, and was made again.
            figures.doubled += one.kind in {"key", "race"} and started[one.label] > arms
            task = tasks.get(one.task_id)
            figures.lost += one.result is None or task is None
            figures.mixed_up += task is not None and one.result is not None and not self._is_right(one, task)

    def _is_right(self, one: _Call, task: Task) -> bool:
        if one.result is None or one.result["status"] != "completed" or not task.has_ended:
            return False
        shown = one.result["result"].get("structuredContent")
        if one.kind == "question":
            return shown == {"action": "accept", "content": {"amount": one.number % 100 + 1}}
        return shown == {"said": one.label}


def _works_for(arn: str, one: _Call) -> bool:
    """Tell whether an execution is of the task that its client polls, not of one whose call was not answered."""
    key = task_key_from_execution(execution_of(arn).name)
    return key is not None and key.task_id == one.task_id


class _InputRequests(InputRequestsHandler):
    """The function, over the objects of a run."""

    def __init__(self, run: Run) -> None:
        vars(self)["_requests"] = run.site.process.requests
        self._log = run.report

    def _report(self, fault: Exception) -> None:
        self._log(fault)


class _ExecutionEvents(ExecutionEventsHandler):
    """The function, over the objects of a run."""

    def __init__(self, run: Run) -> None:
        vars(self)["_events"] = run.site.process.events
        self._log = run.report

    def _report(self, fault: Exception) -> None:
        self._log(fault)
