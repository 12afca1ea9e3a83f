"""Outputs that a workflow left in S3, because they are larger than Step Functions lets an output be.

The manifest's `output.object` says where the output names the object. Only objects of the task or of its principal are
read (`ResultLocation`): a workflow passes on text from callers and documents, so a name does not prove that the caller
may read the object.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from msgspec import Struct

from stepwire.errors import ObjectUnreadable
from stepwire.json_text import Json, JsonTextError, as_object, load_json, parse, write
from stepwire.tasks.events import WorkEnded
from stepwire.tasks.expression_budget import Budget, EvaluationFault
from stepwire.tasks.expressions import expression_of
from stepwire.tasks.links import ResultLocation, result_location_of
from stepwire.tasks.outcomes import Succeeded, event_of, object_unread
from stepwire.tasks.task import Task, Terms

LARGEST_OBJECT: Final = 1_000_000
"""Bytes. A result has its value twice, as text and structured, and JSON in JSON doubles quotes: six times that is what
Lambda can return."""

ReadObject: TypeAlias = Callable[[str, str, int], bytes]
"""Returns the object of a bucket and a key, of at most so many bytes. Raises ObjectUnreadable, ObjectsUnavailable."""


class StoredOutput(Struct, frozen=True):
    """Where a workflow left its output."""

    bucket: str
    key: str


class Shape(Struct, frozen=True):
    """A tool's shape (see `shaping`), without what says where the output is."""

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
