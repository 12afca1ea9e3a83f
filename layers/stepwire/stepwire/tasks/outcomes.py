"""What the end of an execution means for its task: a pure function from Step Functions' word to a task event.

The rule: a workflow that fails has answered, with `isError`, so that a model can act on it (X11, T18). Only a workflow
that fails with the error name `Stepwire.ProtocolError` ends its task with a JSON-RPC error (X12); its cause is the
JSON text {"code": integer, "message": string, "data"?: any}.

A workflow that succeeds has an answer that is no error, whatever its output looks like, unless its tool promised more:
what JSON readers might understand differently is passed on as the text that it is, digit for digit.
"""

import re
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, TypeGuard

from stepwire.json_text import Json, JsonObject, JsonTextError, as_object, parse, read_back, write
from stepwire.schemas import violations_of
from stepwire.tasks.events import TaskEvent, WorkCompleted, WorkFailed, WorkStopped
from stepwire.tasks.task import LONGEST_MESSAGE, Causes, ResultInExecution, TaskError, ToolResult
from stepwire.tasks.tool_results import is_tool_result

PROTOCOL_ERROR_NAME: Final = "Stepwire.ProtocolError"
# With the largest input (262,144 bytes) and output schema (32,768), an item stays below DynamoDB's 409,600 bytes.
LARGEST_INLINE_RESULT: Final = 100_000  # bytes
LARGEST_PROTOCOL_ERROR: Final = 60_000  # bytes, as it is kept
LONGEST_CAUSE: Final = 8_000  # characters of what a model gets to read of a failure
_LONGEST_BEGINNING: Final = 500  # characters of an error that is not passed on whole

_INTERNAL_ERROR: Final = -32603
_STANDARD_CODES: Final = frozenset({-32700, -32600, -32601, -32602, _INTERNAL_ERROR})
_RESERVED_CODES: Final = range(-32768, -31999)
_ARN: Final = re.compile(r"arn:[a-z0-9-]+:[^\s\"'<>,;()\[\]{}]+")
_ACCOUNT: Final = re.compile(r"(?<!\d)\d{12}(?!\d)")
_RELATED_TASK: Final = "io.modelcontextprotocol/related-task"


@dataclass(frozen=True)
class Running:
    """The execution goes on, or waits to be redriven."""


@dataclass(frozen=True)
class Missing:
    """Step Functions knows no such execution: it was never started, or is long forgotten."""


@dataclass(frozen=True)
class Succeeded:
    """The execution ended well; `output` is None where the report left it out."""

    output: str | None


@dataclass(frozen=True)
class Broke:
    """The execution failed, with an error name and a cause; both may be empty."""

    error: str
    cause: str


@dataclass(frozen=True)
class TimedOut:
    """The execution ran longer than its state machine allows."""


@dataclass(frozen=True)
class Aborted:
    """The execution was stopped."""


ExecutionEnd: TypeAlias = Succeeded | Broke | TimedOut | Aborted
ExecutionState: TypeAlias = Running | Missing | ExecutionEnd


def event_of(end: ExecutionEnd, output_schema: str | None, causes: Causes = Causes.REDACTED) -> TaskEvent:
    """Say what an execution's end means for its task.

    Args:
        end: how it ended; the output of a success must be there.
        output_schema: JSON text of the schema that the tool promised for its structured content.
        causes: how much of the cause of a failure the caller gets to read.
    """
    match end:
        case Succeeded(output):
            return _answered(output if output is not None else "null", output_schema)
        case Broke(error, cause) if error == PROTOCOL_ERROR_NAME:
            return WorkFailed(_protocol_error(cause, causes))
        case Broke(error, cause):
            name = _shown(error, causes) or "an unnamed error"
            return _tool_error(f"The workflow failed with {name}{_told(cause, causes)}")
        case TimedOut():
            return _tool_error("The workflow did not finish within its time limit (States.Timeout) and was stopped.")
        case Aborted():
            return WorkStopped("The execution was stopped.")


def fitted(event: TaskEvent) -> TaskEvent:
    """Leave a result where it is, in Step Functions, if it is too large for the task's item."""
    match event:
        case WorkCompleted(ToolResult(text, is_error)) if len(text.encode()) > LARGEST_INLINE_RESULT:
            return replace(event, result=ResultInExecution(is_error))
        case _:
            return event


def tool_error(text: str) -> ToolResult:
    """Say in a CallToolResult that the tool failed, and why."""
    return ToolResult(write({"content": [{"type": "text", "text": text}], "isError": True}), is_error=True)


def _tool_error(text: str) -> WorkCompleted:
    return WorkCompleted(tool_error(text), text[:LONGEST_MESSAGE])


