"""Take answers: validate them against the questions, record them, deliver them.

The caller's come through `respond`; whoever else a question is put to answers through an extra, which checks who may,
and records with `take`. An answer is recorded before it is delivered, so an acknowledged answer is never lost: the next
reader of the task delivers it. A wrong answer of a caller is not an error, because some clients give up a task, or
their whole session, on an error; its question is asked again under another key and number, with what was wrong
(`ask_again`). Answers without an open question are ignored (X16).
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from stepwire.audit import AuditAction
from stepwire.codec import encode
from stepwire.engine.recorder import Recorder
from stepwire.engine.upkeep import Upkeep
from stepwire.json_text import Json, load_json, write
from stepwire.principal import Principal
from stepwire.tasks.answers import Action, Answer, Given, InputResponse, Unanswerable
from stepwire.tasks.events import Answered, InputRefused, WorkConfirmed, WorkDeclined
from stepwire.tasks.inputs import InputRequest, InvalidResponse, WorkflowInput, response_of
from stepwire.tasks.task import LARGEST_INPUT, Task, ToolResult, tool_error

# Together with everything else that an item may hold at that time, it stays below DynamoDB's 409,600 bytes.
LARGEST_ANSWERS: Final = 90_000
"""Bytes of the answers that a task keeps, undelivered and on open questions. All those of one question fit."""

_REFUSALS: Final = {
    Action.DECLINE: "The user declined, and nothing was started.",
    Action.CANCEL: "The user dismissed the question without an answer, and nothing was started.",
    None: "The client cannot ask its user, so nothing was started.",
}


Permit: TypeAlias = Callable[[Task], None]
"""Raises if the caller may not answer the questions of the task."""


class WrongAnswer(Struct, frozen=True):
    """An answer that does not conform to its question."""

    reason: str
    """What is wrong with it, and what would be right."""


class Answers(Struct, frozen=True):
    """Records and delivers answers."""

    recorder: Recorder
    upkeep: Upkeep

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

    def take(self, task: Task, given: Mapping[int, Given], extra: str = "") -> Task | WrongAnswer | None:
        """Record answers by the numbers of their questions, and return the task; None if it no longer exists.

        `extra`: through which they come (`Answered`). They are delivered afterwards (`Upkeep.delivered`).
        """
        # One that declines without a form closes its question, and so needs no room.
        added = sum(len(encode(one).encode()) for one in given.values() if one.agrees or one.content is not None)
        if added and _size(task) + added > LARGEST_ANSWERS:
            return WrongAnswer(f"with the answers before, it is larger than {LARGEST_ANSWERS} bytes: write less")
        return self.recorder.record(task, Answered(given, extra))

    def _record(self, task: Task, answers: Mapping[str, Answer]) -> Task:
        if not answers:
            return task
        confirmation = next((one for one in task.input_requests if isinstance(one.destination, WorkflowInput)), None)
        if confirmation is not None:
            return self._decide(task, confirmation, answers[confirmation.key])
        now, numbers = self.recorder.clock.now(), {one.key: one.number for one in task.input_requests}
        taken = self.take(task, {numbers[key]: Given(task.owner, now, one) for key, one in answers.items()})
        if isinstance(taken, WrongAnswer):
            return self.ask_again(task, dict.fromkeys(answers, taken))
        return self.upkeep.delivered(taken or task)

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
    return tool_error(_REFUSALS[answer.action if isinstance(answer, InputResponse) else None])


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


def _size(task: Task) -> int:
    """Return the bytes of the answers that a task keeps, with the task tokens of the undelivered ones."""
    on_open = (encode(one) for asked in task.questions for one in asked.answers)
    undelivered = (one.token + (one.text() or "") for one in task.inputs.undelivered)
    return sum(len(text.encode()) for text in (*on_open, *undelivered))
