"""A call of 2026-07-28 in rounds (MRTR): its client is asked, waits, and gets progress and the result.

A round is one short request and response. While the workflow runs or asks something, a client that called without a
task gets an InputRequiredResult, and calls again with its requestState, which continues the same task. A client without
support for rounds gets an unfinished result instead (decision 51). A tool that needs a
confirmation asks for it before the task exists (X9).
"""

from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stepwire.catalog.tools import Confirmation
from stepwire.engine.answers import WrongAnswer, declined_result, merged_input, read_answer
from stepwire.engine.calls import Begun, ToolCall, confirmation_request, room_for_arguments
from stepwire.json_text import JsonObject, as_object, load_json, write
from stepwire.protocol.http import ServerSentEvent, body_of
from stepwire.protocol.messages import notification_text, result_text
from stepwire.protocol.tokens import Continuation, Kind, Subject, continuation_of, is_signed, state_of
from stepwire.rendering import (
    complete_result,
    mark_repeated,
    modern_requests,
    modern_result,
    next_progress,
    progress_params,
)
from stepwire.server.call import Call, Reply, Stream
from stepwire.server.results import answer_or_raise, stops_waiting, unfinished, unfinished_unread
from stepwire.server.services import Services
from stepwire.server.ways import Ask
from stepwire.tasks.answers import Action
from stepwire.tasks.ids import TaskId, created_at_of
from stepwire.tasks.inputs import LONGEST_CONFIRMATION
from stepwire.tasks.line import InLine
from stepwire.tasks.task import LONGEST_TTL, Task, ToolResult

# Clients give up after ten rounds, and questions may use some of them.
MOST_ROUNDS_WITHOUT_QUESTIONS: Final = 6


