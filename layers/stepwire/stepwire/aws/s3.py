"""S3: presigned URLs, with which anybody can read an object for a short time, and objects that workflows left.

Signing makes no AWS call. The rule: what S3 says of an object never leaves this server; bucket and key neither.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError
from msgspec import Struct

from stepwire.aws.throttling import code_of
from stepwire.errors import ObjectsUnavailable, ObjectUnreadable

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_MISSING: Final = frozenset({"NoSuchKey", "NoSuchBucket"})
_DENIED: Final = frozenset({"AccessDenied", "AllAccessDisabled", "InvalidObjectState", "PermanentRedirect"})


class PresignedUrls(Struct, frozen=True, dict=True):
    """Presigns URLs. The client is built on the first call."""

    good_for: timedelta
    build_client: "Callable[[], S3Client]"

    @cached_property
    def _client(self) -> "S3Client":
        return self.build_client()

    def __call__(self, bucket: str, key: str) -> str:
        """Return a presigned URL of an object, which need not exist."""
        seconds = int(self.good_for.total_seconds())
        return self._client.generate_presigned_url("get_object", {"Bucket": bucket, "Key": key}, ExpiresIn=seconds)


class Objects(Struct, frozen=True, dict=True):
    """Reads objects. The client is built on the first call."""

    build_client: "Callable[[], S3Client]"

    @cached_property
    def _client(self) -> "S3Client":
        return self.build_client()

    def __call__(self, bucket: str, key: str, most: int) -> bytes:
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
        except ClientError as error:
            if code_of(error) in _MISSING:
                raise ObjectUnreadable("there is no such object") from error
            if code_of(error) in _DENIED:
                # S3 also says so of a missing object, to those who may not list the bucket.
                raise ObjectUnreadable("it is not there, or this server may not read it") from error
            raise ObjectsUnavailable from error
        except BotoCoreError as error:
            raise ObjectsUnavailable from error
