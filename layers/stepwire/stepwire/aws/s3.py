"""Presigned URLs of S3 objects: whoever has one can read the object for a short time. Signing makes no AWS call."""

from collections.abc import Callable
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from stepwire.lean_dataclasses import dataclass

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True)
class PresignedUrls:
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
