"""Record the questions of workflows in their tasks.

A state asks with a task token and waits for a callback. Afterwards either its question is recorded in the task, or the
state has failed with an error name that the workflow can catch; a question that cannot be answered is never left open.
Recording is idempotent per task token. A question goes to the caller unless an extra puts it to others (`Router`): what
the caller's client can show is of no matter then.
"""

import hashlib
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from msgspec import Struct

from stepwire.codec import encode
from stepwire.engine.assembly import Engine
from stepwire.engine.ports import Starters
from stepwire.engine.recorder import RunOfTask
from stepwire.engine.upkeep import NOT_SUPPORTED
from stepwire.errors import ForeignQuestion, StarterUnproven
from stepwire.json_text import Json, JsonObject, write
from stepwire.tasks.answers import CALLER
from stepwire.tasks.events import InputRequested
from stepwire.tasks.ids import task_key_from_execution
from stepwire.tasks.inputs import (
    ELICITATION_MODES,
    KEY_PATTERN,
    MOST_QUESTIONS,
    Asked,
    AskingState,
    Callback,
    Directed,
    InputRequest,
    InvalidQuestion,
    asked_of,
    mode_of,
    params_of,
)
from stepwire.tasks.task import Execution, Task

INVALID: Final = "Stepwire.InvalidInputRequest"
"""The error name of a state whose question is not valid."""
# Together with everything else that an item may hold at that time, it stays below DynamoDB's 409,600 bytes.
LARGEST_OPEN: Final = 50_000  # bytes of JSON, of all open questions together
MOST_GENERATIONS: Final = 4
"""Executions from the one that asks up to the one of the task."""
_HISTORY_PAUSES: Final = (0.5, 1.0)  # seconds, in which a history comes to have a start
LONGEST_TIMEOUT: Final = 31_622_400  # seconds; the longest that an execution may run
_NUMBER_AND_TIME: Final = 40  # bytes
_NO_TASK: Final = (
    "The execution does not belong to a task, so the question cannot be shown to a client. A nested execution "
    "needs AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID in its input."
)


class Question(Struct, frozen=True):
    """A question of a workflow state, not yet validated."""

    execution: Execution
    token: str
    key: Json
    elicitation: Json
    timeout_seconds: Json = None
    """How long the state waits for the answer; None: not known."""
    sampling: Json = None
    roots: Json = None
    state_entered: Json = None
    """When the state was entered, as the context object has it: the same in each retry; None: not known."""
    audience: Json = None
    """Who other than the caller decides it, within what the manifest allows; None: as the manifest says."""

    @property
    def given(self) -> JsonObject:
        """What the state asks for; a valid question is one thing."""
        kinds = {"elicitation": self.elicitation, "sampling": self.sampling, "roots": self.roots}
        return {kind: value for kind, value in kinds.items() if value is not None}


class InputRequests(Struct, frozen=True):
    """Records the questions of workflows."""

    engine: Engine
    starters: Starters

    def record(self, question: Question) -> None:
        """Record a question in its task, or fail the state that asks it.

        Raises:
            ForeignQuestion: the task's state machine is of another account or Region, whose questions are not served.
            WorkflowsUnavailable: the state could not be failed; the request must be delivered again.
        """
        fail = partial(self.engine.ports.workflows.fail_callback, question.token)
        try:
            asked, timeout = _checked(question), _timeout(question)
        except InvalidQuestion as error:
            return fail(INVALID, f"The input request cannot be asked: {error}.")
        asking = self._asking(question.execution)
        if asking is None:
            return fail(NOT_SUPPORTED, _NO_TASK)
        task, is_recorded = asking.task, _is_recorded(asking.task, question.token)
        if task.execution_of(asking.run).role:
            raise ForeignQuestion  # its answer could not be delivered: a callback token is good in its own account
        now = self.engine.recorder.clock.now()
        try:
            directed = self._directed(task, question, asked, now)
        except InvalidQuestion as error:
            return fail(INVALID, f"The input request cannot be asked: {error}.")
        fault = _fault(task, question, directed, is_recorded=is_recorded)
        if fault is not None or is_recorded:
            return fail(*fault) if fault else None
        expires_at = None if timeout is None else now + timeout
        destination = Callback(question.token, asking.run, _asking_of(question, now))
        dead = self._dead(task, destination)
        requested = InputRequested(question.key, directed.asked, destination, expires_at, dead, directed.audience)
        after = self.engine.recorder.record(task, requested)
        if after is not None and any(one.token == question.token for one in after.inputs.undelivered):
            self.engine.upkeep.delivered(after)  # after a fault, the request would come again
        return None

    def _directed(self, task: Task, question: Question, asked: Asked, at: datetime) -> Directed:
        """Return who answers a question, and what they are shown of it.

        Raises:
            InvalidQuestion: it cannot be put to those whom it names.
        """
        routers = self.engine.ports.routers
        if not routers.keys() >= task.work.routes.keys():  # never the caller's then: nobody decides their own request
            raise InvalidQuestion("it is for others than the caller, and this endpoint does not ask them any more")
        for router in routers.values():
            directed = router.directed(task, str(question.key), question.audience, asked, at)
            if directed is not None:
                return directed
        if question.audience is not None:
            raise InvalidQuestion("it has an audience, and this endpoint asks callers only")
        return Directed(asked, CALLER)

    def _dead(self, task: Task, destination: Callback) -> frozenset[str]:
        """Return the tokens with which the same was asked, and no state waits any more; without such, no call."""
        open_ones = (one.destination for one in task.questions)
        asked = {one.token: one.asking for one in open_ones if isinstance(one, Callback)}
        asked |= {one.token: one.asking for one in task.inputs.undelivered if not one.is_unclaimed}
        now = destination.asking
        alike = [token for token, before in asked.items() if before and now and before.is_retried_by(now)]
        return frozenset(token for token in alike if not self.engine.ports.workflows.waits(token))

    def _asking(self, execution: Execution) -> RunOfTask | None:
        """Return the task of an execution, or of the one that has started it, some generations up."""
        asking: Execution | None = execution
        for _ in range(MOST_GENERATIONS):
            if asking is None:
                return None
            if task_key_from_execution(asking.name) is not None:
                found = self.engine.recorder.load_for(asking)
                return found if found is not None and found.task.runs[found.run].is_open else None
            asking = self._starter_of(asking)
        return None

    def _starter_of(self, execution: Execution) -> Execution | None:
        for pause in (*_HISTORY_PAUSES, None):
            try:
                return self.starters.starter_of(execution)
            except StarterUnproven:
                if pause is not None:
                    self.engine.recorder.clock.sleep(pause)
        return None


