"""Results that are too large for a workflow's output: it leaves them in S3, and links to them.

A link of the form s3://bucket/key is of no use to a client; it gets a URL that is good for a short time, made anew each
time that the result is handed out. The rule: only keys below what belongs to the task or its principal become URLs.
Workflows pass on what callers and documents wrote, so a link proves nothing of who may read the object.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from stepwire.json_text import JsonObject, write
from stepwire.tasks.task import Task, ToolResult

Sign: TypeAlias = Callable[[str, str], str]
"""Makes of a bucket and a key a URL that anybody may read for a short time."""

PRINCIPAL: Final = "{principal}"
TASK_ID: Final = "{task_id}"
DEFAULT_PREFIX: Final = f"{PRINCIPAL}-{TASK_ID}/"
"""The name of the task's execution, which the workflow knows as `$states.context.Execution.Name`."""


@dataclass(frozen=True)
class Place:
    """Where the results of one task may be."""

    bucket: str
    prefix: str
    """What their keys begin with, up to a slash."""

    def key_of(self, uri: str) -> str | None:
        """Return the key of an object that is here; None where the link leads elsewhere."""
        key = uri.removeprefix(f"s3://{self.bucket}/")
        is_here = key != uri and key.startswith(self.prefix)
        return key if is_here and _is_normal(key) else None


def place_of(task: Task) -> Place | None:
    """Return where the results of a task may be; None where its tool has no bucket."""
    work = task.work
    if work.result_bucket is None:
        return None
    prefix = work.result_prefix or DEFAULT_PREFIX
    return Place(work.result_bucket, prefix.replace(PRINCIPAL, task.owner).replace(TASK_ID, task.task_id))


def signed(result: ToolResult, place: Place | None, sign: Sign) -> ToolResult:
    """Give a result whose links into its place can be followed; the same object where it has none."""
    if place is None or f"s3://{place.bucket}/{place.prefix}" not in result.text:
        return result
    value = result.value()
    return ToolResult(
        write({**value, "content": [_signed(one, place, sign) for one in value["content"]]}), result.is_error
    )


def _signed(block: JsonObject, place: Place, sign: Sign) -> JsonObject:
    key = place.key_of(str(block.get("uri", ""))) if block["type"] == "resource_link" else None
    return block if key is None else {**block, "uri": sign(place.bucket, key)}


def _is_normal(key: str) -> bool:
    """Tell whether a key means the same to S3, which takes it as it is, and to a client that resolves dots."""
    return all(part not in {"", ".", ".."} for part in key.split("/"))
