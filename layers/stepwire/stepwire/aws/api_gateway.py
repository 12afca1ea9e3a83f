"""API Gateway's HTTP API, payload format 2.0: event to request, response to what API Gateway expects."""

import base64
import binascii
from typing import Any, Final, cast

from stepwire.errors import NotSignedIn
from stepwire.json_text import as_object
from stepwire.principal import Principal, principal_of
from stepwire.protocol.http import HttpRequest, HttpResponse

ANONYMOUS: Final = ("anonymous",)


def request_of(event: dict[str, Any], principal: Principal) -> HttpRequest:
    """Read a request."""
    headers = cast(dict[str, str], event.get("headers") or {})
    return HttpRequest(
        method=event["requestContext"]["http"]["method"],
        headers={name.lower(): value for name, value in headers.items()},
        body=_body(event),
        principal=principal,
    )


def caller_of(event: dict[str, Any], salt: str, *, needs_sign_in: bool) -> Principal:
    """Name who is calling: the one whom the authorizer vouches for, or anybody where the stack asks for nobody.

    Raises:
        NotSignedIn: the stack asks for sign-in, and no authorizer has said who this is.
    """
    identity = _identity(event["requestContext"].get("authorizer") or {})
    if identity is None and needs_sign_in:
        raise NotSignedIn("The request came without sign-in.")
    return principal_of(identity or ANONYMOUS, salt)


def response_of(response: HttpResponse) -> dict[str, Any]:
    """Write a response."""
    return {
        "statusCode": response.status,
        "headers": dict(response.headers),
        "body": response.body,
        "isBase64Encoded": False,
    }


def _identity(authorizer: dict[str, Any]) -> tuple[str, ...] | None:
    claims = as_object(as_object(authorizer.get("jwt")).get("claims"))
    user_arn = as_object(authorizer.get("iam")).get("userArn")
    if claims.get("iss") and claims.get("sub"):
        return ("jwt", str(claims["iss"]), str(claims["sub"]))
    if claims.get("iss") and claims.get("client_id"):  # a machine: its tokens have no subject
        return ("client", str(claims["iss"]), str(claims["client_id"]))
    return ("iam", str(user_arn)) if user_arn else None


def _body(event: dict[str, Any]) -> bytes:
    # Half a character cannot be UTF-8 either, and is refused as such.
    body = str(event.get("body") or "").encode(errors="surrogatepass")
    if not event.get("isBase64Encoded"):
        return body
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error:
        return body  # what cannot be decoded is no JSON either, and is refused as such
