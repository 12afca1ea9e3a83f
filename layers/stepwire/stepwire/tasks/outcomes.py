"""Map the end of an execution to a task event, and say what of its result is in S3. Pure.

A workflow that fails still answers the call, with `isError`, so that a model can react (X11, T18). Only a workflow that
fails with the error name `Stepwire.ProtocolError` ends its task with a JSON-RPC error (X12); the error's cause is then
the JSON text {"code": integer, "message": string, "data"?: any}.

A workflow that succeeds yields a result without `isError`, unless the output violates the tool's output schema. Output
that JSON readers might understand differently is passed on as text, digit for digit.

What is larger than Step Functions lets an output be is in S3: linked results, and outputs. A link of the form
s3://bucket/key is useless to a client, so each retrieval of the result replaces it with a new presigned URL. An output
may itself be an object, where the manifest's `output.object` says how the output names it. Only keys below the prefix
of the task or of its principal are presigned or read (`ResultLocation`): workflows pass on text from callers and
documents, so a link does not prove that the caller may read the object.
"""

import re
from collections.abc import Callable, Hashable, Sequence
from typing import Final, TypeAlias, TypeGuard

from msgspec import Struct

from stepwire.codec import Keyed
from stepwire.errors import ObjectUnreadable
from stepwire.json_text import Json, JsonObject, JsonTextError, as_object, load_json, parse, write
from stepwire.schemas.validation import violations_of
from stepwire.tasks.events import RunEnded, WorkCompleted, WorkEnded, WorkFailed, WorkStopped
from stepwire.tasks.expression_budget import Budget, EvaluationFault
from stepwire.tasks.expressions import expression_of
from stepwire.tasks.runs import TIMEOUT, RunEnd, RunState
from stepwire.tasks.task import (
    LONGEST_MESSAGE,
    Causes,
    ResultInExecution,
    Task,
    TaskError,
    Terms,
    ToolResult,
)
from stepwire.tasks.tool_results import Unshapable, is_reserved, is_tool_result, shaped

PROTOCOL_ERROR_NAME: Final = "Stepwire.ProtocolError"
LARGEST_PROTOCOL_ERROR: Final = 60_000  # bytes, as stored
LONGEST_CAUSE: Final = 8_000  # characters of a failure's cause that the model can read
_LONGEST_BEGINNING: Final = 500  # characters of an error that is too large to be passed on

LARGEST_OBJECT: Final = 1_000_000
"""Bytes. A result has its value twice, as text and structured, and JSON in JSON doubles quotes: six times that is what
Lambda can return."""

ReadObject: TypeAlias = Callable[[str, str, int], bytes]
"""Returns the object of a bucket and a key, of at most so many bytes. Raises ObjectUnreadable, ObjectsUnavailable."""
Sign: TypeAlias = Callable[[str, str], str]
"""Returns a presigned URL for a bucket and a key: whoever has the URL can read the object for a short time."""

PRINCIPAL: Final = "{principal}"
TASK_ID: Final = "{task_id}"

_INTERNAL_ERROR: Final = -32603
_STANDARD_CODES: Final = frozenset({-32700, -32600, -32601, -32602, _INTERNAL_ERROR})
_RESERVED_CODES: Final = range(-32768, -31999)
_ARN: Final = re.compile(r"arn:[a-z0-9-]+:[^\s\"'<>,;()\[\]{}]+")
_ACCOUNT: Final = re.compile(r"(?<!\d)\d{12}(?!\d)")
_ABOUT_REDRIVES: Final = frozenset({"redrives", "not_redrivable"})
_MOST_REDRIVES: Final = 1_000_000  # more than the events of an execution's history have room for


class _Reported(Keyed, frozen=True):
    """What Step Functions reports of an execution. Two reports are equal whatever they say about redrives."""

    def _key(self) -> Hashable:
        return tuple(getattr(self, name) for name in self.__struct_fields__ if name not in _ABOUT_REDRIVES)


class Running(_Reported, frozen=True):
    """The execution runs, or waits to be redriven."""

    redrives: int = 0
    """How often it has been redriven."""


class Missing(_Reported, frozen=True):
    """Step Functions does not know the execution: it was never started, or its history has expired."""


class Succeeded(_Reported, frozen=True):
    """The execution succeeded; `output` is None if the report does not contain it."""

    output: str | None
    redrives: int = 0


class ExecutionFailed(_Reported, frozen=True):
    """The execution failed with an error name and a cause, both of which may be empty."""

    error: str
    cause: str
    redrives: int = 0
    """How often it had been redriven before."""
    not_redrivable: str = ""
    """Why Step Functions does not redrive it, in its words; empty: it does."""


