"""`tools/call`, one sequence for both eras: check, resume, confirm, claim the key, start, wait, ask, write.

Every call takes the same steps. The differences are data: an `Era` has its own checks, and a `Way` says how a call is
confirmed and answered (as a task, in rounds, on a stream, after a wait). The era provides the way of a plain call; an
extra may provide another. Stepwire's own tools start nothing: such a call is
checked, waits for news of a task, and asks.
"""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from stepwire.catalog.tools import Tool
from stepwire.engine.calls import Begun, ToolCall, checked_arguments, idempotency_key_of
from stepwire.errors import InvalidParams, UnknownTask
from stepwire.json_text import JsonObject
from stepwire.protocol.messages import LEGACY_WITH_TASKS
from stepwire.schemas.defaults import without_nulls
from stepwire.schemas.validation import violations_of
from stepwire.server.call import Call, Reply, optional_milliseconds_in, reached_tool
from stepwire.server.composition import own_tool
from stepwire.server.results import (
    answer_or_raise,
    can_ask,
    offers_answers,
    rejection,
    result_or_raise,
    unfinished,
    written,
)
from stepwire.server.services import Services
from stepwire.server.ways import Ask, OwnTool, PlainWay, Wait, Way
from stepwire.tasks.inputs import ELICITATION_MODES, Mode
from stepwire.tasks.task import Origin, Person, Task, ToolResult, tool_error

_UNKNOWN: Final = tool_error(
    "You have no task with this task_id. Copy the id from the result of the call exactly; it may have expired."
)
"""The result for a missing task, whatever the reason."""


class Era(Struct, frozen=True):
    """The parts of a call that differ between the eras."""

    check: Callable[[Call, Tool, Way], None]
    """Checks whether this client may call the tool in this way; raises a ProtocolError."""
    plain: Callable[[Services, Call, str], PlainWay]
    """Returns the way of a call of a tool, by its name, that is no task."""
    check_own: Callable[[Call, OwnTool], None]
    """Checks whether this client may call one of Stepwire's own tools in this way."""


def call_tool(services: Services, call: Call, era: Era) -> Reply:
    """Answer a call of a tool."""
    _ = call.asks_for_task  # a parameter that cannot be read is refused before the tool is looked up
    own = own_tool(services, call)
    if own is not None and own.meant is not None and (meant := own.meant(services, call)) is not None:
        own, call = None, meant
    if own is not None:
        era.check_own(call, own)
        return _run_own(services, call, own, era)
    tool = reached_tool(services, call)
    way = _way_of(services, call, tool, era.plain(services, call, tool.name))
    era.check(call, tool, way)
    is_legacy_task = way.is_task and not call.is_modern  # whose client may ask for a ttl
    ttl_ms = optional_milliseconds_in(call.params["task"], "ttl", "params.task.ttl") if is_legacy_task else None
    checked = checked_arguments(tool, call.arguments, services.calls.admission.limits.argument_bytes, call.caller)
    if checked.faults:
        words = rejection(tool.name, checked.faults)
        return written(call, tool_error(words)) if way.refuse is None else way.refuse(words)
    if way.resume and call.request_state is not None:
        resumed = way.resume(tool.confirmation is not None)
        if resumed is not None:
            return resumed
    new = _new_call(services, call, tool, checked.complete, way, ttl_ms)
    if tool.is_express:
        return written(call, result_or_raise(services.express(new, call.deadline)))
    if tool.confirmation is None or way.confirm is None:
        begun: Begun | Reply = services.calls.begin(new, tool.confirmation)
    else:
        begun = way.confirm(new, tool.confirmation)
    return way.answer(begun) if isinstance(begun, Begun) else begun


def _way_of(services: Services, call: Call, tool: Tool, plain: Way) -> Way:
    """Return the way of a call: the given one of a plain call, as the parts change it in turn."""
    way = plain
    for one in services.parts:
        if one.way is not None:
            way = one.way(services, call, tool, way) or way
    return way


def _new_call(
    services: Services, call: Call, tool: Tool, complete: JsonObject, way: Way, ttl_ms: int | None
) -> ToolCall:
    followed = call.is_followed(as_task=way.is_task)
    if way.is_shown:
        # Its call answers soon, so answers of the client's model, or its roots, would come too late.
        modes = ELICITATION_MODES | (call.modes if call.declares_tasks else frozenset[Mode]())
    else:
        modes = call.modes if followed else frozenset[Mode]()
        if tool.model_may_answer and offers_answers(services, call):
            modes |= {Mode.FORM}
    gates = (one.gate for one in services.parts if one.gate is not None)  # at most one
    # Progress is sent only on responses that the client resumes; in older versions it restarts no timeout.
    gets_progress = followed and call.version == LEGACY_WITH_TASKS
    return ToolCall(
        call.caller.principal,
        tool,
        complete,
        ttl_ms,
        Origin(
            modes,
            call.progress_token if gets_progress else None,
            call.session.digest_of(call.message_id) if way.is_cancellable else None,
            call.trace,
            Person(call.caller.person or call.caller.principal, call.caller.name),
        ),
        # The key identifies the caller's call, without the user's answer.
        idempotency_key_of(call.idempotency_key, tool, call.arguments, complete),
        call.caller.claims,
        next((gate.line(services.catalog, tool, complete, call.caller) for gate in gates), None),
        way.is_shown,
    )


def _run_own(services: Services, call: Call, tool: OwnTool, era: Era) -> Reply:
    """Run a tool of Stepwire's own. Bad arguments and unknown tasks are results that a model can act on."""
    sent, way = call.arguments, era.plain(services, call, tool.name)
    arguments = without_nulls(tool.input_schema_text, sent) if None in sent.values() else sent
    faults = violations_of(tool.input_schema_text, arguments)
    if faults:
        words = rejection(tool.name, faults)
        if call.asks_for_task and not call.is_modern:  # T7, as that of a tool that may be a task
            raise InvalidParams(words)
        return written(call, tool_error(words))
    try:
        outcome = tool.run(services, call, arguments)
        match outcome:
            case ToolResult():
                return written(call, outcome)
            case Ask():
                return way.ask(outcome)
            case Wait():
                return _waited_for(services, call, outcome, way)
    except UnknownTask:  # or it expired meanwhile
        return written(call, _UNKNOWN)


def _waited_for(services: Services, call: Call, wait: Wait, way: PlainWay) -> Reply:
    """Wait for news of a task; ask this client at once if it can answer a question."""
    before = way.answered(wait.task)

    def can_ask_any(task: Task) -> bool:
        return any(can_ask(call, one) for one in task.input_requests)

    def wants_client(seen: Task) -> bool:
        return _has_news(before, seen) or can_ask_any(seen)

    *_, task = services.operations.watch(before, wait.patience, wants_client, call.deadline)
    if task.has_ended:
        return written(call, answer_or_raise(services, task))
    return way.question(task) if can_ask_any(task) else written(call, unfinished(services, call, task))


def _has_news(before: Task, now: Task) -> bool:
    """Tell whether a task has news for its caller: an end, a question, progress or another state."""
    known = (before.questions, before.progress, before.status.message)
    return now.has_ended or (now.questions, now.progress, now.status.message) != known
