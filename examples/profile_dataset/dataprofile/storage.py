"""Reads objects from S3. The rule: only from the configured bucket.

The functions' role enforces the same (template.yaml); the check here gives a message that names the allowed bucket.
"""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import boto3
from botocore import exceptions
from botocore.config import Config
from botocore.exceptions import ClientError

from . import limits
from .errors import (
    DatasetChanged,
    DatasetError,
    DatasetInvalid,
    DatasetNotFound,
    DatasetRefused,
    DatasetTooLarge,
    StorageUnavailable,
)

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import GetObjectOutputTypeDef

_NOT_FOUND: Final = frozenset({"NoSuchBucket", "NoSuchKey", "AccessDenied", "403", "404"})
_CHANGED: Final = frozenset({"PreconditionFailed", "412"})
_SERVER_ERROR: Final = 500
_NO_ANSWER: Final = (exceptions.ConnectionError, exceptions.HTTPClientError)


@dataclass(frozen=True)
class StoredObject:
    """An object's content, with the ETag of exactly this content."""

    content: bytes
    etag: str


def fetch(uri: str, bucket: str, etag: str | None = None) -> StoredObject:
    """Return the object at an s3:// URI in the bucket, provided it still has the given ETag.

    Raises:
        DatasetError: any of its subclasses, as described in `errors`.
    """
    key = _key(uri, bucket)
    response = _get(uri, bucket, key, etag)
    if response["ContentLength"] > limits.S3_BYTES:
        response["Body"].close()
        raise DatasetTooLarge(
            f"{uri} has {response['ContentLength']:,} bytes; at most {limits.S3_BYTES:,} can be profiled."
        )
    try:
        return StoredObject(response["Body"].read(), response["ETag"])
    except (*_NO_ANSWER, exceptions.IncompleteReadError) as error:
        raise StorageUnavailable(f"S3 broke off while {uri} was read.") from error


def _key(uri: str, bucket: str) -> str:
    if not bucket:
        raise DatasetRefused(
            "This server was deployed without ProfileBucketName, so it reads nothing from S3. Send the data as csv."
        )
    # Not urlsplit's path: a key may hold `?` and `#`.
    scheme, _, rest = uri.partition("://")
    name, _, key = rest.partition("/")
    if scheme != "s3" or not name or not key:
        raise DatasetInvalid(f"{uri} is not the URI of an S3 object. It must look like s3://bucket/folder/file.csv.")
    if name != bucket:
        raise DatasetRefused(f"This server reads from the bucket {bucket} only, not from {name}.")
    return key


def _get(uri: str, bucket: str, key: str, etag: str | None) -> "GetObjectOutputTypeDef":
    try:
        if etag is None:
            return _client().get_object(Bucket=bucket, Key=key)
        return _client().get_object(Bucket=bucket, Key=key, IfMatch=etag)
    except ClientError as error:
        translated = _translated(error, uri)
        if translated is None:
            raise
        raise translated from error
    except _NO_ANSWER as error:
        raise StorageUnavailable("S3 does not answer.") from error


def _translated(error: ClientError, uri: str) -> DatasetError | None:
    code = error.response.get("Error", {}).get("Code", "")
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code in _NOT_FOUND:
        # Without s3:ListBucket, which nothing here needs, S3 answers AccessDenied for a missing object.
        return DatasetNotFound(f"There is no {uri}, or this server may not read it.")
    if code in _CHANGED:
        return DatasetChanged(f"{uri} was replaced while it was being profiled. Call the tool again.")
    if code == "SlowDown" or status >= _SERVER_ERROR:
        return StorageUnavailable(f"S3 answered {code}.")
    return None


@cache
def _client() -> "S3Client":
    # Few retries: the workflow retries too, with longer delays.
    config = Config(retries={"mode": "standard", "total_max_attempts": 2}, connect_timeout=5, read_timeout=20)
    return boto3.client("s3", config=config)  # pyright: ignore[reportUnknownMemberType] - not all stubs are there
