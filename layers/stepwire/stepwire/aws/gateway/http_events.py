"""API Gateway's HTTP API (payload format 2.0): its event to a request, and a response to its result."""

import base64
import binascii
from datetime import datetime
from typing import Any, cast

from stepwire.principal import Caller
from stepwire.protocol.http import HttpRequest, HttpResponse


def request_of(event: dict[str, Any], caller: Caller, deadline: datetime | None = None) -> HttpRequest:
    """Return the request that an event carries; Lambda ends the invocation at the deadline."""
    headers = cast(dict[str, str], event.get("headers") or {})
    return HttpRequest(
        method=event["requestContext"]["http"]["method"],
        headers={name.lower(): value for name, value in headers.items()},
        body=_body(event),
        caller=caller,
        query=str(event.get("rawQueryString") or ""),
        deadline=deadline,
    )


def response_of(response: HttpResponse) -> dict[str, Any]:
    """Return a response in API Gateway's format."""
    return {
        "statusCode": response.status,
        "headers": dict(response.headers),
        "body": response.body,
        "isBase64Encoded": False,
    }


def _body(event: dict[str, Any]) -> bytes:
    # A lone surrogate is not valid UTF-8, and the parser refuses it as such.
    body = str(event.get("body") or "").encode(errors="surrogatepass")
    if not event.get("isBase64Encoded"):
        return body
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error:
        return body  # not valid base64; the parser refuses it, as it is no JSON either