def _checked(question: Question) -> Asked:
    if not isinstance(question.key, str) or not KEY_PATTERN.fullmatch(question.key):
        raise InvalidQuestion("its key must be 1 to 64 of the characters A-Z a-z 0-9 _ . -")
    return asked_of(question.given)


def _asking_of(question: Question, at: datetime) -> AskingState:
    """Return what is asked: the same for each retry of a state."""
    entered = question.state_entered if isinstance(question.state_entered, str) else None
    entered = entered if entered and entered.isascii() else None
    execution = question.execution
    asked = [execution.state_machine_arn, execution.name, question.key, question.given, entered]
    # To another audience, it is another question.
    text = write(asked if question.audience is None else [*asked, question.audience])
    return AskingState(hashlib.blake2b(text.encode(), digest_size=16).hexdigest(), at, has_entry=entered is not None)


def _timeout(question: Question) -> timedelta | None:
    seconds = question.timeout_seconds
    if seconds is None:
        return None
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 < seconds <= LONGEST_TIMEOUT:
        raise InvalidQuestion(f"timeout_seconds must be a number from 0 to {LONGEST_TIMEOUT}")
    return timedelta(seconds=seconds)


def _fault(task: Task, question: Question, directed: Directed, *, is_recorded: bool) -> tuple[str, str] | None:
    """Return the error name and the cause with which the state fails; None if the task takes the question."""
    if task.has_ended:
        return NOT_SUPPORTED, "The task has ended, so the question cannot be answered."
    mode = mode_of(directed.asked)
    if directed.audience.is_caller and mode not in task.origin.modes:
        kind = f"elicitation in mode {mode.value!r}" if mode in ELICITATION_MODES else mode.value
        return NOT_SUPPORTED, f"The client that called the tool does not support {kind}."
    if is_recorded:
        return None
    if len(task.inputs.used_keys) >= MOST_QUESTIONS:
        return INVALID, f"The task has asked {MOST_QUESTIONS} questions, the most that a task may ask."
    to, audience = Callback(question.token), directed.audience
    request = InputRequest(question.key, MOST_QUESTIONS, directed.asked, to, audience=audience)
    if sum(map(_size, (*task.questions, request))) > LARGEST_OPEN:
        return INVALID, f"The open questions of the task would be larger than {LARGEST_OPEN} bytes of JSON together."
    return None


def _is_recorded(task: Task, token: str) -> bool:
    """Tell whether the question is recorded already, and open or answered."""
    waiting = any(one.destination == Callback(token) for one in task.questions)
    return waiting or any(one.token == token for one in task.inputs.undelivered)


def _size(request: InputRequest) -> int:
    """Return the size of a question in a task's item, with its number and expiry."""
    token = request.destination.token if isinstance(request.destination, Callback) else ""
    written = write([request.key, params_of(request.asked), token, request.refusal])
    return len(written.encode()) + len(encode(request.audience).encode()) + _NUMBER_AND_TIME
