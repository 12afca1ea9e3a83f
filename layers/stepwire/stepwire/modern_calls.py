"""`tools/call` of 2026-07-28: as a task where client and tool can, else awaited in rounds (MRTR).

A round is one short response. A client that called without a task gets, where its work goes on or asks for something,
an InputRequiredResult, and calls again with the requestState in it: the same task then goes on, nothing starts twice.
What a tool wants confirmed is asked before there is a task (X9).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from stepwire.catalog import Confirmation, TaskSupport, Tool
from stepwire.continuations import Continuation, Kind, Subject, issue, redeem
from stepwire.dialogue import WrongAnswer, declined, merged, read_answer
from stepwire.errors import MissingClientCapability
from stepwire.json_text import Json, JsonObject, as_object, read_back, write
from stepwire.methods import (
    SERVER_INFO,
    Call,
    Kit,
    Reply,
    Stream,
    answer_or_raise,
    arguments_of,
    missing_capabilities,
    rejection,
    tool_of,
)
from stepwire.operations import ToolCall, confirmation_request, faults_of, key_of
from stepwire.protocol import params as read
from stepwire.protocol.messages import notification_text, result_text
from stepwire.protocol.parameter_headers import check_parameter_headers
from stepwire.protocol.request_state import is_sealed
from stepwire.protocol.sse import ServerSentEvent, body_of
from stepwire.protocol.tracing import trace_header_of
from stepwire.protocol.versions import TASKS_EXTENSION
from stepwire.rendering import (
    complete,
    modern_requests,
    modern_result,
    modern_task,
    progress_params,
    unfinished_result,
)
from stepwire.tasks.ids import TaskId
from stepwire.tasks.inputs import LONGEST_CONFIRMATION, Action
from stepwire.tasks.outcomes import tool_error
from stepwire.tasks.task import Origin, Task

TASKS_CAPABILITY: Final[JsonObject] = {"extensions": {TASKS_EXTENSION: {}}}
# Clients give up after ten rounds, and some of them may be spent on questions.
MOST_ROUNDS_WITHOUT_NEWS: Final = 6


def call_tool(kit: Kit, call: Call) -> Reply:
    """Run a tool, or go on with a call of it."""
    tool = tool_of(kit, call)
    arguments = arguments_of(call)
    check_parameter_headers(call.headers, tool.parameter_headers, arguments)
    state = read.optional_text(call.params, "requestState")
    responses = read.optional_object(call.params, "inputResponses") or {}
    _check_capabilities(tool, call)
    faults = faults_of(tool, arguments, kit.operations.limits.argument_bytes)
    if faults:
        return modern_result(tool_error(rejection(tool, faults)))
    started = _Started(kit, call, tool, arguments, responses)
    return started.first() if state is None else started.again(state)


def declares_tasks(call: Call) -> bool:
    """Tell whether the client declares the extension for tasks, in this very request (X2)."""
    return TASKS_EXTENSION in as_object(call.client_capabilities.get("extensions"))


@dataclass(frozen=True)
class _Started:
    """A call whose parameters have been read."""

    kit: Kit
    call: Call
    tool: Tool
    arguments: JsonObject
    responses: Mapping[str, Json]

    def first(self) -> Reply:
        """Begin; or ask first, where the tool wants it."""
        call, operations = self._tool_call(self.arguments), self.kit.operations
        if self.tool.confirmation is None:
            return self._begun(operations.once(call, lambda task_id: operations.call(call, task_id)))
        known = operations.repeated(call)
        return self._ask(self.tool.confirmation) if known is None else self._begun(known)

    def again(self, state: str) -> Reply:
        """Go on where a requestState says."""
        kit, subject = self.kit, self._subject
        continuation = redeem(state, subject, kit.now(), _secret_of(kit, state))
        if continuation.kind is Kind.CONFIRM and self.tool.confirmation is not None:
            return self._confirmed(continuation, self.tool.confirmation)
        kit.polls.check(self.call.owner, continuation.task_id)
        if self.responses:
            task = kit.dialogue.respond(self.call.owner, continuation.task_id, self.responses)
        else:
            task = kit.operations.get(self.call.owner, continuation.task_id)
        return self._awaited(task, continuation)

    @property
    def _is_task(self) -> bool:
        return declares_tasks(self.call) and self.tool.task_support is not TaskSupport.FORBIDDEN

    @property
    def _subject(self) -> Subject:
        return Subject(self.call.owner, self.tool.name, self.arguments)

    def _tool_call(self, arguments: JsonObject) -> ToolCall:
        # The key stands for the call as its caller made it, without what the user answered.
        origin, key = Origin(self.call.modes), key_of(self.call.idempotency_key, self.tool, self.arguments)
        trace = trace_header_of(self.call.params)
        return ToolCall(self.call.owner, self.tool, arguments, None, origin, trace, key)

    def _begun(self, task: Task) -> Reply:
        if not self._is_task:
            return self._awaited(task, Continuation(Kind.FOLLOW, task.task_id))
        return {**modern_task(task, self.kit.now()), "resultType": "task"}

    def _ask(self, confirmation: Confirmation, wrong: WrongAnswer | None = None) -> JsonObject:
        # M46: asked anew where the answer is missing or wrong, and none counts that comes without the question's state.
        refusal = None if wrong is None else wrong.reason
        question = replace(confirmation_request(confirmation, self.arguments), refusal=refusal)
        until = self.kit.now() + min(LONGEST_CONFIRMATION, self.tool.ttl)
        # Dated from when the question closes, for an old id without its task would pass for a call that died.
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
            return modern_result(declined(answer))
        input_text = merged(write(self.arguments), confirmation.input_key, answer)
        if isinstance(input_text, WrongAnswer):
            return self._ask(confirmation, input_text)
        arguments = as_object(read_back(input_text))
        call, operations = self._tool_call(arguments), self.kit.operations
        # M46: the same confirmation again is the same call again, and gets its task.
        begun = operations.once(call, lambda task_id: operations.call(call, task_id), TaskId(continuation.task_id))
        return self._begun(begun)

    def _awaited(self, task: Task, so_far: Continuation) -> Reply:
        seen = self._watched(task)
        notes, told = self._progress_notes(seen, so_far.told)
        result = self._outcome(seen[-1], replace(so_far, told=told))
        if not notes:
            return result
        text = result_text(self.call.message_id, complete(result, SERVER_INFO))
        return Stream(body_of([*notes, ServerSentEvent(text)]))

    def _watched(self, task: Task) -> list[Task]:
        """Give what is seen of a task in one round; what the client has answered in advance is made use of."""
        began, patience = self.kit.now(), self.kit.patience.wait
        seen = [task]
        while True:
            left = patience - (self.kit.now() - began)
            seen.extend(self.kit.operations.follow(seen[-1], left, self._wants_client, self.call.deadline))
            given = {one.key: self.responses[one.key] for one in seen[-1].input_requests if one.key in self.responses}
            if not given:
                return seen
            seen.append(self.kit.dialogue.respond(task.owner, task.task_id, given))
            if seen[-1].inputs.asked > seen[-2].inputs.asked:
                return seen  # more wrong answers in advance, under the keys to come, would cost a write each

    def _wants_client(self, task: Task) -> bool:
        return task.has_ended or bool(modern_requests(task.input_requests, self.call.modes))

    def _progress_notes(self, seen: list[Task], told: float) -> tuple[list[ServerSentEvent], float]:
        """Write the progress that was seen, each step once, also over all rounds; and say how much is told then."""
        token = read.progress_token(self.call.params)
        notes: list[ServerSentEvent] = []
        if token is None or not self.call.takes_events:
            return notes, told
        for task in seen:
            if task.progress is not None and task.progress.done > told:
                told = task.progress.done
                message = None if task.has_ended else task.status.message
                params = progress_params(task.progress, message, token)
                notes.append(ServerSentEvent(notification_text("notifications/progress", params)))
        return notes, told

    def _outcome(self, task: Task, so_far: Continuation) -> JsonObject:
        if task.has_ended:
            return modern_result(answer_or_raise(self.kit, task))
        requests = modern_requests(task.input_requests, self.call.modes)
        if not requests and so_far.rounds >= MOST_ROUNDS_WITHOUT_NEWS:
            return unfinished_result(task)
        continuation = replace(so_far, rounds=so_far.rounds + 1)
        return {
            "resultType": "input_required",
            **({"inputRequests": requests} if requests else {}),
            "requestState": self._issued(continuation, task.expires_at),
        }

    def _issued(self, continuation: Continuation, until: datetime) -> str:
        return issue(continuation, self._subject, until, self.kit.secret())


def _secret_of(kit: Kit, state: str) -> bytes:
    """Return the secret with which a state was sealed; after a rotation that may be another than this instance has."""
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
