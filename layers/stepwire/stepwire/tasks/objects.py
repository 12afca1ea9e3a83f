"""What workflows leave in S3, because it is larger than Step Functions lets an output be: outputs, and linked results.

A link of the form s3://bucket/key is useless to a client, so each retrieval of the result replaces it with a new
presigned URL. An output may itself be an object, where the manifest's `output.object` says how the output names it.
Only keys below the prefix of the task or of its principal are presigned or read (`ResultLocation`): workflows pass on
text from callers and documents, so a link does not prove that the caller may read the object.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from msgspec import Struct

from stepwire.errors import ObjectUnreadable
from stepwire.json_text import Json, JsonObject, JsonTextError, as_object, load_json, parse, write
from stepwire.tasks.events import WorkEnded
from stepwire.tasks.expression_budget import Budget, EvaluationFault
from stepwire.tasks.expressions import expression_of
from stepwire.tasks.outcomes import Succeeded, event_of, object_unread
from stepwire.tasks.task import Task, Terms, ToolResult

LARGEST_OBJECT: Final = 1_000_000
"""Bytes. A result has its value twice, as text and structured, and JSON in JSON doubles quotes: six times that is what
Lambda can return."""

ReadObject: TypeAlias = Callable[[str, str, int], bytes]
"""Returns the object of a bucket and a key, of at most so many bytes. Raises ObjectUnreadable, ObjectsUnavailable."""
Sign: TypeAlias = Callable[[str, str], str]
"""Returns a presigned URL for a bucket and a key: whoever has the URL can read the object for a short time."""

PRINCIPAL: Final = "{principal}"
TASK_ID: Final = "{task_id}"


class ResultLocation(Struct, frozen=True):
    """The bucket and the prefix that one task's result objects must be in."""

    bucket: str
    prefix: str
    """Prefix of the keys, ending with a slash."""

    def object_key(self, uri: str) -> str | None:
        """Return the key that a link points to; None if it lies outside this location."""
        key = uri.removeprefix(f"s3://{self.bucket}/")
        is_here = key != uri and key.startswith(self.prefix)
        return key if is_here and _is_normal(key) else None


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
    key = place.object_key(str(block.get("uri", ""))) if block["type"] == "resource_link" else None
    return block if key is None else {**block, "uri": sign(place.bucket, key)}


def _is_normal(key: str) -> bool:
    """Tell whether a key is the same for S3, which reads it literally, and for a client that resolves dot segments."""
    return all(part not in {"", ".", ".."} for part in key.split("/"))


class StoredOutput(Struct, frozen=True):
    """Where a workflow left its output."""

    bucket: str
    key: str


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
        output = end.output if shape.object is None else _whole(task, end.output or "null", shape.object, read)
    except ObjectUnreadable as fault:
        return object_unread(f"{fault}")
    return event_of(Succeeded(output), terms.output_schema, task.work.causes, shape.rest)


def _whole(task: Task, output: str, expression: str, read: ReadObject) -> str:
    stored = stored_output(output, expression, result_location_of(task))
    return output if stored is None else output_in(read(stored.bucket, stored.key, LARGEST_OBJECT))


def shape_of(text: str | None) -> Shape:
    """Return the parts of a stored shape."""
    rules = {} if text is None else as_object(load_json(text))
    if "object" not in rules:
        return Shape(None, text)
    rest = {name: rule for name, rule in rules.items() if name != "object"}
    return Shape(str(rules["object"]), write(rest) if rest else None)


def stored_output(output: str, expression: str, place: ResultLocation | None) -> StoredOutput | None:
    """Return where the output is that a workflow left in S3; None if it names no object, and is the output itself.

    Args:
        output: the execution's output, JSON text.
        expression: the tool's `output.object`: s3://bucket/key, or an object with `Bucket` and `Key`.
        place: where the objects of the task must be.

    Raises:
        ObjectUnreadable: it names none that this task may read.
    """
    try:
        named = expression_of(expression).value_in(parse(output), Budget())
    except JsonTextError as fault:
        raise ObjectUnreadable(f"the output that names it cannot be read: {fault}") from None
    except EvaluationFault as fault:
        raise ObjectUnreadable(f"at output.object: {fault}") from None
    if named is None:
        return None
    uri = _uri_of(named)
    if uri is None:
        raise ObjectUnreadable("output.object is neither s3://bucket/key nor an object with Bucket and Key")
    key = None if place is None else place.object_key(uri)
    if place is None or key is None:
        raise ObjectUnreadable("it is not in the tool's result_bucket, below the task's result_prefix")
    return StoredOutput(place.bucket, key)


def output_in(content: bytes) -> str:
    """Return the output in an object.

    Raises:
        ObjectUnreadable: it is no JSON, or JSON that readers might understand differently.
    """
    try:
        text = content.decode()
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
