"""URLs of objects in S3 that anybody who has them may read, for a short time. Making one asks nothing of AWS."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True)
class PresignedUrls:
    """Makes URLs; the client is built when the first is wanted."""

    good_for: timedelta
    build_client: "Callable[[], S3Client]"

    @cached_property
    def _client(self) -> "S3Client":
        return self.build_client()

    def __call__(self, bucket: str, key: str) -> str:
        """Make the URL of an object; whether it is there, who follows it finds out."""
        seconds = int(self.good_for.total_seconds())
        return self._client.generate_presigned_url("get_object", {"Bucket": bucket, "Key": key}, ExpiresIn=seconds)