class TimedOut(_Reported, frozen=True):
    """The execution exceeded the time limit of its state machine."""

    redrives: int = 0
    not_redrivable: str = ""


class Aborted(_Reported, frozen=True):
    """The execution was stopped."""

    redrives: int = 0
    not_redrivable: str = ""


class Unreadable(_Reported, frozen=True):
    """The execution succeeded; its output cannot be read, because the key of its state machine is denied."""


ExecutionEnd: TypeAlias = Succeeded | Unreadable | ExecutionFailed | TimedOut | Aborted
ExecutionState: TypeAlias = Running | Missing | ExecutionEnd


def event_of(
    end: ExecutionEnd, output_schema: str | None, causes: Causes = Causes.REDACTED, shape: str | None = None
) -> WorkEnded:
    """Return the task event for an execution's end.

    Args:
        end: how the execution ended; a success must contain its output.
        output_schema: JSON text of the schema that the tool advertises for its structured content.
        causes: how much of a failure's cause the caller may see.
        shape: JSON text of how the output becomes the result (see `tool_results`); None: as it is.
    """
    match end:
        case Succeeded(output):
            return _answered(output if output is not None else "null", output_schema, shape)
        case Unreadable():  # it is fetched again when a caller asks for it
            return WorkCompleted(ResultInExecution(is_error=False))
        case ExecutionFailed(error, cause) if error == PROTOCOL_ERROR_NAME:
            return WorkFailed(_protocol_error(cause, causes))
        case ExecutionFailed(error, cause):
            name = _redacted(error, causes) or "an unnamed error"
            return _explained(f"The workflow failed with {name}{_cause_suffix(cause, causes)}")
        case TimedOut():
            return _explained("The workflow did not finish within its time limit (States.Timeout) and was stopped.")
        case Aborted():
            return WorkStopped("The execution was stopped.")


def run_ended(task: Task, run: int, end: ExecutionEnd, event: WorkEnded) -> RunEnded:
    """Return the event for the end of the execution of a run."""
    execution, redrives = task.runs[run].attempt.execution, redrives_of(end)
    match end:
        case Succeeded() | Unreadable():
            ended = RunEnd(run, execution, redrives, RunState.SUCCEEDED)
        case Aborted():
            ended = RunEnd(run, execution, redrives, RunState.STOPPED)
        case TimedOut():
            ended = RunEnd(run, execution, redrives, RunState.FAILED, TIMEOUT, TIMEOUT, _text_of(task, event))
        case ExecutionFailed(error):
            shown = _redacted(error, task.work.causes)
            ended = RunEnd(run, execution, redrives, RunState.FAILED, error, shown, _text_of(task, event))
    return RunEnded(ended, event)


def end_without_execution(task: Task, run: int, state: RunState, event: WorkEnded) -> RunEnd:
    """Return the end of a run that cannot be started, or whose execution is not redriven: no attempt follows."""
    return RunEnd(run, task.runs[run].attempt.execution, _MOST_REDRIVES, state, text=_text_of(task, event))


def _text_of(task: Task, event: WorkEnded) -> str:
    """Return what the caller may read of a failure of one of several runs; that of a sole one is the task's result."""
    return "" if len(task.runs) == 1 else str(event.status.message)


def redrives_of(end: ExecutionEnd) -> int:
    """Return how often an execution had been redriven before it ended so; a success is the last end there is."""
    return end.redrives if isinstance(end, ExecutionFailed | TimedOut | Aborted) else _MOST_REDRIVES


def _explained(
    message: str, output: Sequence[JsonObject] = (), shaping_fault: str | None = None, *, is_error: bool = True
) -> WorkCompleted:
    """Return the end whose result is a message, before the blocks of the output if there are any."""
    text = write({"content": [_text(message), *output], "isError": is_error})
    fault = None if shaping_fault is None else shaping_fault[:LONGEST_MESSAGE]
    return WorkCompleted(ToolResult(text, is_error), message[:LONGEST_MESSAGE], fault)


