"""An API of API Gateway, HTTP or REST: its routes, how a request finds one, and the gateway's own responses.

Pure. The two kinds share one table of routes; what differs is in `Api`. Events and results
are payloads.py's. The sources are the API Gateway developer guide, "HTTP API quotas" and "Gateway response types".
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import unquote

from stepwire_local.gateway.cors import Cors
from stepwire_local.gateway.function_authorizers import FunctionAuthorizer
from stepwire_local.gateway.header_changes import HeaderChange
from stepwire_local.gateway.jwt_tokens import JwtAuthorizer, SignedIn
from stepwire_local.gateway.signatures import SignatureAuthorizer
from stepwire_local.lambdas.functions import Function

HEADERS_LIMIT = 10_240  # bytes, of all header lines together with the request line
BODY_LIMIT = 10 * 1024 * 1024  # bytes


@dataclass(frozen=True)
class Integration:
    """A function as the target of a route."""

    function: Function
    timeout: float  # seconds
    payload: Literal["1.0", "2.0"] = "2.0"
    header_changes: Mapping[int, Sequence[HeaderChange]] = field(default_factory=dict[int, Sequence[HeaderChange]])
    """Changes of the headers of responses, by status."""


@dataclass(frozen=True)
class Route:
    """A route of the API; `authorization` is NONE, JWT, AWS_IAM or CUSTOM.

    AWS_IAM, and CUSTOM without an authorizer, refuse every request here.
    """

    key: str
    integration: "Integration | Response"  # a response that never changes, such as that of a CORS preflight
    authorization: str = "NONE"
    authorizer: JwtAuthorizer | FunctionAuthorizer | SignatureAuthorizer | None = None
    scopes: tuple[str, ...] = ()


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
    path: str = ""  # as sent, without the stage
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    caller: SignedIn | None = None
    context: Mapping[str, Any] | None = None
    """What a function authorizer, or a signature, says of the caller."""


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


@dataclass(frozen=True)
class Replies:
    """The responses of one kind of API where no function answers."""

    no_route: Response
    failed: Response  # the function failed, or its result is malformed
    timed_out: Response
    unauthorized: Response = UNAUTHORIZED  # there is no token, of a REST API's function authorizer
    denied: Response = FORBIDDEN  # that authorizer does not allow the request
    broken: Response = INTERNAL_SERVER_ERROR  # that authorizer failed
    content_type: str = "text/plain; charset=utf-8"  # of a function's response that names none


OF_HTTP_APIS = Replies(NOT_FOUND, INTERNAL_SERVER_ERROR, SERVICE_UNAVAILABLE)
OF_REST_APIS = Replies(
    message(403, "Missing Authentication Token"),
    message(502, "Internal server error"),
    message(504, "Endpoint request timed out"),
    content_type="application/json",
    denied=message(403, "User is not authorized to access this resource with an explicit deny"),
)
# The gateway responses of a REST API that can be customized here, and the replies that they are.
_CUSTOMIZED = {
    "MISSING_AUTHENTICATION_TOKEN": "no_route",
    "UNAUTHORIZED": "unauthorized",
    "ACCESS_DENIED": "denied",
    "AUTHORIZER_FAILURE": "broken",
}


def customized(described: Mapping[str, Mapping[str, Any]]) -> Replies:
    """Return the replies of a REST API after its gateway responses, of which constants are served."""
    found = {_CUSTOMIZED[name]: one for name, one in described.items() if name in _CUSTOMIZED}
    return replace(OF_REST_APIS, **{name: _customized(getattr(OF_REST_APIS, name), one) for name, one in found.items()})


def _customized(usual: Response, described: Mapping[str, Any]) -> Response:
    given = {name.rpartition(".")[2]: str(value) for name, value in described.get("responseParameters", {}).items()}
    constant = [(name.lower(), value[1:-1]) for name, value in given.items() if value.startswith("'")]
    body = described.get("responseTemplates", {}).get("application/json")
    return Response(
        int(described.get("statusCode", usual.status)),
        (*usual.headers, *constant),
        usual.body if body is None else str(body).encode(),
    )


DEFAULT_STAGE = "$default"


@dataclass(frozen=True)
class Api:
    """An API with its routes; the stage in a path may be left out, as that of the stage $default always is."""

    id: str
    account: str
    region: str
    routes: Sequence[Route] = ()
    cors: Cors | None = None
    stage: str = DEFAULT_STAGE
    variables: Mapping[str, str] = field(default_factory=dict[str, str])  # of the stage
    binary: Sequence[str] | None = None  # of REST APIs: media types of bodies in base64; None: as an HTTP API decides
    own_replies: Replies | None = None  # in place of those of its kind

    @property
    def is_rest(self) -> bool:
        """Return whether this is a REST API."""
        return self.binary is not None

    @property
    def replies(self) -> Replies:
        """Return the responses where no function answers."""
        return self.own_replies or (OF_REST_APIS if self.is_rest else OF_HTTP_APIS)

    @property
    def domain(self) -> str:
        """Return the domain that the API would have in AWS."""
        return f"{self.id}.execute-api.{self.region}.amazonaws.com"

    def match(self, method: str, path: str) -> "Match | None":
        """Return the route for a path after the name of the stage; if there is none, for the whole path."""
        found = (find_route(self.routes, method, one) for one in self._paths(path))
        return next(filter(None, found), None)

    def _paths(self, path: str) -> Iterator[str]:
        prefix = f"/{self.stage}"
        path = path.rstrip("/") or "/" if self.is_rest else path  # to REST APIs, a slash at the end says nothing
        if path == prefix or path.startswith(f"{prefix}/"):
            yield path.removeprefix(prefix) or "/"
        yield path


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
        return Match(route, path)
    verb, _, pattern = route.key.partition(" ")
    if verb not in ("ANY", method):
        return None
    found = re.fullmatch(_expression(pattern), path)
    return Match(route, path, {name: unquote(value) for name, value in found.groupdict().items()}) if found else None


def _expression(pattern: str) -> str:
    parts = re.split(r"\{(\w+\+?)\}", pattern)
    # Behind a path of its own, a greedy variable may be empty: /mcp/ is of /mcp/{proxy+}.
    greedy = ".+" if parts[0] == "/" else ".*"
    variables = (f"(?P<{name.rstrip('+')}>{greedy if name.endswith('+') else '[^/]+'})" for name in parts[1::2])
    texts = [re.escape(text) for text in parts[::2]]
    return texts[0] + "".join(variable + text for variable, text in zip(variables, texts[1:], strict=True))


def _rank(key: str) -> tuple[bool, bool, int, bool]:
    return key == "$default", "+}" in key, key.count("{"), key.startswith("ANY ")
