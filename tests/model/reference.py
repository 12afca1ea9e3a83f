"""A plain model of tasks, which checks every answer, even while many operations are running.

An operation that has started but not answered may have taken effect or not. So an answer must show what had happened
before its request started, and may show what had started before the answer came. The end of a task is open until a
client has seen one; from then on every client must see the same end.
"""

import json
from collections.abc import Container
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from stepwire.engine.limiter import LONGEST_REQUEST
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId, created_at_of
from stepwire.tasks.inputs import LONGEST_CONFIRMATION, InputRequest
from stepwire.tasks.limiter import RECLAIM_PAUSE
from tests.model.ends import (
    CANCELLED,
    DECLINED,
    NOT_STARTED,
    End,
    arm_of,
    ends_of_race,
    first_run_of,
    rules_of,
)
from tests.simulated.step_functions import Execution, StepFunctions

OPEN: Final = frozenset({"open"})
_LOSSES: Final = frozenset({"FAILED", "TIMED_OUT", "ABORTED"})
DELAY: Final = timedelta(minutes=1)
"""The time between two attempts."""
_KEY_OF_REFUSED: Final = 3 * LONGEST_REQUEST
"""How long a key may stand for a call that was refused: a minute from when it was claimed, within the request."""
Json = dict[str, Any]


@dataclass(frozen=True)
class Told:
    """What an answer says about a task."""

    task_id: str
    kinds: frozenset[str]
    """The kinds of end that it allows; `OPEN` means none yet."""
    content: str | None = None
    """The result, if the answer has it."""
    questions: dict[str, str] | None = None
    """The messages of the open questions by key or id, if the answer has them."""
    expires_at: datetime | None = None


@dataclass
class Operation:
    """A request of a client."""

    number: int
    """The step in which it started."""
    began_at: datetime
    owner: Principal
    task_id: str = ""
    label: str = ""
    """Of a call: the text in its workflow's input."""
    key: str | None = None
    answered: int | None = None
    """Of a call: the step in which its caller got the task id."""
    reclaims: bool = False
    """Of a call: whether it has read tasks to reclaim slots."""


@dataclass
class Given:
    """An answer to a question that a client has sent."""

    value: Json | None
    """What the state gets; None means that the client cannot ask."""
    began: int
    taken: int | None = None
    """The step by which it, or an earlier answer, is certainly recorded."""


class Others(Protocol):
    """Those who decide a question, as the extra knows them that puts it to them."""

    number: int | None
    """The number of the question in its task, once it is asked."""

    def checks(self, output: str) -> None:
        """Check the answer that a state gets."""
        ...

    def check_open(self, request: InputRequest, now: datetime, late: timedelta) -> None:
        """Check a question that is still open when everything has come to rest.

        Args:
            request: as it is stored.
            now: the time.
            late: how late a reminder may be of a task that nobody reads.
        """
        ...


@dataclass
class Question:
    """A question of a state."""

    token: str
    task_id: str
    message: str
    until: datetime | None
    recorded: int | None = None
    """The step by which it was certainly asked."""
    given: list[Given] = field(default_factory=list[Given])
    over: int | None = None
    """The step by which the end of its execution was certainly recorded."""
    others: Others | None = None
    """Those who decide it in place of the caller; None: it is the caller's."""
    was_wrong: bool = False
    """Whether a client may have answered wrongly, so that it is asked again under another key and id."""


@dataclass
class Known:
    """A task that a client knows, or whose workflow has started."""

    owner: Principal
    label: str = ""
    expires_early: datetime | None = None
    """None if no client was told about the task."""
    expires_late: datetime | None = None
    ends: set[End] = field(default_factory=set[End])
    """All ends that the task may have."""
    followed: set[End] = field(default_factory=set[End])
    """The ends of attempts that another one follows, unless the task expires before."""
    told: set[End] = field(default_factory=set[End])
    """The ends that agree with all answers so far; if there were any answers, the task has one of these."""
    ended: int | None = None
    """The step by which it had certainly ended."""
    heard: dict[str, bool] = field(default_factory=dict[str, bool])
    """Of a race: whether an arm has succeeded, by letter, as far as its end is certainly recorded."""
    decided: bool = False
    """Whether an answer to the question before its start was acknowledged."""

    @property
    def is_over(self) -> bool:
        """Tell whether it has certainly ended."""
        return self.ended is not None