def _answered(output: str, output_schema: str | None, shape: str | None) -> WorkCompleted:
    try:
        value = parse(output)
        if is_tool_result(value):
            result: JsonObject = _tool_result(value)
        elif shape is not None:
            result = shaped(value, shape)
        else:
            result = {"content": [_text(write(value))], "structuredContent": value, "isError": False}
    except JsonTextError as error:
        if shape is not None and _blocks_of(output) is None:
            return _unshaped(output, f"{error}", output_schema)
        return _answered_with_text(output, f"{error}", output_schema)
    except Unshapable as fault:
        return _unshaped(output, f"{fault}", output_schema)
    is_error = result.get("isError") is True
    if output_schema is None or is_error:
        return WorkCompleted(ToolResult(write(result), is_error), _first_text(result) if is_error else None)
    # M36: structured content that violates the advertised schema must not be sent as structured content.
    violations = violations_of(output_schema, result.get("structuredContent"))
    if not violations:
        return WorkCompleted(ToolResult(write(result), is_error=False))
    wrong = "; ".join(map(str, violations))
    message = f"The workflow succeeded, but its output is not what the tool's output schema promises: {wrong}."
    return _explained(message, result["content"])


def _unshaped(output: str, reason: str, output_schema: str | None) -> WorkCompleted:
    """Return the output as it is, after why it is not as the manifest says; an error where a schema promised more."""
    message = (
        "The workflow succeeded, but its output cannot be given the form that the tool's manifest says: "
        f"{reason}. The output follows as text."
    )
    return _explained(message, [_text(output)], reason, is_error=output_schema is not None)


def _answered_with_text(output: str, reason: str, output_schema: str | None) -> WorkCompleted:
    """Return the output as text, because JSON readers might disagree about it as structured content."""
    result = _blocks_of(output) or {"content": [_text(output)], "isError": False}
    if output_schema is None or result["isError"]:
        message = _first_text(result) if result["isError"] else None
        return WorkCompleted(ToolResult(write(result), is_error=result["isError"]), message)
    message = (
        "The workflow succeeded, but its output cannot be the structured content that the tool promises: "
        f"{reason}. The output follows as text."
    )
    return _explained(message, result["content"])


def _blocks_of(output: str) -> JsonObject | None:
    """Return the content blocks of a CallToolResult, without its structured content; None if it is not one."""
    try:
        value = load_json(output)
    except (ValueError, RecursionError):
        return None
    return {"content": value["content"], "isError": value.get("isError", False)} if is_tool_result(value) else None


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _tool_result(value: JsonObject) -> JsonObject:
    # X11: the workflow must not supply what is the protocol's or Stepwire's to say, such as whose task it is.
    meta = {key: item for key, item in as_object(value.get("_meta")).items() if not is_reserved(key)}
    members = {key: item for key, item in value.items() if key != "_meta"}
    return {"isError": False, **members, **({"_meta": meta} if meta else {})}


def _first_text(result: JsonObject) -> str | None:
    texts = (str(block["text"]) for block in result["content"] if block["type"] == "text")
    return next(texts, "The tool reported an error.")[:LONGEST_MESSAGE]


def _cause_suffix(cause: str, causes: Causes) -> str:
    return "." if causes is Causes.HIDDEN else f": {_readable_cause(cause, causes)}"


def _readable_cause(cause: str, causes: Causes) -> str:
    """Return the message of a cause; of Lambda's causes, the message without the stack trace."""
    said = as_object(_parsed(cause)).get("errorMessage", cause)
    return _redacted(str(said), causes)[:LONGEST_CAUSE] or "no cause was given."


def _redacted(text: str, causes: Causes) -> str:
    """Return the text without ARNs and account numbers, which errors of AWS contain, unless the tool shows causes."""
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
        return TaskError(_INTERNAL_ERROR, f"The workflow ended with a protocol error{_cause_suffix(cause, causes)}")
    # Measured as it will be stored: 1e15 becomes 1000000000000000.0.
    if len(write(error).encode()) > LARGEST_PROTOCOL_ERROR:
        beginning = _cause_suffix(message, causes)[:_LONGEST_BEGINNING]
        return TaskError(_INTERNAL_ERROR, f"The workflow ended with a protocol error that is too large{beginning}")
    return TaskError(code, message[:LONGEST_CAUSE], error.get("data"))


def _is_code(code: Json) -> TypeGuard[int]:
    # M27: a workflow may use the standard codes and those outside the range that JSON-RPC and MCP reserve.
    return (
        isinstance(code, int)
        and not isinstance(code, bool)
        and (code in _STANDARD_CODES or code not in _RESERVED_CODES)
    )


class ResultLocation(Struct, frozen=True):
    """The bucket and the prefix that one task's result objects must be in."""

    bucket: str
    prefix: str
    """Prefix of the keys, ending with a slash."""

    def object_key(self, uri: str) -> str | None:
        """Return the key that a link points to; None if it lies outside this location."""
        key = uri.removeprefix(f"s3://{self.bucket}/")
        # S3 reads a key literally, and a client resolves dot segments: the key must be the same for both.
        is_normal = all(part not in {"", ".", ".."} for part in key.split("/"))
        return key if key != uri and key.startswith(self.prefix) and is_normal else None


