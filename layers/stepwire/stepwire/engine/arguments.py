"""The arguments of a call: complete them, check them, and make the workflow's input of them."""

from typing import Final

from msgspec import Struct

from stepwire.catalog.tools import Caller, Tool
from stepwire.json_text import JsonObject, write
from stepwire.schemas.defaults import TooManyDefaults
from stepwire.schemas.validation import Violation, violations_of
from stepwire.tasks.ids import ID_LENGTH
from stepwire.tasks.task import LARGEST_INPUT

_SOME_ID: Final = "0" * ID_LENGTH
_IS_OURS: Final = "is set by the server: leave it out"


class CheckedArguments(Struct, frozen=True):
    """The arguments of a call with all defaults, or why they are refused."""

    complete: JsonObject
    faults: tuple[Violation, ...] = ()


def checked_arguments(tool: Tool, sent: JsonObject, largest: int, caller: Caller) -> CheckedArguments:
    """Return the arguments with all defaults. The first of these that does not hold is why they are refused.

    1. They have at most `largest` bytes of JSON; 2. none has a name that the server sets; 3. without the nulls of what
    is left out and with the defaults of the schema they conform to it; 4. with all that the server adds they are no
    larger than a workflow's input may be.
    """
    text = write(sent)
    if len(text.encode()) > largest:
        return _refused(sent, f"the arguments are larger than {largest} bytes of JSON, the limit of a call")
    taken = sorted(tool.additions.reserved & sent.keys())
    if taken:
        return CheckedArguments(sent, tuple(Violation(f"/{name}", _IS_OURS) for name in taken))
    given = given_in(tool.input_schema, sent) if ":null" in text else sent
    try:
        complete = given if tool.defaults is None else tool.defaults.filled(given, LARGEST_INPUT)
    except TooManyDefaults:
        return _refused(sent, f"the arguments with their defaults are larger than {LARGEST_INPUT} bytes of JSON")
    faults = violations_of(tool.input_schema, complete)
    if faults:
        return CheckedArguments(sent, faults)
    complete = tool.additions.with_defaults(complete)
    if complete is not sent or tool.additions.reserved:
        room = room_for_arguments(tool, caller)
        if len(write(complete).encode()) > room:
            return _refused(sent, f"the arguments with their defaults are larger than {room} bytes of JSON")
    return CheckedArguments(complete)


def given_in(schema: str, sent: JsonObject) -> JsonObject:
    """Return the arguments without the nulls that stand for what is left out."""
    from stepwire.schemas.nulls import without_nulls  # noqa: PLC0415 - few clients send any

    return without_nulls(schema, sent)


def room_for_arguments(tool: Tool, caller: Caller) -> int:
    """Return how many bytes of JSON arguments may have beside what the server adds to them."""
    if not tool.additions.reserved:
        return LARGEST_INPUT
    of_arms = tool.plan.largest_constants
    return LARGEST_INPUT - of_arms - len(write(tool.additions.workflow_input({}, caller, _SOME_ID, tool.name)).encode())


def input_text(tool: Tool, arguments: JsonObject, caller: Caller, task_id: str) -> str:
    """Return the workflow's input as JSON text. It is stored with the task, so a later start sends the same."""
    return write(tool.additions.workflow_input(arguments, caller, task_id, tool.name))


def _refused(sent: JsonObject, why: str) -> CheckedArguments:
    return CheckedArguments(sent, (Violation("", why),))