def _answered(output: str, output_schema: str | None) -> WorkCompleted:
    try:
        value = parse(output)
    except JsonTextError as error:
        return _answered_with_text(output, f"{error}", output_schema)
    result = _tool_result(value) if is_tool_result(value) else _wrapped(value)
    is_error = result.get("isError") is True
    if output_schema is None or is_error:
        return WorkCompleted(ToolResult(write(result), is_error), _first_text(result) if is_error else None)
    return _promised(result, output_schema)


def _answered_with_text(output: str, reason: str, output_schema: str | None) -> WorkCompleted:
    """Pass on an output that readers of JSON might understand differently, so that it cannot be structured content."""
    result = _blocks_of(output) or {"content": [_text(output)], "isError": False}
    if output_schema is None or result["isError"]:
        message = _first_text(result) if result["isError"] else None
        return WorkCompleted(ToolResult(write(result), is_error=result["isError"]), message)
    message = (
        "The workflow succeeded, but its output cannot be the structured content that the tool promises: "
        f"{reason}. The output follows as text."
    )
    return _broken_promise(message, result)


def _blocks_of(output: str) -> JsonObject | None:
    """Read the blocks of a CallToolResult whose structured content cannot be passed on; None where it is none."""
    try:
        value = read_back(output)
    except (ValueError, RecursionError):
        return None
    return {"content": value["content"], "isError": value.get("isError", False)} if is_tool_result(value) else None


def _promised(result: JsonObject, output_schema: str) -> WorkCompleted:
    # M36: structured content that is not as promised must not go out as if it were.
    violations = violations_of(output_schema, result.get("structuredContent"))
    if not violations:
        return WorkCompleted(ToolResult(write(result), is_error=False))
    wrong = "; ".join(map(str, violations))
    return _broken_promise(
        f"The workflow succeeded, but its output is not what the tool's output schema promises: {wrong}.", result
    )


def _broken_promise(message: str, result: JsonObject) -> WorkCompleted:
    blocks = [_text(message), *result["content"]]
    text = write({"content": blocks, "isError": True})
    return WorkCompleted(ToolResult(text, is_error=True), message[:LONGEST_MESSAGE])


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _wrapped(value: Json) -> JsonObject:
    return {"content": [_text(write(value))], "structuredContent": value, "isError": False}


def _tool_result(value: JsonObject) -> JsonObject:
    # X11: what legacy adds to a result when it hands it out must not come from the workflow.
    meta = {key: item for key, item in as_object(value.get("_meta")).items() if key != _RELATED_TASK}
    kept = {key: item for key, item in value.items() if key != "_meta"}
    return {"isError": False, **kept, **({"_meta": meta} if meta else {})}


def _first_text(result: JsonObject) -> str | None:
    texts = (str(block["text"]) for block in result["content"] if block["type"] == "text")
    return next(texts, "The tool reported an error.")[:LONGEST_MESSAGE]


def _told(cause: str, causes: Causes) -> str:
    return "." if causes is Causes.HIDDEN else f": {_readable(cause, causes)}"


def _readable(cause: str, causes: Causes) -> str:
    """Take the message out of what Lambda gives as a cause; its stack trace is none of the caller's business."""
    said = as_object(_parsed(cause)).get("errorMessage", cause)
    return _shown(str(said), causes)[:LONGEST_CAUSE] or "no cause was given."


def _shown(text: str, causes: Causes) -> str:
    """Leave out what tells of the account: an error of AWS names roles, tables and queues by their ARNs."""
    return text if causes is Causes.SHOWN else _ACCOUNT.sub("[account]", _ARN.sub("[ARN]", text))


def _parsed(cause: str) -> Json:
    try:
        return parse(cause)
    except JsonTextError:
        return None


def _protocol_error(cause: str, causes: Causes) -> TaskError:
    error = as_object(_parsed(cause))
    code, message = error.get("code"), error.get("message")
    if not (_is_code(code) and isinstance(message, str) and message):
        return TaskError(_INTERNAL_ERROR, f"The workflow ended with a protocol error{_told(cause, causes)}")
    # Measured as it is written and not as it came: 1e15 becomes 1000000000000000.0.
    if len(write(error).encode()) > LARGEST_PROTOCOL_ERROR:
        beginning = _told(message, causes)[:_LONGEST_BEGINNING]
        return TaskError(_INTERNAL_ERROR, f"The workflow ended with a protocol error that is too large{beginning}")
    return TaskError(code, message[:LONGEST_CAUSE], error.get("data"))


def _is_code(code: Json) -> TypeGuard[int]:
    # M27: what JSON-RPC and MCP reserve keeps its meaning, whatever a workflow says.
    return (
        isinstance(code, int)
        and not isinstance(code, bool)
        and (code in _STANDARD_CODES or code not in _RESERVED_CODES)
    )