def result_location_of(task: Task) -> ResultLocation | None:
    """Return the location of a task's results; None if its tool has no bucket."""
    work = task.work
    if work.result_bucket is None:
        return None
    # The workflow knows the name of its execution as `$states.context.Execution.Name`.
    prefix = work.result_prefix or f"{task.execution.name}/"
    # A follow-up task has the input of the first one.
    known = task.follows.first if task.follows else task.task_id
    return ResultLocation(work.result_bucket, prefix.replace(PRINCIPAL, task.owner).replace(TASK_ID, known))


def with_presigned_links(result: ToolResult, place: ResultLocation | None, sign: Sign) -> ToolResult:
    """Return the result with its S3 links as presigned URLs; the same object if it has none."""
    if place is None or f"s3://{place.bucket}/{place.prefix}" not in result.text:
        return result
    value = result.value()
    return ToolResult(
        write({**value, "content": [_signed(one, place, sign) for one in value["content"]]}), result.is_error
    )


def _signed(block: JsonObject, place: ResultLocation, sign: Sign) -> JsonObject:
    if block["type"] != "resource_link":
        return block
    key = place.object_key(str(block["uri"]))
    return block if key is None else {**block, "uri": sign(place.bucket, key)}


class Shape(Struct, frozen=True):
    """A tool's shape (see `tool_results`), without what says where the output is."""

    object: str | None
    """An expression for the name of the object; None: the output is in the execution."""
    rest: str | None
    """JSON text of how the output becomes the result; None: as it is."""


def event_of_object(task: Task, end: Succeeded, terms: Terms, read: ReadObject) -> WorkEnded:
    """Return the event for the end of an execution whose output may be in S3.

    Raises:
        ObjectsUnavailable: it is, and S3 does not answer.
    """
    shape = shape_of(terms.output_shape)
    try:
        output = end.output if shape.object is None else _whole_output(task, end.output or "null", shape.object, read)
    except ObjectUnreadable as fault:
        message = f"The workflow succeeded, but the object that it left as its output cannot be returned: {fault}."
        return _explained(message, shaping_fault=f"{fault}")
    return event_of(Succeeded(output), terms.output_schema, shape=shape.rest)


def shape_of(text: str | None) -> Shape:
    """Return the parts of a stored shape."""
    rules = {} if text is None else as_object(load_json(text))
    if "object" not in rules:
        return Shape(None, text)
    rest = {name: rule for name, rule in rules.items() if name != "object"}
    return Shape(str(rules["object"]), write(rest) if rest else None)


def _whole_output(task: Task, output: str, expression: str, read: ReadObject) -> str:
    """Return the output that a workflow left in S3; if it names no object, it is the output itself.

    Args:
        task: the task.
        output: the execution's output, JSON text.
        expression: the tool's `output.object`: s3://bucket/key, or an object with `Bucket` and `Key`.
        read: reads the object.

    Raises:
        ObjectUnreadable: it names none that this task may read, or no JSON that every reader understands alike.
    """
    try:
        named = expression_of(expression).value_in(parse(output), Budget())
    except JsonTextError as fault:
        raise ObjectUnreadable(f"the output that names it cannot be read: {fault}") from None
    except EvaluationFault as fault:
        raise ObjectUnreadable(f"at output.object: {fault}") from None
    if named is None:
        return output
    uri, place = _uri_of(named), result_location_of(task)
    if uri is None:
        raise ObjectUnreadable("output.object is neither s3://bucket/key nor an object with Bucket and Key")
    key = None if place is None else place.object_key(uri)
    if place is None or key is None:
        raise ObjectUnreadable("it is not in the tool's result_bucket, below the task's result_prefix")
    try:
        text = read(place.bucket, key, LARGEST_OBJECT).decode()
        parse(text)
    except UnicodeDecodeError:
        raise ObjectUnreadable("it is not JSON in UTF-8") from None
    except JsonTextError as fault:
        raise ObjectUnreadable(f"it is not JSON that every client reads alike: {fault}") from None
    return text


def _uri_of(named: Json) -> str | None:
    if isinstance(named, str):
        return named
    bucket, key = (as_object(named).get(name) for name in ("Bucket", "Key"))
    return f"s3://{bucket}/{key}" if isinstance(bucket, str) and isinstance(key, str) else None
