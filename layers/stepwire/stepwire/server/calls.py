"""`tools/call`, one road for both eras: check, resume, confirm, claim the key, start, wait, ask, write.

The road is the same for every call. What differs is data: an `Era` has its own checks, and a `Way` says how a call is
confirmed and answered (as a task, on a card, in rounds, on a stream, after a wait). The era gives the way of a plain
call; an extension may intercept the call and give another. A tool of Stepwire's own starts nothing: its call is
checked, waits for news of a task, and asks.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from msgspec import Struct

from stepwire.catalog.tools import Tool
from stepwire.engine.arguments import checked_arguments, given_in
from stepwire.engine.idempotency import Begun, idempotency_key_of
from stepwire.engine.operations import Operations, ToolCall
from stepwire.errors import UnknownTask
from stepwire.json_text import JsonObject
from stepwire.protocol import params as read
from stepwire.protocol.params import trace_header_of
from stepwire.protocol.versions import LEGACY_WITH_TASKS
from stepwire.schemas.validation import violations_of
from stepwire.server.composition import own_tool, way_of
from stepwire.server.extension import OwnTool, Wait, Way
from stepwire.server.kit import Call, Kit, Reply
from stepwire.server.tool_calls import (
    answer_or_raise,
    arguments_of,
    is_followed,
    rejection,
    result_or_raise,
    shows_card,
    tool_of,
    written,
)
from stepwire.server.unfinished import can_ask, modes_for, unfinished
from stepwire.tasks.outcomes import tool_error
from stepwire.tasks.task import Origin, Task, ToolResult

_UNKNOWN: Final = tool_error(
    "You have no task with this task_id. Copy the id from the result of the call exactly; it may have expired."
)
"""The result for a task that is not there, whatever the reason."""


class Asking(Struct, frozen=True):
    """How the client of an era is asked what a task asks for which its model waits."""

    question: Callable[[Task], Reply]
    """Puts the open questions to the client."""
    answered: Callable[[Task], Task]
    """Returns the task with the answers that the call brings along."""


class Era(Struct, frozen=True):
    """What an era has of its own on the road."""

    check: Callable[[Kit, Call, Tool, JsonObject], None]
    """Checks whether this client may call the tool in this way; raises a ProtocolError."""
    plain: Callable[[Kit, Call, str, JsonObject], Way]
    """Returns the way of a call that is no task: of which tool, with which arguments as they were sent."""
    check_own: Callable[[Call, str], None]
    """Checks whether this client may call one of Stepwire's own tools, by its name, in this way."""
    asking: Callable[[Kit, Call, str, JsonObject], Asking]
    """Returns how a call of such a tool puts the questions of a task to its client."""


def call_tool(kit: Kit, call: Call, era: Era) -> Reply:
    """Answer a call of a tool."""
    _ = call.asks_for_task  # a parameter that cannot be read is refused before the tool is looked up
    own = own_tool(kit, call)
    if own is not None:
        era.check_own(call, own.name)
        return _run_own(kit, call, own, era.asking(kit, call, own.name, arguments_of(call)))
    tool, sent = tool_of(kit, call), arguments_of(call)
    era.check(kit, call, tool, sent)
    way = way_of(kit, call, tool, era.plain(kit, call, tool.name, sent))
    checked = checked_arguments(tool, sent, kit.operations.limits.argument_bytes, call.caller)
    if checked.faults:
        words = rejection(tool.name, checked.faults)
        return written(call, tool_error(words)) if way.refuse is None else way.refuse(words)
    resumed = None if way.resume is None else way.resume(tool.confirmation is not None)
    if resumed is not None:
        return resumed
    new = _new_call(kit, call, tool, sent, checked.complete, way)
    if tool.is_express:
        return written(call, result_or_raise(kit.express(new, call.deadline)))
    begun = _begun(kit.operations, new, way)
    return way.answer(begun) if isinstance(begun, Begun) else begun


def _new_call(kit: Kit, call: Call, tool: Tool, sent: JsonObject, complete: JsonObject, way: Way) -> ToolCall:
    followed = is_followed(kit, call, as_task=way.is_task)
    # Progress is sent on responses that the client resumes; in older versions none, as it restarts no timer there.
    gets_progress = followed and call.version == LEGACY_WITH_TASKS
    return ToolCall(
        call.caller.principal,
        tool,
        complete,
        way.ttl_ms,
        Origin(
            modes_for(kit, call, tool, is_asked=followed),
            read.progress_token(call.params) if gets_progress else None,
            call.session.digest_of(call.message_id) if way.is_cancellable else None,
        ),
        trace_header_of(call.params),
        # The key identifies the call as its caller made it, without the user's answer.
        idempotency_key_of(call.idempotency_key, tool, sent, complete),
        call.caller.claims,
        shows_card(call, tool),
    )


def _begun(operations: Operations, new: ToolCall, way: Way) -> Begun | Reply:
    """Begin a task, once however often the call is sent; or ask for the confirmation that it needs before."""
    confirmation = new.tool.confirmation
    if confirmation is None:
        return operations.idempotently(new, partial(operations.call, new))
    if way.confirm is not None:
        return way.confirm(new, confirmation)
    return operations.idempotently(new, partial(operations.call_after_confirmation, new, confirmation))


def _run_own(kit: Kit, call: Call, tool: OwnTool, asking: Asking) -> Reply:
    """Run a tool of Stepwire's own. Bad arguments and unknown tasks are results that a model can act on."""
    sent = arguments_of(call)
    arguments = given_in(tool.input_schema_text, sent) if None in sent.values() else sent
    faults = violations_of(tool.input_schema_text, arguments)
    if faults:
        return written(call, tool_error(rejection(tool.name, faults)))
    try:
        outcome = tool.run(kit, call, arguments)
        return written(call, outcome) if isinstance(outcome, ToolResult) else _waited_for(kit, call, outcome, asking)
    except UnknownTask:  # or it expired meanwhile
        return written(call, _UNKNOWN)


def _waited_for(kit: Kit, call: Call, wait: Wait, asking: Asking) -> Reply:
    """Wait for news of a task; a question that this client can be asked goes to it at once."""
    before = asking.answered(wait.task)

    def wants_client(seen: Task) -> bool:
        return _has_news(before, seen) or _can_ask_any(kit, call, seen)

    *_, task = kit.operations.watch(before, wait.patience, wants_client, call.deadline)
    if task.has_ended:
        return written(call, answer_or_raise(kit, task))
    return asking.question(task) if _can_ask_any(kit, call, task) else written(call, unfinished(kit, call, task))


def _can_ask_any(kit: Kit, call: Call, task: Task) -> bool:
    return any(can_ask(kit, call, one) for one in task.input_requests)


def _has_news(before: Task, now: Task) -> bool:
    """Tell whether a task has news for its caller: an end, a question, progress or another state."""
    known = (before.input_requests, before.progress, before.status.message)
    return now.has_ended or (now.input_requests, now.progress, now.status.message) != known
