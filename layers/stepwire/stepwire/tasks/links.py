"""Results that are too large for a workflow's output: it leaves them in S3, and links to them.

A link of the form s3://bucket/key is of no use to a client; it gets a URL that is good for a short time, made anew each
time that the result is handed out. Only links into the tool's own bucket are changed.
"""

from collections.abc import Callable
from typing import TypeAlias

from stepwire.json_text import JsonObject, write
from stepwire.tasks.task import ToolResult

Sign: TypeAlias = Callable[[str, str], str]
"""Makes of a bucket and a key a URL that anybody may read for a short time."""


def signed(result: ToolResult, bucket: str | None, sign: Sign) -> ToolResult:
    """Give a result whose links into the bucket can be followed; the same object where it has none."""
    if bucket is None or f"s3://{bucket}/" not in result.text:
        return result
    value = result.value()
    return ToolResult(
        write({**value, "content": [_signed(one, bucket, sign) for one in value["content"]]}), result.is_error
    )


def _signed(block: JsonObject, bucket: str, sign: Sign) -> JsonObject:
    beginning = f"s3://{bucket}/"
    uri = str(block.get("uri", ""))
    if block["type"] != "resource_link" or not uri.startswith(beginning):
        return block
    return {**block, "uri": sign(bucket, uri.removeprefix(beginning))}
