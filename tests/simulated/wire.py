"""Requests to AWS as botocore sends them, and answers as it reads them, for services with JSON protocols."""

import json
from collections.abc import Generator, Mapping
from io import BytesIO
from typing import Any, cast

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders

from stepwire.aws.storage.items import USAGE


def answered(request: AWSPreparedRequest, status: int, body: Mapping[str, Any]) -> AWSResponse:
    """Return an answer of AWS."""
    headers = HTTPHeaders.from_dict({"content-type": "application/x-amz-json-1.0"})
    return AWSResponse(request.url, status, headers, cast(Any, _Body(json.dumps(body).encode())))


class _Body(BytesIO):
    def stream(self, **_: object) -> Generator[bytes]:
        yield self.read()


def subject_of(request: AWSPreparedRequest) -> str:
    """Return the subject of a call to the table: a task, an idempotency key, a caller's usage."""
    body: Mapping[str, Any] = json.loads(cast(Any, request.body) or b"{}")
    if "RequestItems" in body:
        return "tasks"
    if "KeyConditionExpression" in body:
        values = body["ExpressionAttributeValues"]
        kind = {**values.get(":prefix", {}), **values.get(":first", {})}.get("S", "").partition("#")[0]
        return kind if kind in {"events", "change", USAGE} else body.get("IndexName", "tasks")
    sort_key = {**body.get("Item", {}), **body.get("Key", {})}.get("sk", {}).get("S", "")
    return sort_key.partition("#")[0]
