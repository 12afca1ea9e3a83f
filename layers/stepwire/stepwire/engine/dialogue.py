"""Process callers' answers: validate them against the questions, record them, deliver them.

An answer is recorded before it is delivered, so an acknowledged answer is never lost: the next reader of the task
delivers it. A wrong answer is not an error, because some clients give up a task, or their whole session, on an error;
its question is asked again under another key and number, with what was wrong (`Dialogue.ask_again`). Answers without
an open question are ignored (X16).
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from stepwire.audit import AuditAction
from stepwire.engine.recorder import Recorder
from stepwire.engine.upkeep import NOT_SUPPORTED, Upkeep
from stepwire.json_text import Json, load_json, write
from stepwire.principal import Principal
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
from stepwire.tasks.task import LARGEST_INPUT, Task, ToolResult, tool_error

# Together with everything else that an item may hold at that time, it stays below DynamoDB's 409,600 bytes.
LARGEST_UNDELIVERED: Final = 45_000  # bytes of undelivered answers, with their task tokens

_REFUSALS: Final = {
    Action.DECLINE: "The user declined, and nothing was started.",
    Action.CANCEL: "The user dismissed the question without an answer, and nothing was started.",
}
_UNASKED: Final = "The client cannot ask its user, so nothing was started."


Permit: TypeAlias = Callable[[Task], None]
"""Raises if the caller may not answer the questions of the task."""


class WrongAnswer(Struct, frozen=True):
    """An answer that does not conform to its question."""

    reason: str
    """What is wrong with it, and what would be right."""


class Dialogue(Struct, frozen=True):
    """Records and delivers callers' answers."""

    recorder: Recorder
    upkeep: Upkeep
    report: Callable[[Exception], None]

    def respond(
        self, owner: Principal, task_id: object, responses: Mapping[str, Json], permit: Permit | None = None
    ) -> Task:
        """Record and deliver valid answers, given by the keys of their questions, and ask again after invalid ones.

        Raises:
            UnknownTask: the caller has no such task.
        """
        task = self.recorder.require(owner, task_id)
        if permit is not None:
            permit(task)
        read = {one.key: read_answer(one, responses[one.key]) for one in task.input_requests if one.key in responses}
        answers = {key: answer for key, answer in read.items() if not isinstance(answer, WrongAnswer)}
        wrong = {key: answer for key, answer in read.items() if isinstance(answer, WrongAnswer)}
        return self.ask_again(self._record(task, answers), wrong)

    def mark_unanswerable(self, owner: Principal, task_id: object, key: str) -> Task:
        """Record that a client cannot answer a question, although it declared that it can.

        Raises:
            UnknownTask: the caller has no such task.
        """
        task = self.recorder.require(owner, task_id)
        return self._record(task, {one.key: Unanswerable() for one in task.input_requests if one.key == key})

    def ask_again(self, task: Task, wrong: Mapping[str, WrongAnswer]) -> Task:
        """Ask questions again, by their keys. Both eras handle every wrong answer to a task's question here."""
        if not wrong:
            return task
        self.recorder.note(AuditAction.REFUSED, task, WrongAnswer.__name__)
        refused = InputRefused({key: answer.reason for key, answer in wrong.items()})
        return self.recorder.record(task, refused) or task

    def _record(self, task: Task, answers: Mapping[str, Answer]) -> Task:
        if not answers:
            return task
        confirmation = next((one for one in task.input_requests if isinstance(one.destination, WorkflowInput)), None)
        if confirmation is not None:
            return self._decide(task, confirmation, answers[confirmation.key])
        if _undelivered_size(task, answers) > LARGEST_UNDELIVERED:
            reason = f"the answers are larger than {LARGEST_UNDELIVERED} bytes together: give fewer at a time"
            return self.ask_again(task, dict.fromkeys(answers, WrongAnswer(reason)))
        recorded = self.recorder.record(task, InputAnswered(answers)) or task
        return self.upkeep.after_delivery(recorded)

    def _decide(self, task: Task, confirmation: InputRequest, answer: Answer) -> Task:
        if not isinstance(answer, InputResponse) or answer.action is not Action.ACCEPT:
            return self.recorder.record(task, WorkDeclined(declined_result(answer))) or task
        member = confirmation.destination.member if isinstance(confirmation.destination, WorkflowInput) else None
        terms = self.recorder.store.parts.terms_of(task)
        input_text = merged_input(terms.input, member, answer)
        if isinstance(input_text, WrongAnswer):
            return self.ask_again(task, {confirmation.key: input_text})
        confirmed = WorkConfirmed(replace(terms, input=input_text), self.recorder.clock.now() - task.created_at)
        begun = self.recorder.advanced(task, confirmed)
        return task if begun is None else self.upkeep.runs.perform(begun)


def read_answer(request: InputRequest, value: Json) -> InputResponse | WrongAnswer:
    """Return the validated answer to a question, or why it is wrong."""
    try:
        return response_of(request.asked, value)
    except InvalidResponse as error:
        return WrongAnswer(str(error))


def declined_result(answer: Answer) -> ToolResult:
    """Return the tool result of a call that the user did not confirm."""
    action = answer.action if isinstance(answer, InputResponse) else None
    return tool_error(_UNASKED if action is None else _REFUSALS.get(action, _UNASKED))


def merged_input(
    input_text: str, member: str | None, answer: InputResponse, room: int = LARGEST_INPUT
) -> str | WrongAnswer:
    """Return the workflow's input with the user's answer in it; a wrong answer if that is larger than `room` bytes."""
    if member is None:
        return input_text
    text = write({**load_json(input_text), member: load_json(answer.content or "{}")})
    if len(text.encode()) > room:
        return WrongAnswer(f"the answer and the arguments together are larger than {room} bytes of JSON")
    return text


def _undelivered_size(task: Task, answers: Mapping[str, Answer]) -> int:
    given = (
        UndeliveredAnswer(one.destination.token, answers[one.key])
        for one in task.input_requests
        if one.key in answers and isinstance(one.destination, Callback)
    )
    return sum(map(size_of_undelivered, (*task.inputs.undelivered, *given)))


def size_of_undelivered(one: UndeliveredAnswer) -> int:
    """Return the bytes that an undelivered answer takes in a task's item."""
    answer = one.answer.text() if isinstance(one.answer, InputResponse) else NOT_SUPPORTED
    return len(one.token) + len(answer.encode())
