"""Take the answers of callers: hold them against the questions, record them, deliver them.

Recorded, then delivered: an answer that was acknowledged is never lost, because the next reader delivers it. A wrong
answer changes nothing; its question stays open. What nobody asked, or what has been answered, is ignored (X16).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from stepwire.errors import InvalidInput, StartRefusedForNow, StartUnclear
from stepwire.json_text import Json, read_back, write
from stepwire.principal import Principal
from stepwire.recorder import Recorder
from stepwire.tasks.events import InputAnswered, InputRefused, WorkConfirmed, WorkDeclined
from stepwire.tasks.inputs import (
    Action,
    Answer,
    Callback,
    InputRequest,
    InputResponse,
    InvalidResponse,
    Unanswerable,
    UndeliveredAnswer,
    WorkflowInput,
    response_of,
)
from stepwire.tasks.outcomes import tool_error
from stepwire.tasks.task import LARGEST_INPUT, Task, ToolResult
from stepwire.upkeep import NOT_SUPPORTED, Upkeep

# With what else an item may hold at that time, it stays below DynamoDB's 409,600 bytes.
LARGEST_UNDELIVERED: Final = 45_000  # bytes, with the tokens of the states that wait for them

_REFUSALS: Final = {
    Action.DECLINE: "The user declined, and nothing was started.",
    Action.CANCEL: "The user dismissed the question without an answer, and nothing was started.",
}
_UNASKED: Final = "The client cannot ask its user, so nothing was started."


Permit: TypeAlias = Callable[[Task], None]
"""Raises where a caller may not answer the questions of a task."""


@dataclass(frozen=True)
class Dialogue:
    """Records what callers answer."""

    recorder: Recorder
    upkeep: Upkeep
    report: Callable[[Exception], None]

    def respond(
        self, owner: Principal, task_id: object, responses: Mapping[str, Json], permit: Permit | None = None
    ) -> Task:
        """Take answers, by the keys of their questions: all of them, or none where one is wrong.

        Raises:
            UnknownTask: no such task for this caller.
            InvalidInput: an answer is not what was asked for, or all together are too large.
        """
        task = self.recorder.known(owner, task_id)
        if permit is not None:
            permit(task)
        asked = [one for one in task.input_requests if one.key in responses]
        return self._recorded(task, {one.key: read_answer(one, responses[one.key]) for one in asked})

    def give_up(self, owner: Principal, task_id: object, key: str) -> Task:
        """Take note that a client cannot ask its user after all.

        Raises:
            UnknownTask: no such task for this caller.
        """
        task = self.recorder.known(owner, task_id)
        return self._recorded(task, {one.key: Unanswerable() for one in task.input_requests if one.key == key})

    def ask_again(self, task: Task, key: str, explanation: str) -> None:
        """Ask anew, because the answer was wrong: for clients that are asked once and not shown what is open."""
        self.recorder.record(task, InputRefused(key, explanation))

    def _recorded(self, task: Task, answers: Mapping[str, Answer]) -> Task:
        if not answers:
            return task
        confirmation = next((one for one in task.input_requests if isinstance(one.destination, WorkflowInput)), None)
        if confirmation is not None:
            return self._decided(task, confirmation, answers[confirmation.key])
        _check_size(task, answers)
        recorded = self.recorder.record(task, InputAnswered(answers)) or task
        return self.upkeep.delivered(recorded)

    def _decided(self, task: Task, confirmation: InputRequest, answer: Answer) -> Task:
        if not isinstance(answer, InputResponse) or answer.action is not Action.ACCEPT:
            return self.recorder.record(task, WorkDeclined(declined(answer))) or task
        waited = self.recorder.now() - task.created_at
        confirmed = WorkConfirmed(_input_of(task, confirmation, answer), waited)
        begun = self.recorder.record(task, confirmed) or task
        if begun.has_ended or begun.awaits_confirmation:
            return begun
        try:
            return self.upkeep.started(begun)
        except (StartUnclear, StartRefusedForNow) as error:
            self.report(error)
            return begun  # the next reader starts it


def read_answer(request: InputRequest, value: Json) -> InputResponse:
    """Read the answer to a question.

    Raises:
        InvalidInput: it is not what was asked for.
    """
    try:
        return response_of(request.elicitation, value)
    except InvalidResponse as error:
        raise InvalidInput(
            f"The answer to {request.key!r} was not accepted, and can be given again: {error}."
        ) from None


def declined(answer: Answer) -> ToolResult:
    """Say that the user did not want it."""
    words = _REFUSALS.get(answer.action, _UNASKED) if isinstance(answer, InputResponse) else _UNASKED
    return tool_error(words)


def merged(input_text: str, member: str | None, answer: InputResponse) -> str:
    """Put what the user answered into a workflow's input.

    Raises:
        InvalidInput: Step Functions does not take so much.
    """
    if member is None:
        return input_text
    text = write({**read_back(input_text), member: read_back(answer.content or "{}")})
    if len(text.encode()) > LARGEST_INPUT:
        raise InvalidInput(f"The answer and the arguments together are larger than {LARGEST_INPUT} bytes of JSON.")
    return text


def _input_of(task: Task, confirmation: InputRequest, answer: InputResponse) -> str:
    member = confirmation.destination.member if isinstance(confirmation.destination, WorkflowInput) else None
    return merged(task.work.input, member, answer)


def _check_size(task: Task, answers: Mapping[str, Answer]) -> None:
    given = (
        UndeliveredAnswer(one.destination.token, answers[one.key])
        for one in task.input_requests
        if one.key in answers and isinstance(one.destination, Callback)
    )
    if sum(map(_size, (*task.inputs.undelivered, *given))) > LARGEST_UNDELIVERED:
        raise InvalidInput(f"The answers are larger than {LARGEST_UNDELIVERED} bytes together: give fewer at a time.")


def _size(one: UndeliveredAnswer) -> int:
    answer = one.answer.text() if isinstance(one.answer, InputResponse) else NOT_SUPPORTED
    return len(one.token) + len(answer.encode())
