"""API Gateway's HTTP API, payload format 2.0: event to request, response to what API Gateway expects."""

import base64
import binascii
from datetime import datetime
from typing import Any, cast

from stepwire.aws.sign_in import Caller
from stepwire.protocol.http import HttpRequest, HttpResponse


def request_of(event: dict[str, Any], caller: Caller, deadline: datetime | None = None) -> HttpRequest:
    """Read a request, which is cut off at the deadline."""
    headers = cast(dict[str, str], event.get("headers") or {})
    return HttpRequest(
        method=event["requestContext"]["http"]["method"],
        headers={name.lower(): value for name, value in headers.items()},
        body=_body(event),
        principal=caller.principal,
        scopes=caller.scopes,
        deadline=deadline,
    )


def response_of(response: HttpResponse) -> dict[str, Any]:
    """Write a response."""
    return {
        "statusCode": response.status,
        "headers": dict(response.headers),
        "body": response.body,
        "isBase64Encoded": False,
    }


def _body(event: dict[str, Any]) -> bytes:
    # Half a character cannot be UTF-8 either, and is refused as such.
    body = str(event.get("body") or "").encode(errors="surrogatepass")
    if not event.get("isBase64Encoded"):
        return body
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error:
        return body  # what cannot be decoded is no JSON either, and is refused as such