@dataclass
class Reference:
    """All tasks, by their ids."""

    world: StepFunctions
    ttl: timedelta
    step: int = 0
    tasks: dict[str, Known] = field(default_factory=dict[str, Known])
    questions: dict[str, Question] = field(default_factory=dict[str, Question])
    """The questions, by callback token."""
    calls: list[Operation] = field(default_factory=list[Operation])
    """The calls that may have created a task."""
    commands: list[Operation] = field(default_factory=list[Operation])
    """The commands of operators that may have created a task, which takes slots as a call's does."""
    refused: list[Operation] = field(default_factory=list[Operation])
    """The calls that were refused after their key was claimed."""
    accepted: set[str] = field(default_factory=set[str])
    """The labels of calls whose confirmation was sent."""
    given_up: set[str] = field(default_factory=set[str])
    """The labels of plain calls whose cancellation was sent."""
    surely_given_up: set[str] = field(default_factory=set[str])
    """The labels of plain calls whose cancellation was acknowledged."""
    executions: dict[str, str] = field(default_factory=dict[str, str])
    """The labels of executions, by task id."""
    follow_ups: dict[str, str] = field(default_factory=dict[str, str])
    """The tasks that an operator made of ended ones, by these."""
    bases: dict[str, str] = field(default_factory=dict[str, str])
    """Of tasks that operators made: the task that is in the name of their execution."""
    followed: set[str] = field(default_factory=set[str])
    """The ARNs of the attempts of arms that another attempt follows, unless the task expires before."""

    @property
    def now(self) -> datetime:
        """Return the current time."""
        return self.world.clock.now()

    def known(self, task_id: str, owner: Principal) -> Known:
        """Return a task that belongs to an owner; fail if it belongs to another."""
        known = self.tasks.setdefault(task_id, Known(owner))
        assert known.owner == owner, "a caller sees a task of another"
        return known

    # ---------------------------------------------------------------------------------------------- what clients hear

    def tells(self, operation: Operation, told: Told) -> None:
        """Check what an answer says about a task."""
        known = self.known(told.task_id, operation.owner)
        self._expires(known, told)
        gone = known.expires_late is not None and operation.began_at >= known.expires_late
        assert not gone, "a task is shown that has expired"
        if told.kinds == OPEN:
            assert known.ended is None or operation.number <= known.ended, "an ended task is shown as active"
        else:
            before = self.tasks[self.bases.get(told.task_id, told.task_id)].ends
            may_be = known.told or known.ends | before | self._ends_of_the_world(told.task_id) | self._last_ends(known)
            known.told = {end for end in may_be if _shows(told, end)}
            assert known.told, f"told {told}, where it may be {may_be}"
            self.has_ended(told.task_id)
        if told.questions is not None:
            self._asks(operation, told, told.questions)

    def misses(self, operation: Operation) -> None:
        """Check an answer that says that there is no such task."""
        for call in self.calls:
            # A task whose id no client got may have been removed, because its start was refused.
            was_told = call.answered is not None and call.task_id == operation.task_id
            if was_told and call.owner == operation.owner:
                assert not self.is_there(call.task_id), "a task that has not expired is unknown"

    def lists(self, operation: Operation, listed: list[Told]) -> None:
        """Check a complete list of a caller's tasks."""
        for told in listed:
            self.tells(operation, told)
        ids = {told.task_id for told in listed}
        for call in self.calls:
            was_told = call.answered is not None and call.answered < operation.number
            if call.owner == operation.owner and was_told:
                assert call.task_id in ids or not self.is_there(call.task_id), "a task is not listed"

    def calls_begin(self, operation: Operation, told: Told) -> None:
        """Check that a call has a task."""
        known = self.known(told.task_id, operation.owner)
        assert known.label in {"", operation.label}, "a call has the task of another"
        known.label = operation.label
        for other in self.calls:
            has_its_key = operation.key is not None and (other.owner, other.key) == (operation.owner, operation.key)
            if has_its_key and other.task_id and self.is_there(other.task_id):
                assert other.task_id == told.task_id, "a call with a key has two tasks"
            # A confirmation may be sent twice.
            assert other.label == operation.label or other.task_id != told.task_id, "two calls have one task"
        operation.task_id, operation.answered = told.task_id, self.step
        self.tells(operation, told)

    def reuses_a_key(self, operation: Operation) -> None:
        """Check an answer that says that the key belongs to another call."""
        lately = [one for one in self.refused if one.began_at + _KEY_OF_REFUSED >= operation.began_at]
        same = (one for one in (*self.calls, *lately) if (one.owner, one.key) == (operation.owner, operation.key))
        assert any(one.label != operation.label for one in same), "a new key is refused"

    def is_full(self, operation: Operation, most: int, reclaimed_at: datetime | None) -> None:
        """Check a refusal because of too many active tasks: ended ones count until slots may be reclaimed."""
        mine = [one for one in (*self.calls, *self.commands) if one.owner == operation.owner]
        if not operation.reclaims:
            assert len(mine) > most, "a call is refused although a slot is free"
            was_lately = reclaimed_at is not None and reclaimed_at > operation.began_at - RECLAIM_PAUSE
            assert was_lately, "a call is refused before slots were reclaimed"
            return
        over = [one for one in mine if one.task_id and self._was_over(one.task_id, operation.number)]
        assert len(mine) - len(over) > most, "a call is refused although a slot is free"

    def is_refused(self, operation: Operation, *, has_claimed: bool) -> None:
        """Record that a call is refused, whose key is claimed or not."""
        self.calls = [one for one in self.calls if one is not operation]
        self.refused += [operation] if has_claimed else []

    def is_given_up(self, label: str) -> None:
        """Record that the cancellation of a plain call was acknowledged."""
        self.surely_given_up.add(label)

    def has_ended(self, task_id: str) -> None:
        """Record that a task has certainly ended by now."""
        known = self.tasks[task_id]
        known.ended = self.step if known.ended is None else known.ended

    def hears_end(self, task_id: str, arn: str, status: str) -> None:
        """Record that the end of an execution, which no attempt follows, is recorded: of a race, that of an arm."""
        known = self.tasks[task_id]
        rules = rules_of(known.label)
        if rules is None:
            self.has_ended(task_id)
            return
        known.heard[arm_of(arn)] = status == "SUCCEEDED"
        successes = sum(known.heard.values())
        if successes >= rules.quorum or len(known.heard) - successes > rules.most_failures:
            self.has_ended(task_id)

    def _was_over(self, task_id: str, before: int) -> bool:
        ended = self.tasks[task_id].ended
        return ended is not None and ended < before

    def is_there(self, task_id: str) -> bool:
        """Tell whether a task cannot have expired."""
        expires = self.tasks[task_id].expires_early
        return expires is None or expires > self.now

    def _expires(self, known: Known, told: Told) -> None:
        if told.expires_at is None:
            return
        known.expires_early = min(known.expires_early or told.expires_at, told.expires_at)
        # The ttl of a confirmed task grows by the time until the confirmation.
        late = told.expires_at + (self.ttl if known.label.startswith("confirmed") else timedelta())
        known.expires_late = max(known.expires_late or late, late)

    def _last_ends(self, known: Known) -> set[End]:
        """Return the ends of attempts that no other one could follow, because the task expires too soon."""
        expires = known.expires_early
        return known.followed if expires is not None and self.now >= expires - DELAY else set()

    def _ends_of_the_world(self, task_id: str) -> set[End]:
        name = self.bases.get(task_id, task_id)
        arns_refused = [arn for arn in self.world.refused if name in arn]
        refused = {NOT_STARTED for _ in arns_refused}
        executions = {arn: one for arn, one in self.world.executions.items() if name in arn}
        statuses = [one.status for one in executions.values()]
        race = self._ends_of_race(task_id, executions, arns_refused)
        if race is not None:
            return refused | race
        # The model knows no label of a task whose execution never started.
        may_be_given_up = self.tasks[task_id].label in {"", *self.given_up} and self.given_up
        ends = {CANCELLED} if "ABORTED" in statuses or may_be_given_up else set[End]()
        # The confirmation expired.
        is_late = not statuses and self.now - _made(task_id) >= LONGEST_CONFIRMATION
        return refused | ends | ({DECLINED} if is_late else set())

    def _ends_of_race(self, task_id: str, executions: dict[str, Execution], refused: list[str]) -> set[End] | None:
        known = self.tasks[task_id]
        rules = rules_of(known.label)
        if rules is None:
            return None
        expires = known.expires_early
        is_late = expires is not None and self.now >= expires - DELAY
        return ends_of_race(rules, executions, refused, set() if is_late else self.followed)

    # ------------------------------------------------------------------------------------------ questions and answers

    def _asks(self, operation: Operation, told: Told, shown: dict[str, str]) -> None:
        for message in shown.values():
            question = self.question(told.task_id, message)
            assert question.others is None, "the caller is asked what others decide"
            taken = (one.taken for one in question.given)
            assert not any(one is not None and one < operation.number for one in taken), "an answered question is asked"
            assert question.over is None or question.over >= operation.number, "a question outlives its execution"
        for question in self.questions.values():
            if (
                question.others is None
                and question.task_id == told.task_id
                and told.kinds == OPEN
                and self.is_open(question, operation.number)
            ):
                assert question.message in shown.values(), "a question is not shown"

    def question(self, task_id: str, message: str) -> Question:
        """Find a question of a task by its message."""
        mine = {task_id, self.bases.get(task_id, task_id)}
        found = [one for one in self.questions.values() if one.task_id in mine and one.message == message]
        assert found, f"a question that no state asked: {message}"
        return found[0]

    def is_open(self, question: Question, since: int) -> bool:
        """Tell whether a question has certainly been open since that step."""
        was_asked = question.recorded is not None and question.recorded < since
        in_time = question.until is None or question.until > self.now
        is_cancelled = CANCELLED in self.tasks[question.task_id].ends
        return was_asked and in_time and not is_cancelled and not question.given and self._waits(question)

    def _waits(self, question: Question) -> bool:
        return self.world.states[question.token].waits

    def takes(self, given: Given, question: Question) -> None:
        """Record that an answer was acknowledged: if its question was open, an answer to it is recorded now."""
        if question.recorded is not None and question.recorded < given.began:
            given.taken = self.step

    def checks_answers(self) -> None:
        """Check the answers that states were sent."""
        for token, question in self.questions.items():
            sent = self.world.states[token].answers
            assert all(one == sent[0] for one in sent), "a state is sent two answers"
            if sent and "output" in sent[0] and question.others is not None:
                question.others.checks(sent[0]["output"])
            elif sent and "output" in sent[0]:
                value = json.loads(sent[0]["output"])
                given = [one for one in question.given if one.value == value]
                assert given, "a state gets an answer that no client sent"
                earlier = (one for one in question.given if one.taken is not None and one.taken < given[0].began)
                assert not any(earlier), "a later answer takes the place of an earlier one"

    # ------------------------------------------------------------------------------------------------ what workflows do

    def begins(self, task_id: str, owner: Principal, label: str, arn: str) -> None:
        """Check that an execution of a task may have started."""
        known = self.known(task_id, owner)
        assert known.label in {"", label}, "a task has the execution of another"
        known.label = label
        assert not label.startswith("confirmed") or label in self.accepted, "a workflow starts without a confirmation"
        for other, its_label in self.executions.items():
            kept = self.tasks[other].owner == owner and _made(other) > _made(task_id) - self.ttl
            assert not (its_label == label and kept and other != task_id), "a call runs twice"
        runs = self.world.executions.items()
        mine = [one.status for other, one in runs if first_run_of(other) == first_run_of(arn)]
        assert set(mine[:-1]) <= {"FAILED", "TIMED_OUT"}, "an attempt begins before the one before it has failed"
        self._check_head_start(task_id, label, arm_of(arn))
        self.executions[task_id] = label

    # --------------------------------------------------------------------------------------------- what operators do

    def is_followed(self, task_id: str, follow_up: str) -> None:
        """Check that one task follows an ended one, however often the operator commands it."""
        assert self.follow_ups.setdefault(task_id, follow_up) == follow_up, "a task is continued twice"

    def is_obeyed(self, command: Operation, task_id: str, follow_up: str) -> None:
        """Record that a command has made a task of an ended one, or found the one that an earlier command made."""
        self.is_followed(task_id, follow_up)
        if any(one.task_id == follow_up for one in self.commands):
            self.is_denied(command)
        command.task_id = follow_up

    def is_denied(self, command: Operation) -> None:
        """Record that a command has made nothing."""
        self.commands = [one for one in self.commands if one is not command]

    def continues(self, task_id: str, before: str, name: str) -> None:
        """Record a new task of an operator.

        Args:
            task_id: the new task.
            before: the task that it follows.
            name: the task that is in the name of its execution.
        """
        ended = self.tasks[before]
        known = self.known(task_id, ended.owner)
        known.label, self.bases[task_id] = ended.label, name
        self.is_followed(before, task_id)

    def worker(self, name: str, ended: Container[str]) -> str:
        """Return the task that an execution with a task's id in its name works for: the newest that goes on with it."""
        while name in ended and name in self.follow_ups:
            name = self.follow_ups[name]
        return name

    def _check_head_start(self, task_id: str, label: str, letter: str) -> None:
        """Check that an arm that starts late does so in its time, or because all others have failed."""
        rules = rules_of(label)
        if rules is None or letter not in rules.late or self.now >= _made(task_id) + DELAY:
            return
        ended = {arm_of(arn) for arn, one in self.world.executions.items() if task_id in arn and one.status in _LOSSES}
        out = ended | {arm_of(arn) for arn in self.world.refused if task_id in arn}
        assert len(out - set(rules.late)) >= rules.arms - len(rules.late), "an arm starts in the others' head start"


def _made(task_id: str) -> datetime:
    return created_at_of(TaskId(task_id))


def _shows(told: Told, end: End) -> bool:
    return end.kind in told.kinds and (told.content is None or end.words in told.content)
