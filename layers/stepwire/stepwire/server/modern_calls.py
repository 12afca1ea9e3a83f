"""`tools/call` of 2026-07-28: as a task if client and tool support it, else in rounds (MRTR).

A round is one short request and response. While the workflow runs or asks something, a client that called without a
task gets an InputRequiredResult, and calls again with its requestState: that continues the same task and starts
nothing new. A client that may not take rounds gets an unfinished result instead (decision 51). A tool that needs a
confirmation asks for it before the task exists (X9).
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stepwire.catalog.tools import Confirmation, TaskSupport, Tool
from stepwire.engine.arguments import checked_arguments, room_for_arguments
from stepwire.engine.dialogue import WrongAnswer, declined_result, merged_input, read_answer
from stepwire.engine.idempotency import Begun, idempotency_key_of
from stepwire.engine.operations import ToolCall, confirmation_request
from stepwire.errors import MissingClientCapability
from stepwire.json_text import Json, JsonObject, as_object, load_json, write
from stepwire.protocol import params as read
from stepwire.protocol.messages import notification_text, result_text
from stepwire.protocol.parameter_headers import check_parameter_headers
from stepwire.protocol.request_state import is_sealed
from stepwire.protocol.sse import ServerSentEvent, body_of
from stepwire.protocol.tracing import trace_header_of
from stepwire.protocol.versions import TASKS_EXTENSION
from stepwire.rendering import (
    complete_result,
    mark_repeated,
    modern_requests,
    modern_result,
    modern_task,
    naming_card,
    progress_params,
)
from stepwire.server import fetch_tools
from stepwire.server.continuations import Continuation, Kind, Subject, issue, redeem
from stepwire.server.fetch_tools import Era, FetchTool
from stepwire.server.kit import SERVER_INFO, Call, Kit, Reply, Stream
from stepwire.server.tool_calls import (
    answer_or_raise,
    arguments_of,
    declares_tasks,
    may_give_up_soon,
    missing_capabilities,
    permit,
    rejection,
    run_express,
    shows_card,
    takes_rounds,
    tool_of,
)
from stepwire.server.unfinished import modes_for, stops_waiting, unfinished, unfinished_unread
from stepwire.tasks.ids import TaskId, created_at_of
from stepwire.tasks.inputs import LONGEST_CONFIRMATION, Action, Mode
from stepwire.tasks.outcomes import tool_error
from stepwire.tasks.task import LONGEST_TTL, Origin, Task

TASKS_CAPABILITY: Final[JsonObject] = {"extensions": {TASKS_EXTENSION: {}}}
# Clients give up after ten rounds, and questions may use some of them.
MOST_ROUNDS_WITHOUT_QUESTIONS: Final = 6


def call_tool(kit: Kit, call: Call) -> Reply:
    """Start a call of a tool, or continue one by its requestState."""
    own = fetch_tools.find(kit, call)
    if own is not None:
        return _call_own_tool(kit, call, own)
    tool = tool_of(kit, call)
    arguments = arguments_of(call)
    check_parameter_headers(call.headers, tool.parameter_headers, arguments)
    state = read.optional_text(call.params, "requestState")
    responses = read.optional_object(call.params, "inputResponses") or {}
    _check_capabilities(tool, call)
    checked = checked_arguments(tool, arguments, kit.operations.limits.argument_bytes, call.caller)
    if checked.faults:
        return modern_result(tool_error(rejection(tool.name, checked.faults)))
    tool_call = _ParsedCall(kit, call, tool, arguments, checked.complete, responses)
    if tool.is_express and state is None:
        return tool_call.run()
    return tool_call.start() if state is None else tool_call.resume(state)


def _call_own_tool(kit: Kit, call: Call, tool: FetchTool) -> Reply:
    """Run a tool of Stepwire's own; a question makes the call one in rounds (MRTR)."""
    subject = Subject(call.owner, tool.name, arguments_of(call))

    def ask(task: Task) -> Reply:
        state = issue(Continuation(Kind.FOLLOW, task.task_id), subject, task.expires_at, kit.secret())
        requests = modern_requests(task.input_requests, call.modes)
        return {"resultType": "input_required", "inputRequests": requests, "requestState": state}

    return fetch_tools.run(kit, call, tool, Era(modern_result, ask, lambda task: _answered(kit, call, task, subject)))


