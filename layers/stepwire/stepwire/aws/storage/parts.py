"""What is too large for the head of a task: read from the table, or from the bucket of the stack.

    key of an object  a digest of the owner's principal + "/" + the task's id + "/" + a digest of the content

`items` divides a task. Its rule holds for objects too: one is written before the head that names it, and never changes
its content. The bucket's lifecycle removes objects, whether a head names them or not.
"""

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError
from msgspec import Struct

from stepwire.aws.storage.items import IN_BUCKET, Divided, result_key, result_of, terms_key, terms_of
from stepwire.aws.storage.table import Item, Table
from stepwire.errors import LargeResultsDenied, ObjectsUnavailable, PartMissing
from stepwire.tasks.ids import TaskKey
from stepwire.tasks.task import ResultElsewhere, Task, Terms, ToolResult

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# To those who may not list a bucket, S3 says AccessDenied of a missing object too.
_MISSING: Final = frozenset({"NoSuchKey", "NoSuchBucket", "AccessDenied"})
_DENIED: Final = frozenset({"AccessDenied", "AllAccessDisabled", "NoSuchBucket"})
_OF_THE_KEY: Final = "KMS."  # begins the codes of a KMS key that is disabled, deleted or not there


def no_large_results() -> "LargeResults":
    """Stand for the bucket in a function that has none."""
    raise NotImplementedError("this function neither records ends nor returns results")


class Parts(Struct, frozen=True):
    """`TaskParts` in a DynamoDB table and a bucket."""

    table: Table
    large_results: "Callable[[], LargeResults]"

    def write(self, divided: Divided) -> None:
        """Write the parts of a task. Idempotent.

        Raises:
            ObjectsUnavailable: S3 does not answer, or the bucket is denied.
        """
        for item in divided.parts:
            self.table.put(item)
        if divided.large_result is not None:
            self.large_results().write(divided.head.key, divided.large_result.digest, divided.large_result.text)

    def terms_of(self, task: Task) -> Terms:
        terms = task.work.terms
        return terms if isinstance(terms, Terms) else terms_of(self._read(terms_key(task.key, terms)))

    def result_of(self, task: Task, kept: ResultElsewhere) -> ToolResult:
        if kept.place.startswith(IN_BUCKET):
            text = self.large_results().read(task.key, kept.place.removeprefix(IN_BUCKET))
            return ToolResult(text, kept.is_error)
        return result_of(self._read(result_key(task.key, kept)), kept)

    def _read(self, key: Item) -> Item:
        found = self.table.get(key)
        if found is None:
            raise PartMissing
        return found


class LargeResults(Struct, frozen=True):
    """Writes and reads large results."""

    bucket: str
    client: "S3Client"

    def write(self, key: TaskKey, digest: str, text: str) -> None:
        """Write a result. Idempotent.

        Raises:
            LargeResultsDenied: this server may not write to the bucket, or use its key.
            ObjectsUnavailable: S3 does not answer; it may or may not be written.
        """
        try:
            self.client.put_object(Bucket=self.bucket, Key=_object_key(key, digest), Body=text.encode())
        except (ClientError, BotoCoreError) as error:
            raise _unavailable(error) from error

    def read(self, key: TaskKey, digest: str) -> str:
        """Return a result.

        Raises:
            PartMissing: somebody deleted it, or this server may not read it.
            LargeResultsDenied: the bucket's key cannot be used.
            ObjectsUnavailable: S3 does not answer.
        """
        try:
            found = self.client.get_object(Bucket=self.bucket, Key=_object_key(key, digest))
            return found["Body"].read().decode()
        except (ClientError, BotoCoreError) as error:
            raise (PartMissing() if _code_of(error) in _MISSING else _unavailable(error)) from error


def _object_key(key: TaskKey, digest: str) -> str:
    owner = hashlib.blake2b(key.owner.encode(), digest_size=16).hexdigest()
    return f"{owner}/{key.task_id}/{digest}"


def _unavailable(error: ClientError | BotoCoreError) -> ObjectsUnavailable:
    code = _code_of(error)
    return LargeResultsDenied() if code in _DENIED or code.startswith(_OF_THE_KEY) else ObjectsUnavailable()


def _code_of(error: ClientError | BotoCoreError) -> str:
    """Return the code of an answer; empty: S3 did not answer."""
    return error.response.get("Error", {}).get("Code", "") if isinstance(error, ClientError) else ""
