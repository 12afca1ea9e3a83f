"""Take the answers of callers: hold them against the questions, record them, deliver them.

Recorded, then delivered: an answer that was acknowledged is never lost, because the next reader delivers it. A wrong
answer is no error, for some clients give up a task, or their whole session, on one: its question is asked again under
another key and number, with what was wrong (`Dialogue.ask_again`). What nobody asked, or what has been answered, is
ignored (X16).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from stepwire.audit import Action as AuditAction
from stepwire.audit import Entry
from stepwire.errors import StartRefusedForNow, StartUnclear
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
class WrongAnswer:
    """An answer that is not what was asked for."""

    reason: str
    """What is wrong, and what would be right."""


@dataclass(frozen=True)
class Dialogue:
    """Records what callers answer."""

    recorder: Recorder
    upkeep: Upkeep
    report: Callable[[Exception], None]

    def respond(
        self, owner: Principal, task_id: object, responses: Mapping[str, Json], permit: Permit | None = None
    ) -> Task:
        """Take answers, by the keys of their questions; what was answered wrongly is asked again.

        Raises:
            UnknownTask: no such task for this caller.
        """
        task = self.recorder.known(owner, task_id)
        if permit is not None:
            permit(task)
        read = {one.key: read_answer(one, responses[one.key]) for one in task.input_requests if one.key in responses}
        answers = {key: answer for key, answer in read.items() if not isinstance(answer, WrongAnswer)}
        wrong = {key: answer for key, answer in read.items() if isinstance(answer, WrongAnswer)}
        return self.ask_again(self._recorded(task, answers), wrong)

    def give_up(self, owner: Principal, task_id: object, key: str) -> Task:
        """Take note that a client cannot ask its user after all.

        Raises:
            UnknownTask: no such task for this caller.
        """
        task = self.recorder.known(owner, task_id)
        return self._recorded(task, {one.key: Unanswerable() for one in task.input_requests if one.key == key})

    def ask_again(self, task: Task, wrong: Mapping[str, WrongAnswer]) -> Task:
        """Ask questions again, by their keys. Every wrong answer of both eras to a question of a task comes here."""
        if not wrong:
            return task
        self.recorder.audit(Entry(AuditAction.REFUSED, task.owner, task.work.tool, task.task_id, WrongAnswer.__name__))
        refused = InputRefused({key: answer.reason for key, answer in wrong.items()})
        return self.recorder.record(task, refused) or task

    def _recorded(self, task: Task, answers: Mapping[str, Answer]) -> Task:
        if not answers:
            return task
        confirmation = next((one for one in task.input_requests if isinstance(one.destination, WorkflowInput)), None)
        if confirmation is not None:
            return self._decided(task, confirmation, answers[confirmation.key])
        if _undelivered_size(task, answers) > LARGEST_UNDELIVERED:
            reason = f"the answers are larger than {LARGEST_UNDELIVERED} bytes together: give fewer at a time"
            return self.ask_again(task, dict.fromkeys(answers, WrongAnswer(reason)))
        recorded = self.recorder.record(task, InputAnswered(answers)) or task
        return self.upkeep.delivered(recorded)

    def _decided(self, task: Task, confirmation: InputRequest, answer: Answer) -> Task:
        if not isinstance(answer, InputResponse) or answer.action is not Action.ACCEPT:
            return self.recorder.record(task, WorkDeclined(declined(answer))) or task
        member = confirmation.destination.member if isinstance(confirmation.destination, WorkflowInput) else None
        input_text = merged(task.work.input, member, answer)
        if isinstance(input_text, WrongAnswer):
            return self.ask_again(task, {confirmation.key: input_text})
        confirmed = WorkConfirmed(input_text, self.recorder.now() - task.created_at)
        begun = self.recorder.record(task, confirmed) or task
        if begun.has_ended or begun.awaits_confirmation:
            return begun
        try:
            return self.upkeep.started(begun)
        except (StartUnclear, StartRefusedForNow) as error:
            self.report(error)
            return begun  # the next reader starts it


def read_answer(request: InputRequest, value: Json) -> InputResponse | WrongAnswer:
    """Read the answer to a question."""
    try:
        return response_of(request.elicitation, value)
    except InvalidResponse as error:
        return WrongAnswer(str(error))


def declined(answer: Answer) -> ToolResult:
    """Say that the user did not want it."""
    words = _REFUSALS.get(answer.action, _UNASKED) if isinstance(answer, InputResponse) else _UNASKED
    return tool_error(words)


def merged(input_text: str, member: str | None, answer: InputResponse) -> str | WrongAnswer:
    """Put what the user answered into a workflow's input; wrong is an answer with which it gets too large."""
    if member is None:
        return input_text
    text = write({**read_back(input_text), member: read_back(answer.content or "{}")})
    if len(text.encode()) > LARGEST_INPUT:
        return WrongAnswer(f"the answer and the arguments together are larger than {LARGEST_INPUT} bytes of JSON")
    return text


def _undelivered_size(task: Task, answers: Mapping[str, Answer]) -> int:
    given = (
        UndeliveredAnswer(one.destination.token, answers[one.key])
        for one in task.input_requests
        if one.key in answers and isinstance(one.destination, Callback)
    )
    return sum(map(_size, (*task.inputs.undelivered, *given)))


def _size(one: UndeliveredAnswer) -> int:
    answer = one.answer.text() if isinstance(one.answer, InputResponse) else NOT_SUPPORTED
    return len(one.token) + len(answer.encode())
