"""Links to large results that a workflow left in S3.

A link of the form s3://bucket/key is useless to a client, so each retrieval of the result replaces it with a new
presigned URL. Only keys below the prefix of the task or of its principal are presigned: workflows pass on text from
callers and documents, so a link does not prove that the caller may read the object.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from msgspec import Struct

from stepwire.json_text import JsonObject, write
from stepwire.tasks.task import Task, ToolResult

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
