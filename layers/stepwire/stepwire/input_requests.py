"""Bring the questions of workflows to their tasks.

A state asks with a callback token and waits. Either its question is in the task when this returns, or the state has
failed with a name that its author can catch; a question that nobody could ever answer is not left waiting. Asking the
same again, with the same token, changes nothing.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from stepwire.json_text import Json, write
from stepwire.ports import Workflows
from stepwire.recorder import Recorder
from stepwire.tasks.events import InputRequested
from stepwire.tasks.ids import task_key_of
from stepwire.tasks.inputs import (
    KEY_PATTERN,
    MOST_QUESTIONS,
    Callback,
    Elicitation,
    InputRequest,
    InvalidElicitation,
    elicitation_of,
    mode_of,
    params_of,
)
from stepwire.tasks.task import Execution, Task
from stepwire.upkeep import NOT_SUPPORTED

INVALID: Final = "Stepwire.InvalidInputRequest"
"""The error with which a state fails whose question is none that can be asked."""
# With what else an item may hold at that time, it stays below DynamoDB's 409,600 bytes.
LARGEST_OPEN: Final = 50_000  # bytes of JSON, of all questions that are open
LONGEST_TIMEOUT: Final = 31_622_400  # seconds; as long as an execution may run
_NUMBER_AND_TIME: Final = 40  # bytes


@dataclass(frozen=True)
class Question:
    """What a state asks."""

    execution: Execution
    token: str
    key: Json
    elicitation: Json
    timeout_seconds: Json = None
    """How long the state waits; None: not known."""


@dataclass(frozen=True)
class InputRequests:
    """Records what workflows ask."""

    recorder: Recorder
    workflows: Workflows

    def record(self, question: Question) -> None:
        """Record a question in its task, or let the state that asks it fail.

        Raises:
            WorkflowsUnavailable: neither was possible.
        """
        try:
            elicitation, timeout = _checked(question), _timeout(question)
        except InvalidElicitation as error:
            self.workflows.break_off(question.token, INVALID, f"The input request cannot be asked: {error}.")
            return
        task = self._task(question.execution)
        refusal = _refusal(task, elicitation)
        if task is None or refusal is not None:
            self.workflows.break_off(question.token, NOT_SUPPORTED, refusal or "")
            return
        if _knows(task, question.token):
            return
        full = _fullness(task, question, elicitation)
        if full is not None:
            self.workflows.break_off(question.token, INVALID, full)
            return
        expires_at = None if timeout is None else self.recorder.now() + timeout
        self.recorder.record(task, InputRequested(question.key, elicitation, Callback(question.token), expires_at))

    def _task(self, execution: Execution) -> Task | None:
        key = task_key_of(execution.name)
        task = self.recorder.load(key) if key else None
        return task if task is not None and task.execution == execution else None


def _checked(question: Question) -> Elicitation:
    if not isinstance(question.key, str) or not KEY_PATTERN.fullmatch(question.key):
        raise InvalidElicitation("its key must be 1 to 64 of the characters A-Z a-z 0-9 _ . -")
    return elicitation_of(question.elicitation)


def _timeout(question: Question) -> timedelta | None:
    seconds = question.timeout_seconds
    if seconds is None:
        return None
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 < seconds <= LONGEST_TIMEOUT:
        raise InvalidElicitation(f"timeout_seconds must be a number from 0 to {LONGEST_TIMEOUT}")
    return timedelta(seconds=seconds)


def _refusal(task: Task | None, elicitation: Elicitation) -> str | None:
    """Say why nobody can answer; None where somebody can."""
    if task is None:
        return "The execution belongs to no task, so there is nobody to ask."
    if task.has_ended:
        return "The task has ended, so nobody is asked any more."
    mode = mode_of(elicitation)
    if mode not in task.origin.modes:
        return f"The client that called the tool cannot be asked for input in mode {mode.value!r}."
    return None


def _knows(task: Task, token: str) -> bool:
    """Tell whether a question was asked before, and waits for its answer or has got it."""
    waiting = any(one.destination == Callback(token) for one in task.input_requests)
    return waiting or any(one.token == token for one in task.inputs.undelivered)


def _fullness(task: Task, question: Question, elicitation: Elicitation) -> str | None:
    if len(task.inputs.used_keys) >= MOST_QUESTIONS:
        return f"The task has asked {MOST_QUESTIONS} questions; it may ask no more."
    asked = InputRequest(question.key, MOST_QUESTIONS, elicitation, Callback(question.token))
    if sum(map(_size, (*task.input_requests, asked))) > LARGEST_OPEN:
        return f"The open questions of the task would be larger than {LARGEST_OPEN} bytes of JSON together."
    return None


def _size(request: InputRequest) -> int:
    """Count what a question takes in a task's item, with its number and its time."""
    token = request.destination.token if isinstance(request.destination, Callback) else ""
    written = write([request.key, params_of(request.elicitation), token, request.refusal])
    return len(written.encode()) + _NUMBER_AND_TIME
