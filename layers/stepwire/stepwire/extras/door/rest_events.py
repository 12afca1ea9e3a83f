"""A REST API's events (payload format 1.0) in the words of an HTTP API's (2.0), and responses back.

So each function reads one form, and a stack may change its door without a caller noticing. The claims of a token come
from the token that function authorizer has verified, which its context names by digest, and are written as an HTTP API
writes them. What the HTTP API does by itself and a REST API leaves to functions is done here: CORS.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import Struct

from stepwire.extras.door.bearer_tokens import VERIFIED, digest_of, token_in
from stepwire.json_text import JsonObject, as_object
from stepwire.principal import claim_text, payload_of

ALLOWED_METHODS: Final = ("GET", "POST", "DELETE")
ALLOWED_HEADERS: Final = (
    *("accept", "authorization", "content-type", "idempotency-key", "last-event-id", "mcp-method", "mcp-name"),
    *("mcp-protocol-version", "mcp-session-id", "*"),
)
EXPOSED_HEADERS: Final = ("mcp-session-id", "retry-after", "www-authenticate", "x-amzn-remapped-www-authenticate")
MAX_AGE: Final = 3600  # seconds
Event = Mapping[str, Any]
Answer = Callable[[dict[str, Any]], dict[str, Any]]


class RestDoor(Struct, frozen=True):
    """Lets a function that answers an HTTP API answer a REST API."""

    origins: Collection[str] = ()
    """Of the web pages that may call."""

    def answer(self, event: Event, answer: Answer) -> dict[str, Any]:
        """Return the response to an event of a REST API, from what answers the event of an HTTP API."""
        asked = http_event_of(event)
        origin = asked["headers"].get("origin", "")
        allowed = {"access-control-allow-origin": origin} if origin in self.origins else {}
        if event["httpMethod"] == "OPTIONS":
            return _response(204, allowed and allowed | _PREFLIGHT)
        answered = answer(asked)
        headers = answered["headers"] | (allowed and allowed | _EXPOSED)
        return _response(answered["statusCode"], headers, answered["body"], answered.get("cookies", ()))


_PREFLIGHT: Final = {
    "access-control-allow-methods": ",".join(ALLOWED_METHODS),
    "access-control-allow-headers": ",".join(ALLOWED_HEADERS),
    "access-control-expose-headers": ",".join(EXPOSED_HEADERS),
    "access-control-max-age": str(MAX_AGE),
}
_EXPOSED: Final = {"access-control-expose-headers": ",".join(EXPOSED_HEADERS)}


def http_event_of(event: Event) -> dict[str, Any]:
    """Return the event that an HTTP API would have sent for the same request."""
    context, headers = as_object(event["requestContext"]), _headers_of(event)
    cookies = headers.pop("cookie", "")
    several: Mapping[str, list[str]] = event.get("multiValueQueryStringParameters") or {}
    return {
        "version": "2.0",
        "routeKey": f"{event['httpMethod']} {event['resource']}",
        "rawQueryString": urlencode(
            [(name, value) for name, values in several.items() for value in values], errors="replace"
        ),
        "headers": headers,
        "cookies": [one.strip() for one in cookies.split(";") if one.strip()],
        "pathParameters": event.get("pathParameters"),
        "requestContext": {
            "http": {"method": event["httpMethod"]},
            "authorizer": _caller_in(context, headers.get("authorization", "")),
        },
        "body": event.get("body"),
        "isBase64Encoded": event.get("isBase64Encoded", False),
    }


def _headers_of(event: Event) -> dict[str, str]:
    """Return the headers in lower case; several values of one are one value with commas."""
    several: Mapping[str, list[str]] = event.get("multiValueHeaders") or {}
    headers: dict[str, str] = {}
    for name, values in several.items():
        key, text = name.lower(), ",".join(values)
        headers[key] = f"{headers[key]},{text}" if key in headers else text
    return headers


def _caller_in(context: JsonObject, authorization: str) -> JsonObject:
    """Return who calls, as the HTTP API says it: what a token or a signature says; empty if neither was verified."""
    token = token_in(authorization)
    verified, signature = as_object(context.get("authorizer")).get(VERIFIED), as_object(context.get("identity"))
    # Where it is another token than the verified one, the request had two of the header.
    if verified and verified == digest_of(token):
        claims = {name: claim_text(value) for name, value in payload_of(token).items()}
        return {"jwt": {"claims": claims, "scopes": None}}
    if signature.get("userArn"):
        return {"iam": _signature(signature)}
    return {}


def _signature(identity: JsonObject) -> JsonObject:
    pool = {"identityId": identity.get("cognitoIdentityId"), "identityPoolId": identity.get("cognitoIdentityPoolId")}
    return {
        "accountId": identity.get("accountId"),
        "callerId": identity.get("caller"),
        "cognitoIdentity": pool if pool["identityId"] else None,
        "principalOrgId": identity.get("principalOrgId"),
        "userArn": identity.get("userArn"),
        "userId": identity.get("user"),
    }


def _response(status: int, headers: Mapping[str, str], body: str = "", cookies: Collection[str] = ()) -> dict[str, Any]:
    several = {"multiValueHeaders": {"set-cookie": list(cookies)}} if cookies else {}
    return {"statusCode": status, "headers": dict(headers), **several, "body": body, "isBase64Encoded": False}
