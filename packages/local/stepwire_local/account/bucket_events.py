"""What a bucket says of its objects: the record of a notification, and the event on the bus.

Pure, but for the number that orders events. The sources are two pages of the S3 user guide, "Event message structure"
and "EventBridge event message structure".
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote_plus

_sequence: Final = itertools.count(1)
_NOBODY: Final = "A1LOCAL"
_REASONS: Final[Mapping[str, str]] = {
    "ObjectCreated:CompleteMultipartUpload": "CompleteMultipartUpload",
    "ObjectCreated:Copy": "CopyObject",
    "ObjectCreated:Post": "POST Object",
    "ObjectCreated:Put": "PutObject",
    "ObjectRemoved:Delete": "DeleteObject",
    "ObjectRemoved:DeleteMarkerCreated": "DeleteObject",
}
_DELETIONS: Final[Mapping[str, str]] = {
    "ObjectRemoved:Delete": "Permanently Deleted",
    "ObjectRemoved:DeleteMarkerCreated": "Delete Marker Created",
}


@dataclass(frozen=True)
class Happened:
    """What happened to an object."""

    name: str  # without the prefix s3:
    bucket: str
    region: str
    account: str
    key: str
    at: datetime
    request: str  # an id
    size: int | None = None  # bytes; None: there is no object any more
    etag: str = ""
    version: str = ""

    @property
    def arn(self) -> str:
        """Return the ARN of the bucket."""
        return f"arn:aws:s3:::{self.bucket}"


def record(happened: Happened, configuration: str) -> dict[str, Any]:
    """Return the event that a function, a queue or a topic gets; `configuration` is the id of the notification."""
    thing = {
        "key": quote_plus(happened.key, safe="/"),
        **({} if happened.size is None else {"size": happened.size}),
        **({"eTag": happened.etag} if happened.etag else {}),
        **({"versionId": happened.version} if happened.version else {}),
        "sequencer": _next(),
    }
    bucket = {"name": happened.bucket, "ownerIdentity": {"principalId": _NOBODY}, "arn": happened.arn}
    made = {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "awsRegion": happened.region,
        "eventTime": happened.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
        "eventName": happened.name,
        "userIdentity": {"principalId": f"AWS:{_NOBODY}"},
        "requestParameters": {"sourceIPAddress": "127.0.0.1"},
        "responseElements": {"x-amz-request-id": happened.request, "x-amz-id-2": happened.request},
        "s3": {"s3SchemaVersion": "1.0", "configurationId": configuration, "bucket": bucket, "object": thing},
    }
    return {"Records": [made]}


def on_the_bus(happened: Happened, detail_type: str) -> dict[str, Any]:
    """Return the event that EventBridge gets."""
    thing = {
        "key": happened.key,
        **({} if happened.size is None else {"size": happened.size}),
        **({"etag": happened.etag} if happened.etag else {}),
        **({"version-id": happened.version} if happened.version else {}),
        "sequencer": _next(),
    }
    deletion = _DELETIONS.get(happened.name)
    return {
        "version": "0",
        "id": happened.request,
        "detail-type": detail_type,
        "source": "aws.s3",
        "account": happened.account,
        "time": happened.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": happened.region,
        "resources": [happened.arn],
        "detail": {
            "version": "0",
            "bucket": {"name": happened.bucket},
            "object": thing,
            "request-id": happened.request,
            "requester": happened.account,
            "source-ip-address": "127.0.0.1",
            "reason": _REASONS.get(happened.name, happened.name),
            **({"deletion-type": deletion} if deletion else {}),
        },
    }


def _next() -> str:
    return f"{next(_sequence):016X}"