def _answered(kit: Kit, call: Call, task: Task, subject: Subject) -> Task:
    """Return the task with the answers that the client brings to what it was asked before."""
    state = read.optional_text(call.params, "requestState")
    responses = read.optional_object(call.params, "inputResponses") or {}
    if state is None or not responses:
        return task
    continuation = redeem(state, subject, kit.now(), _secret_of(kit, state))
    return kit.dialogue.respond(call.owner, continuation.task_id, responses, permit(kit, call.scopes))


class _ParsedCall(Struct, frozen=True):
    """A `tools/call` whose parameters have been read and checked."""

    kit: Kit
    call: Call
    tool: Tool
    sent: JsonObject
    """The arguments as the client sends them in each round."""
    arguments: JsonObject
    """The arguments with all defaults."""
    responses: Mapping[str, Json]

    def start(self) -> Reply:
        """Start the workflow, or ask for the confirmation that the tool needs."""
        call, operations, confirmation = self._tool_call(self.arguments), self.kit.operations, self.tool.confirmation
        if confirmation is None:
            return self._started(operations.idempotently(call, lambda task_id: operations.call(call, task_id)))
        if self._confirms_on_card:
            return self._started(
                operations.idempotently(
                    call, lambda task_id: operations.call_after_confirmation(call, confirmation, task_id)
                )
            )
        known = operations.task_of_key(call)
        return self._ask(confirmation) if known is None else self._started(Begun(known, is_repeat=True))

    def run(self) -> Reply:
        """Run a state machine of type EXPRESS to its end."""
        return modern_result(run_express(self.kit, self.call, self._tool_call(self.arguments)))

    def resume(self, state: str) -> Reply:
        """Continue the call that a requestState holds."""
        kit, subject = self.kit, self._subject
        continuation = redeem(state, subject, kit.now(), _secret_of(kit, state))
        if continuation.kind is Kind.CONFIRM and self.tool.confirmation is not None:
            return self._confirmed(continuation, self.tool.confirmation)
        kit.polls.check(self.call.owner, continuation.task_id)
        try:
            return kit.repeatedly(
                lambda: self._next_round(self._task_of(continuation), continuation), self.call.deadline
            )
        except Exception as fault:
            if not kit.is_weather(fault):
                raise
            kit.report(fault)
            return self._round_unread(continuation)

    def _task_of(self, continuation: Continuation) -> Task:
        owner, task_id = self.call.owner, continuation.task_id
        if self.responses:
            return self.kit.dialogue.respond(owner, task_id, self.responses)
        return self.kit.operations.get(owner, task_id)

    def _round_unread(self, so_far: Continuation) -> JsonObject:
        """Answer a round whose task cannot be read now: after an error the client would have lost the call."""
        task_id = TaskId(so_far.task_id)
        if so_far.rounds >= MOST_ROUNDS_WITHOUT_QUESTIONS:
            return modern_result(unfinished_unread(task_id, is_repeat=so_far.is_repeat))
        until = created_at_of(task_id) + LONGEST_TTL
        return {
            "resultType": "input_required",
            "requestState": self._issued(replace(so_far, rounds=so_far.rounds + 1), until),
        }

    @property
    def _is_task(self) -> bool:
        return declares_tasks(self.call) and self.tool.task_support is not TaskSupport.FORBIDDEN

    @property
    def _shows_card(self) -> bool:
        return shows_card(self.call, self.tool)

    @property
    def _confirms_on_card(self) -> bool:
        # A client with tasks that can ask its user does so, as any other client with tasks.
        return self._shows_card and not (self._is_task and Mode.FORM in self.call.modes)

    @property
    def _modes(self) -> frozenset[Mode]:
        return modes_for(self.kit, self.call, self.tool, is_followed=self._is_task or takes_rounds(self.call))

    def _requests(self, task: Task) -> JsonObject:
        return modern_requests(task.input_requests, self.call.modes) if takes_rounds(self.call) else {}

    @property
    def _subject(self) -> Subject:
        return Subject(self.call.owner, self.tool.name, self.sent)

    def _tool_call(self, arguments: JsonObject) -> ToolCall:
        # The key identifies the call as its caller made it, without the user's answer.
        key = idempotency_key_of(self.call.idempotency_key, self.tool, self.sent, self.arguments)
        origin, trace = Origin(self._modes), trace_header_of(self.call.params)
        call = self.call
        return ToolCall(call.owner, self.tool, arguments, None, origin, trace, key, call.claims, self._shows_card)

    def _started(self, begun: Begun) -> Reply:
        task, is_repeat = begun.task, begun.is_repeat
        if self._is_task:
            result: JsonObject = {**modern_task(task, self.kit.now()), "resultType": "task"}
            shown = naming_card(result, task.task_id) if self._shows_card else result
            return mark_repeated(shown, is_repeat=is_repeat)
        if self._shows_card:
            from stepwire.server.cards import first_result  # noqa: PLC0415 - most hosts show no cards

            return mark_repeated(modern_result(first_result(self.kit, self.call, begun)), is_repeat=is_repeat)
        return self._next_round(task, Continuation(Kind.FOLLOW, task.task_id, is_repeat=is_repeat))

    def _takes_rounds(self, so_far: Continuation) -> bool:
        return so_far.rounds > 0 or takes_rounds(self.call)  # it has come back for this one

    def _ask(self, confirmation: Confirmation, wrong: WrongAnswer | None = None) -> JsonObject:
        # M46: a missing or wrong answer makes the question be asked again; an answer counts only with its requestState.
        refusal = None if wrong is None else wrong.reason
        question = replace(confirmation_request(confirmation, self.arguments), refusal=refusal)
        until = self.kit.now() + min(LONGEST_CONFIRMATION, self.tool.ttl)
        # The id is dated at the end of the confirmation: an old id without a task would pass for a call that crashed.
        continuation = Continuation(Kind.CONFIRM, self.kit.operations.new_task_id(until))
        return {
            "resultType": "input_required",
            "inputRequests": modern_requests((question,), self.call.modes),
            "requestState": self._issued(continuation, until),
        }

    def _confirmed(self, continuation: Continuation, confirmation: Confirmation) -> Reply:
        if confirmation.key not in self.responses:
            return self._ask(confirmation)
        question = confirmation_request(confirmation, self.arguments)
        answer = read_answer(question, self.responses[confirmation.key])
        if isinstance(answer, WrongAnswer):
            return self._ask(confirmation, answer)
        if answer.action is not Action.ACCEPT:
            return modern_result(declined_result(answer))
        room = room_for_arguments(self.tool, self.call.caller)
        input_text = merged_input(write(self.arguments), confirmation.input_key, answer, room)
        if isinstance(input_text, WrongAnswer):
            return self._ask(confirmation, input_text)
        arguments = as_object(load_json(input_text))
        call, operations = self._tool_call(arguments), self.kit.operations
        # M46: repeating the confirmation repeats the call, and returns the same task.
        begun = operations.idempotently(
            call, lambda task_id: operations.call(call, task_id), TaskId(continuation.task_id)
        )
        return self._started(begun)

    def _next_round(self, task: Task, so_far: Continuation) -> Reply:
        seen = self._observe(task, self._patience(so_far))
        notes, progress_sent = self._progress_notes(seen, so_far.progress_sent)
        outcome = self._outcome(seen[-1], replace(so_far, progress_sent=progress_sent))
        result = mark_repeated(outcome, is_repeat=so_far.is_repeat)
        if not notes:
            return result
        text = result_text(self.call.message_id, complete_result(result, SERVER_INFO))
        return Stream(body_of([*notes, ServerSentEvent(text)]))

    def _patience(self, so_far: Continuation) -> timedelta:
        longest, short = self.kit.patience.unresumable_request, self.kit.patience.possibly_short_lived
        return min(longest, short) if may_give_up_soon(self.call) and not self._takes_rounds(so_far) else longest

    def _observe(self, task: Task, patience: timedelta) -> list[Task]:
        """Return the states of a task during one round; answers that the client sent in advance are applied."""
        began, seen = self.kit.now(), [task]
        while True:
            left = patience - (self.kit.now() - began)
            seen.extend(self.kit.operations.watch(seen[-1], left, self._needs_client, self.call.deadline))
            given = {one.key: self.responses[one.key] for one in seen[-1].input_requests if one.key in self.responses}
            if not given:
                return seen
            seen.append(self.kit.dialogue.respond(task.owner, task.task_id, given))
            if seen[-1].inputs.asked > seen[-2].inputs.asked:
                return seen  # each further wrong answer in advance would cost a write

    def _needs_client(self, task: Task) -> bool:
        return stops_waiting(self.kit, self.call)(task) or bool(self._requests(task))

    def _progress_notes(self, seen: list[Task], progress_sent: float) -> tuple[list[ServerSentEvent], float]:
        """Return notifications of progress not sent in any round yet, and the progress that is sent with them."""
        token = read.progress_token(self.call.params)
        notes: list[ServerSentEvent] = []
        if token is None or not self.call.headers.accepts_events:
            return notes, progress_sent
        for task in seen:
            if task.progress is not None and task.progress.done > progress_sent:
                progress_sent = task.progress.done
                message = None if task.has_ended else task.status.message
                params = progress_params(task.progress, message, token)
                notes.append(ServerSentEvent(notification_text("notifications/progress", params)))
        return notes, progress_sent

    def _outcome(self, task: Task, so_far: Continuation) -> JsonObject:
        if task.has_ended:
            return modern_result(answer_or_raise(self.kit, task))
        requests = self._requests(task)
        is_last = so_far.rounds >= MOST_ROUNDS_WITHOUT_QUESTIONS or not self._takes_rounds(so_far)
        if not requests and (is_last or stops_waiting(self.kit, self.call)(task)):
            return modern_result(unfinished(self.kit, self.call, task, is_repeat=so_far.is_repeat))
        continuation = replace(so_far, rounds=so_far.rounds + 1)
        return {
            "resultType": "input_required",
            **({"inputRequests": requests} if requests else {}),
            "requestState": self._issued(continuation, task.expires_at),
        }

    def _issued(self, continuation: Continuation, until: datetime) -> str:
        return issue(continuation, self._subject, until, self.kit.secret())


def _secret_of(kit: Kit, state: str) -> bytes:
    """Return the key that signed a requestState: after a rotation, not always the one that this instance has."""
    secret = kit.secret()
    if is_sealed(state, secret):
        return secret
    return next((other for other in kit.other_secrets() if is_sealed(state, other)), secret)


def _check_capabilities(tool: Tool, call: Call) -> None:
    missing = missing_capabilities(tool, call)
    if missing:  # M19
        needed = ", ".join(sorted(missing))
        raise MissingClientCapability(f"The tool {tool.name} needs the client capabilities: {needed}.", missing)
    if tool.task_support is TaskSupport.REQUIRED and not declares_tasks(call):  # X3
        message = f"The tool {tool.name} runs as a task only: declare the extension {TASKS_EXTENSION}."
        raise MissingClientCapability(message, TASKS_CAPABILITY)