class Rounds(Struct, frozen=True, dict=True):
    """The rounds of one call."""

    services: Services
    call: Call
    tool: str

    @cached_property
    def so_far(self) -> Continuation | None:
        """The content of this round's requestState; None in the first round.

        Raises:
            InvalidRequestState: this server did not issue it for this call, or it has expired.
        """
        state = self.call.request_state
        if state is None:
            return None
        # After a rotation, this instance may not have the key that signed it.
        secret = self.services.secret()
        if not is_signed(state, secret):
            secret = next((one for one in self.services.other_secrets() if is_signed(state, one)), secret)
        return continuation_of(state, self._subject, self.services.now(), secret)

    def answer(self, begun: Begun) -> Reply:
        """Answer the round that began the task."""
        return self._next_round(begun.task, Continuation(Kind.FOLLOW, begun.task.task_id, is_repeat=begun.is_repeat))

    def resume(self, may_confirm: bool) -> Reply | None:  # noqa: FBT001 - passed by position only
        """Answer a later round; None if there is no task yet."""
        services, so_far = self.services, self.so_far
        if so_far is None or (so_far.kind is Kind.CONFIRM and may_confirm):
            return None
        services.polls.check(self.call.caller.principal, so_far.task_id, self.call.at)
        try:
            return services.repeatedly(lambda: self._next_round(self._task_of(so_far), so_far), self.call.deadline)
        except Exception as fault:
            if not services.is_weather(fault):
                raise
            services.report(fault)
            return self._round_unread(so_far)

    def confirm(self, new: ToolCall, confirmation: Confirmation) -> Begun | Reply:
        """Begin the task of a call that its user has confirmed; else ask for the confirmation.

        M46: a missing or wrong answer makes the question be asked again; an answer counts only with its requestState.
        """
        if self.so_far is None:
            known = self.services.calls.task_of_key(new)
            return self._ask(new, confirmation) if known is None else Begun(known, is_repeat=True)
        if confirmation.key not in self.call.input_responses:
            return self._ask(new, confirmation)
        question = confirmation_request(confirmation, new.arguments)
        answer = read_answer(question, self.call.input_responses[confirmation.key])
        if isinstance(answer, WrongAnswer):
            return self._ask(new, confirmation, answer)
        if answer.action is not Action.ACCEPT:
            return modern_result(declined_result(answer))
        room = room_for_arguments(new.tool, self.call.caller)
        text = merged_input(write(new.arguments), confirmation.input_key, answer, room)
        if isinstance(text, WrongAnswer):
            return self._ask(new, confirmation, text)
        confirmed = replace(new, arguments=as_object(load_json(text)))
        # M46: repeating the confirmation repeats the call, and returns the same task.
        return self.services.calls.begin(confirmed, task_id=TaskId(self.so_far.task_id))

    def question(self, task: Task) -> Reply:
        """Ask a client that called one of Stepwire's own tools a task's open questions."""
        requests = modern_requests(task.input_requests, self.call.modes)
        return self._input_required(Continuation(Kind.FOLLOW, task.task_id), task.expires_at, requests)

    def answered(self, task: Task) -> Task:
        """Return the task with the answers in a call of such a tool."""
        responses = self.call.input_responses
        if self.call.request_state is None or not responses or self.so_far is None:
            return task
        may_answer = self.services.permit(self.call.caller.scopes)
        return self.services.answers.respond(self.call.caller.principal, self.so_far.task_id, responses, may_answer)

    def ask(self, ask: Ask) -> Reply:
        """Ask the client's user for one of Stepwire's own tools; M46: an answer counts only with its requestState."""
        responses, key = self.call.input_responses, ask.request.key
        is_answered = self.so_far is not None and key in responses
        outcome = ask.take(responses[key]) if is_answered else ask
        if isinstance(outcome, ToolResult):
            return modern_result(outcome)
        outcome.put()
        requests = modern_requests((outcome.request,), self.call.modes)
        return self._input_required(Continuation(Kind.ASK, ""), outcome.until, requests)

    def _ask(self, new: ToolCall, confirmation: Confirmation, wrong: WrongAnswer | None = None) -> JsonObject:
        refusal = None if wrong is None else wrong.reason
        question = replace(confirmation_request(confirmation, new.arguments), refusal=refusal)
        until = self.services.now() + min(LONGEST_CONFIRMATION, new.tool.ttl)
        # The id has the time of the confirmation's end: an old id without a task would look like a crashed call.
        continuation = Continuation(Kind.CONFIRM, self.services.calls.new_task_id(until))
        return self._input_required(continuation, until, modern_requests((question,), self.call.modes))

    def _task_of(self, so_far: Continuation) -> Task:
        owner, responses = self.call.caller.principal, self.call.input_responses
        if responses:
            return self.services.answers.respond(owner, so_far.task_id, responses)
        return self.services.operations.get(owner, so_far.task_id)

    def _round_unread(self, so_far: Continuation) -> JsonObject:
        """Answer a round whose task cannot be read now: after an error, the client would lose the call."""
        task_id = TaskId(so_far.task_id)
        if so_far.rounds >= MOST_ROUNDS_WITHOUT_QUESTIONS:
            return modern_result(unfinished_unread(task_id, is_repeat=so_far.is_repeat))
        return self._input_required(replace(so_far, rounds=so_far.rounds + 1), created_at_of(task_id) + LONGEST_TTL)

    def _next_round(self, task: Task, so_far: Continuation) -> Reply:
        seen = self._observe(task, self._patience(so_far))
        notes, progress_sent = self._progress_notes(seen, so_far.progress_sent)
        outcome = self._outcome(seen[-1], replace(so_far, progress_sent=progress_sent))
        result = mark_repeated(outcome, is_repeat=so_far.is_repeat)
        if not notes:
            return result
        text = result_text(self.call.message_id, complete_result(result))
        return Stream(body_of([*notes, ServerSentEvent(text)]))

    def _patience(self, so_far: Continuation) -> timedelta:
        longest, short = self.services.patience.unresumable_request, self.services.patience.possibly_short_lived
        return min(longest, short) if self.call.may_give_up_soon and not self._takes_rounds(so_far) else longest

    def _takes_rounds(self, so_far: Continuation) -> bool:
        return so_far.rounds > 0 or self.call.takes_rounds  # it has come back for this one

    def _observe(self, task: Task, patience: timedelta) -> list[Task]:
        """Return the states of a task during one round; answers that the client sent in advance are applied."""
        began, seen, responses = self.services.now(), [task], self.call.input_responses
        while True:
            left = patience - (self.services.now() - began)
            seen.extend(self.services.operations.watch(seen[-1], left, self._needs_client, self.call.deadline))
            given = {one.key: responses[one.key] for one in seen[-1].input_requests if one.key in responses}
            if not given:
                return seen
            seen.append(self.services.answers.respond(task.owner, task.task_id, given))
            if seen[-1].inputs.asked > seen[-2].inputs.asked or seen[-1] == seen[-2]:
                return seen  # each further wrong answer in advance would cost a write, or for ever the same reads

    def _needs_client(self, task: Task) -> bool:
        return stops_waiting(self.services, self.call)(task) or bool(self._requests(task))

    def _requests(self, task: Task) -> JsonObject:
        return modern_requests(task.input_requests, self.call.modes) if self.call.takes_rounds else {}

    def _progress_notes(self, seen: list[Task], progress_sent: float) -> tuple[list[ServerSentEvent], float]:
        """Return notifications of progress not sent in any round yet, and the progress that is sent with them."""
        token = self.call.progress_token
        notes: list[ServerSentEvent] = []
        if token is None or not self.call.headers.accepts_events:
            return notes, progress_sent
        in_line: InLine | None = None
        for task in seen:
            made = task.progress if task.progress is not None and task.progress.done > progress_sent else None
            if task.in_line is not None and task.in_line != in_line:
                made, in_line = made or next_progress(progress_sent), task.in_line
            if made is not None:
                progress_sent = made.done
                message = None if task.has_ended else task.status.message
                params = progress_params(made, message, token, task.in_line)
                notes.append(ServerSentEvent(notification_text("notifications/progress", params)))
        return notes, progress_sent

    def _outcome(self, task: Task, so_far: Continuation) -> JsonObject:
        if task.has_ended:
            return modern_result(answer_or_raise(self.services, task))
        requests = self._requests(task)
        is_last = so_far.rounds >= MOST_ROUNDS_WITHOUT_QUESTIONS or not self._takes_rounds(so_far)
        if not requests and (is_last or stops_waiting(self.services, self.call)(task)):
            return modern_result(unfinished(self.services, self.call, task, is_repeat=so_far.is_repeat))
        return self._input_required(replace(so_far, rounds=so_far.rounds + 1), task.expires_at, requests)

    def _input_required(
        self, continuation: Continuation, until: datetime, requests: JsonObject | None = None
    ) -> JsonObject:
        return {
            "resultType": "input_required",
            **({"inputRequests": requests} if requests else {}),
            "requestState": state_of(continuation, self._subject, until, self.services.secret()),
        }

    @property
    def _subject(self) -> Subject:
        return Subject(self.call.caller.principal, self.tool, self.call.arguments)
