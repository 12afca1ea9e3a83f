"""An API Gateway HTTP API: finds the route of a request, makes its event, and turns the result into a response.

Pure: bytes and mappings in, bytes and mappings out; time and ids are arguments. Payload format 2.0 only. The sources
are the API Gateway developer guide, "AWS Lambda proxy integrations for HTTP APIs" and "HTTP API quotas".
"""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar, cast, get_origin
from urllib.parse import parse_qsl, unquote

from stepwire_local.gateway import jwt_tokens
from stepwire_local.gateway.cors import Cors
from stepwire_local.gateway.header_changes import HeaderChange
from stepwire_local.gateway.jwt_tokens import JwtAuthorizer, SignedIn
from stepwire_local.lambdas.functions import Failed, Function, Outcome

Shape = TypeVar("Shape")

HEADERS_LIMIT = 10_240  # bytes, of all header lines together with the request line
BODY_LIMIT = 10 * 1024 * 1024  # bytes

# Headers of one connection, not of the message; the HTTP server sets its own.
_HOP_BY_HOP = frozenset(
    (
        "connection",
        "content-length",
        "keep-alive",
        "proxy-authenticate",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
# A function cannot set these headers; API Gateway renames them.
_REMAPPED = {"www-authenticate": "x-amzn-remapped-www-authenticate"}

# Bodies of these types are passed as text; all others are base64-encoded.
_TEXT = re.compile(r"^(text/.*|application/(json|xml|javascript|.*\+(json|xml)))$")


@dataclass(frozen=True)
class Integration:
    """The target of a route."""

    function: Function
    timeout: float  # seconds
    header_changes: Mapping[int, Sequence[HeaderChange]] = field(default_factory=dict[int, Sequence[HeaderChange]])
    """Changes of the headers of responses, by status."""


@dataclass(frozen=True)
class Route:
    """A route of the API; `authorization` is NONE, JWT, AWS_IAM or CUSTOM. The last two refuse every request here."""

    key: str
    integration: Integration
    authorization: str = "NONE"
    authorizer: JwtAuthorizer | None = None
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True)
class HttpApi:
    """An HTTP API with its routes; served without a stage in the path, as the stage $default is."""

    id: str
    account: str
    region: str
    routes: Sequence[Route] = ()
    cors: Cors | None = None

    @property
    def domain(self) -> str:
        """Return the domain that the API would have in AWS."""
        return f"{self.id}.execute-api.{self.region}.amazonaws.com"


@dataclass(frozen=True)
class Request:
    """An HTTP request as it arrived."""

    method: str
    path: str  # as sent: percent-encoded
    query: str
    headers: Sequence[tuple[str, str]]
    body: bytes
    source: str
    protocol: str = "HTTP/1.1"


@dataclass(frozen=True)
class Response:
    """An HTTP response as it is sent."""

    status: int
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""


@dataclass(frozen=True)
class Match:
    """The route for a request and, if the route requires sign-in, the caller."""

    route: Route
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    caller: SignedIn | None = None


def message(status: int, text: str, *headers: tuple[str, str]) -> Response:
    """Return one of API Gateway's own responses."""
    body = json.dumps({"message": text}).encode()
    return Response(status, (("content-type", "application/json"), *headers), body)


FORBIDDEN = message(403, "Forbidden")
HEADERS_TOO_LARGE = message(431, "Request Header Fields Too Large")
INTERNAL_SERVER_ERROR = message(500, "Internal Server Error")
NOT_FOUND = message(404, "Not Found")
SERVICE_UNAVAILABLE = message(503, "Service Unavailable")
TOO_LARGE = message(413, "Request Entity Too Large")
UNAUTHORIZED = message(401, "Unauthorized")

# The response to a caller without sign-in. Only JWT sign-in is served, so other routes always answer with theirs.
_REFUSALS = {"JWT": UNAUTHORIZED, "CUSTOM": UNAUTHORIZED, "AWS_IAM": FORBIDDEN}


def refusal(route: Route) -> Response | None:
    """Return the response to every request on a route whose sign-in is not served; None for other routes."""
    if route.authorization == "NONE" or route.authorizer is not None:
        return None
    return _REFUSALS.get(route.authorization, FORBIDDEN)


def unauthorized(reason: str | None) -> Response:
    """Return the response to a request without a token (no reason) or with an invalid one."""
    error = f' scope="" error="invalid_token" error_description="{_quoted(reason)}"' if reason else ""
    return message(401, "Unauthorized", ("www-authenticate", f"Bearer{error}"))


def out_of_scope(route: Route) -> Response:
    """Return the response to a request whose token has none of the route's scopes."""
    wanted = _quoted(" ".join(route.scopes))
    reason = "the token does not have a required scope"  # RFC 6750; API Gateway's own words are not documented
    challenge = f'Bearer scope="{wanted}" error="insufficient_scope" error_description="{reason}"'
    return message(403, "Forbidden", ("www-authenticate", challenge))


def _quoted(text: str) -> str:
    # Text from a token must not break out of the header.
    return re.sub(r"[^ !#-\[\]-~]", "?", text)


def find_route(routes: Iterable[Route], method: str, path: str) -> Match | None:
    """Return the most specific route: a full match, then one with a greedy variable, then $default."""
    matches = [match for route in routes if (match := _match(route, method, path))]
    return min(matches, key=lambda match: _rank(match.route.key), default=None)


def _match(route: Route, method: str, path: str) -> Match | None:
    if route.key == "$default":
        return Match(route)
    verb, _, pattern = route.key.partition(" ")
    if verb not in ("ANY", method):
        return None
    found = re.fullmatch(_expression(pattern), path)
    return Match(route, {name: unquote(value) for name, value in found.groupdict().items()}) if found else None


def _expression(pattern: str) -> str:
    parts = re.split(r"\{(\w+\+?)\}", pattern)
    variables = (f"(?P<{name.rstrip('+')}>{'.+' if name.endswith('+') else '[^/]+'})" for name in parts[1::2])
    texts = [re.escape(text) for text in parts[::2]]
    return texts[0] + "".join(variable + text for variable, text in zip(variables, texts[1:], strict=True))


def _rank(key: str) -> tuple[bool, bool, int, bool]:
    return key == "$default", "+}" in key, key.count("{"), key.startswith("ANY ")


def event(api: HttpApi, match: Match, request: Request, *, request_id: str, at: datetime) -> dict[str, Any]:
    """Return the event of payload format 2.0; the event leaves out what the request leaves out."""
    headers = _forwarded(request, request_id)
    cookies = headers.pop("cookie", None)
    made: dict[str, Any] = {
        "version": "2.0",
        "routeKey": match.route.key,
        "rawPath": unquote(request.path),
        "rawQueryString": request.query,
        "headers": headers,
        "requestContext": _context(api, match, request, headers, request_id, at),
    }
    if cookies is not None:
        made["cookies"] = [cookie.strip() for cookie in re.split(r"[;,]", cookies)]
    if request.query:
        made["queryStringParameters"] = _joined(parse_qsl(request.query, keep_blank_values=True), lower=False)
    if match.parameters:
        made["pathParameters"] = dict(match.parameters)
    return made | _body(headers.get("content-type", ""), request.body)


def _forwarded(request: Request, request_id: str) -> dict[str, str]:
    kept = [(name, value) for name, value in request.headers if name.lower() not in _HOP_BY_HOP - {"content-length"}]
    host = next((value for name, value in kept if name.lower() == "host"), "")
    port = re.search(r":(\d+)$", host)
    added = (
        ("x-amzn-trace-id", f"Root=1-{request_id[:8]}-{request_id.replace('-', '')[8:]}"),
        ("x-forwarded-for", request.source),
        ("x-forwarded-port", port[1] if port else "80"),
        ("x-forwarded-proto", "http"),
    )
    return _joined([*kept, *added])


def _context(
    api: HttpApi, match: Match, request: Request, headers: Mapping[str, str], request_id: str, at: datetime
) -> dict[str, Any]:
    caller = {"authorizer": jwt_tokens.authorizer_context(match.caller, match.route.scopes)} if match.caller else {}
    return {
        **caller,
        "accountId": api.account,
        "apiId": api.id,
        "domainName": headers.get("host", api.domain),
        "domainPrefix": api.id,
        "http": {
            "method": request.method,
            "path": unquote(request.path),
            "protocol": request.protocol,
            "sourceIp": request.source,
            "userAgent": headers.get("user-agent", ""),
        },
        "requestId": request_id,
        "routeKey": match.route.key,
        "stage": "$default",
        "time": at.strftime("%d/%b/%Y:%H:%M:%S +0000"),
        "timeEpoch": int(at.timestamp() * 1000),
    }


def _joined(pairs: Iterable[tuple[str, str]], *, lower: bool = True) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in pairs:
        key = name.lower() if lower else name
        joined[key] = f"{joined[key]},{value}" if key in joined else value
    return joined


def _body(content_type: str, body: bytes) -> dict[str, Any]:
    if not body:
        return {"isBase64Encoded": False}
    if _TEXT.match(content_type.partition(";")[0].strip().lower()):
        try:
            return {"body": body.decode(), "isBase64Encoded": False}
        except UnicodeDecodeError:
            pass  # not text, whatever its content type says
    return {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}


def response(outcome: Outcome) -> Response:
    """Return the response for the outcome of a function; that of a failure has no details."""
    if isinstance(outcome, Failed):
        return INTERNAL_SERVER_ERROR
    result = json.loads(outcome.payload)
    if not isinstance(result, dict) or "statusCode" not in result:
        # As API Gateway infers: the whole result is the body.
        text = result if isinstance(result, str) else outcome.payload
        return Response(200, (("content-type", "application/json"),), text.encode())
    try:
        return _explicit(cast("dict[str, Any]", result))
    except (binascii.Error, TypeError, ValueError):
        return INTERNAL_SERVER_ERROR


def _explicit(result: dict[str, Any]) -> Response:
    status = int(result["statusCode"])
    if not 100 <= status <= 599:  # noqa: PLR2004  # the bounds of HTTP
        raise ValueError(status)
    given = _expected(dict[str, Any], result.get("headers") or {})
    headers = {_REMAPPED.get(name.lower(), name.lower()): _header(value) for name, value in given.items()}
    headers = {name: value for name, value in headers.items() if name not in _HOP_BY_HOP}
    headers.setdefault("content-type", "text/plain; charset=utf-8")
    cookies = [("set-cookie", _header(cookie)) for cookie in _expected(list[Any], result.get("cookies") or [])]
    text = _expected(str, result.get("body") or "")
    body = base64.b64decode(text, validate=True) if result.get("isBase64Encoded") else text.encode()
    return Response(status, (*headers.items(), *cookies), body)


def _expected(kind: type[Shape], value: Any) -> Shape:
    if not isinstance(value, get_origin(kind) or kind):
        raise TypeError(f"{kind} was expected")
    return value


def _header(value: object) -> str:
    if isinstance(value, dict | list) or value is None:
        raise TypeError("a header has one value")
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if "\r" in text or "\n" in text:
        raise ValueError(text)
    return text
