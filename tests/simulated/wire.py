"""Requests to AWS as botocore sends them, and answers as it reads them: with JSON, and errors of S3."""

import json
from collections.abc import Generator, Mapping
from io import BytesIO
from typing import Any, Final, cast

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders

from stepwire.aws.storage.limiter import USAGE


def answered(request: AWSPreparedRequest, status: int, body: Mapping[str, Any]) -> AWSResponse:
    """Return an answer of AWS."""
    headers = HTTPHeaders.from_dict({"content-type": "application/x-amz-json-1.0"})
    return AWSResponse(request.url, status, headers, cast(Any, _Body(json.dumps(body).encode())))


def refused_by_s3(request: AWSPreparedRequest, status: int, code: str) -> AWSResponse:
    """Return an error of S3, which answers with XML."""
    body = f"<Error><Code>{code}</Code><Message>a fault of the tests</Message></Error>"
    headers = HTTPHeaders.from_dict({"content-type": "application/xml"})
    return AWSResponse(request.url, status, headers, cast(Any, _Body(body.encode())))


class _Body(BytesIO):
    def stream(self, **_: object) -> Generator[bytes]:
        yield self.read()


_OF_APPROVERS: Final = {"'approvals#": "inbox", "'subscribers#": "subscriber"}
"""The subjects of items under the digests of approvers' qualities, by how their keys begin."""


def subject_of(request: AWSPreparedRequest) -> str:
    """Return the subject of a call to the table or to S3: a task, an idempotency key, a caller's usage, a result."""
    if ".s3." in request.url:
        return "result" if "large-results" in request.url else "output"
    body: Mapping[str, Any] = json.loads(cast(Any, request.body) or b"{}")
    is_query = "KeyConditionExpression" in body
    keys = body["ExpressionAttributeValues"] if is_query else {**body.get("Item", {}), **body.get("Key", {})}
    text = str(body.get("RequestItems") or body.get("TransactItems") or keys)
    of_approvers = next((subject for begin, subject in _OF_APPROVERS.items() if begin in text), None)
    if of_approvers is not None:
        return of_approvers
    if "RequestItems" in body:
        return "tasks"
    if "TransactItems" in body:
        return "line"
    return _queried(body, keys) if is_query else keys.get("sk", {}).get("S", "").partition("#")[0]


def _queried(body: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    kind = {**values.get(":prefix", {}), **values.get(":first", {})}.get("S", "").partition("#")[0]
    if "line" in str(values.get(":pk", values.get(":line", ""))):
        return kind or "lines"
    return kind if kind in {"events", "change", USAGE} else body.get("IndexName", "tasks")
