"""What the functions that tasks call read of their events, once somebody has read their code.

The rule: code says less than a definition. What it reads becomes a member of the schema; it is required only if the
function certainly fails without it, and what an earlier state may have produced says no type.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from stepwire.json_text import JsonObject, as_object
from stepwire.manifests.definitions import given_to, inside
from stepwire_wrap.definitions.reads import ANY, Reads, Use
from stepwire_wrap.definitions.values import UNKNOWN, Path, Value, filled_in, is_input_alone, part, record

_INVOKE: Final = (":lambda:invoke", ":lambda:invoke.waitForTaskToken")
_LATER: Final = ".waitForTaskToken"
_PAYLOAD: Final = "Payload"


@dataclass(frozen=True)
class CodeRead:
    """One use of a part of a function's event."""

    path: Path
    use: Use
    """With `place`, the file and the line."""


@dataclass(frozen=True)
class Handler:
    """What a function reads of its event."""

    reads: tuple[CodeRead, ...] = ()
    is_all: bool = False
    """Whether it reads nothing else: the event goes nowhere that was not followed."""
    result: Value = UNKNOWN
    """What it returns, made of parts of its event as if that were the input."""


Handlers: TypeAlias = Mapping[str, Handler]
"""By what a definition writes to name the function: an ARN, a name, or a reference such as `${Ship.Arn}`."""


def handler_of(state: JsonObject, handlers: Handlers) -> Handler | None:
    """Return what the function reads that a task calls; None if it calls none, or one whose code nobody has read."""
    if state.get("Type") != "Task":
        return None
    named = given_to(state).get("FunctionName") if _invokes(state) else state.get("Resource")
    return handlers.get(named) if isinstance(named, str) else None


def functions_in(definition: JsonObject) -> list[str]:
    """Return what a definition's tasks name as functions, however deep; not all of these texts are functions."""
    found: list[str] = []
    for state in as_object(definition.get("States")).values():
        found += _named_in(as_object(state))
    return list(dict.fromkeys(found))


def note_event(state: JsonObject, given: Value, handler: Handler, reads: Reads) -> None:
    """Note what the function that a task calls reads of the input.

    What is given is the arguments of the call, or the event itself.
    """
    event = _event(state, given)
    for one in handler.reads:
        value = part(event, one.path)
        # The function fails after the state has begun, so a handler of errors may come in between.
        use = replace(one.use, at_exit=True)
        reads.note(value, use if is_input_alone(value) else replace(use, must=False, types=ANY, allowed=()))


def result_of(state: JsonObject, given: Value, handlers: Handlers) -> Value:
    """Return what a task gives: what its function makes of its event."""
    handler, resource = handler_of(state, handlers), str(state.get("Resource", ""))
    if handler is None or resource.endswith(_LATER):
        return UNKNOWN
    made = filled_in(handler.result, _event(state, given))
    return record({_PAYLOAD: made}, UNKNOWN) if _invokes(state) else made


def _event(state: JsonObject, given: Value) -> Value:
    if not _invokes(state):
        return given
    return part(given, (_PAYLOAD,)) if _has_payload(state) else UNKNOWN


def _has_payload(state: JsonObject) -> bool:
    return isinstance(state.get("Arguments"), str) or any(
        name in given_to(state) for name in (_PAYLOAD, f"{_PAYLOAD}.$")
    )


def _invokes(state: JsonObject) -> bool:
    return str(state.get("Resource", "")).endswith(_INVOKE)


def _named_in(state: JsonObject) -> list[str]:
    found = [text for one in inside(state) for text in functions_in(one)]
    named = given_to(state).get("FunctionName") if _invokes(state) else state.get("Resource")
    return [named, *found] if state.get("Type") == "Task" and isinstance(named, str) else found
