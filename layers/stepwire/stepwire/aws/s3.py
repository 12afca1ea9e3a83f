"""S3: presigned URLs, with which anybody can read an object for a short time; objects that workflows left; results.

Signing makes no AWS call. The rule: what S3 says of an object never leaves this server; bucket and key neither.

A result that is too large for an item of the table is an object in the bucket of the stack, whose lifecycle removes it:

    key of an object  a digest of the owner's principal + "/" + the task's id + "/" + a digest of the content
"""

import hashlib
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError
from msgspec import Struct

from stepwire.aws.clients import code_of
from stepwire.errors import LargeResultsDenied, ObjectsUnavailable, ObjectUnreadable, PartMissing
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskKey

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_LINK_LIFETIME: Final = 900  # seconds
_MISSING: Final = frozenset({"NoSuchKey", "NoSuchBucket"})
_DENIED: Final = frozenset({"AccessDenied", "AllAccessDisabled", "InvalidObjectState", "PermanentRedirect"})
# To those who may not list a bucket, S3 says AccessDenied of a missing object too.
_RESULT_MISSING: Final = _MISSING | {"AccessDenied"}
_BUCKET_DENIED: Final = frozenset({"AccessDenied", "AllAccessDisabled", "NoSuchBucket"})
_OF_THE_KEY: Final = "KMS."  # begins the codes of a KMS key that is disabled, deleted or not there


class Objects(Struct, frozen=True, dict=True):
    """Objects that workflows left. The client is built on the first call."""

    build_client: "Callable[[], S3Client]"

    @cached_property
    def _client(self) -> "S3Client":
        return self.build_client()

    def sign(self, bucket: str, key: str) -> str:
        """Return a presigned URL of an object, which need not exist."""
        asked = {"Bucket": bucket, "Key": key}
        return self._client.generate_presigned_url("get_object", asked, ExpiresIn=_LINK_LIFETIME)

    def read(self, bucket: str, key: str, most: int) -> bytes:
        """Return the content of an object of at most `most` bytes.

        Raises:
            ObjectUnreadable: there is none, this server may not read it, or it is larger.
            ObjectsUnavailable: S3 does not answer.
        """
        try:
            found = self._client.get_object(Bucket=bucket, Key=key)
            size = found["ContentLength"]
            if size > most:
                found["Body"].close()
                raise ObjectUnreadable(f"it has {size:,} bytes, and at most {most:,} can be returned")
            return found["Body"].read()
        except (ClientError, BotoCoreError) as error:
            if code_of(error) in _MISSING:
                raise ObjectUnreadable("there is no such object") from error
            if code_of(error) in _DENIED:
                # S3 also says so of a missing object, to those who may not list the bucket.
                raise ObjectUnreadable("it is not there, or this server may not read it") from error
            raise ObjectsUnavailable from error


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
            raise (PartMissing() if code_of(error) in _RESULT_MISSING else _unavailable(error)) from error


def prefix_of(owner: Principal) -> str:
    """Return how the keys of a caller's results begin."""
    return f"{hashlib.blake2b(owner.encode(), digest_size=16).hexdigest()}/"


def _object_key(key: TaskKey, digest: str) -> str:
    return f"{prefix_of(key.owner)}{key.task_id}/{digest}"


def _unavailable(error: ClientError | BotoCoreError) -> ObjectsUnavailable:
    code = code_of(error)
    return LargeResultsDenied() if code in _BUCKET_DENIED or code.startswith(_OF_THE_KEY) else ObjectsUnavailable()
