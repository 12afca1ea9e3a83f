"""The way in: a ladder from an HTTP request to a message that can be served. The first rung that fails is the answer.

Both eras, cheapest and most protective first:
  1. the Origin is allowed: nothing is read for a foreign web page (M2, L5)
  2. it is a POST, which alone carries messages, or a GET that goes on with a stream (L9)
  3. it brings JSON that is not compressed, and takes JSON (M7); a GET takes events
  4. the body is JSON within the limits (M5), and one object; from here on, errors carry the request's id (M20)
  5. the body is one message, and cannot be understood in two ways (M5, M25)
  6. the era: modern `_meta` decides, then `initialize`, then the version header (A2); nothing else
Legacy only: the session, where there is one, can be read (L10)
Modern only:
  7. `_meta` is complete (M15)
  8. the headers agree with the body (M12, M13): told apart before the version, so that a client that contradicts itself
     hears that and not that its version is unknown
  9. the version is served (M17)
 10. the method exists (M18): by the dispatch table, before Mcp-Name is held against anything
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias, cast

from stepwire.errors import (
    BodyTooLarge,
    HeaderMismatch,
    HttpMethodNotAllowed,
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    NotAcceptable,
    OriginNotAllowed,
    UnsupportedMediaType,
    UnsupportedProtocolVersion,
)
from stepwire.json_text import JsonObject, as_object
from stepwire.protocol import headers as names
from stepwire.protocol.headers import check_routing_headers, header
from stepwire.protocol.http import HttpRequest
from stepwire.protocol.messages import Message, Notification, Request, Response
from stepwire.protocol.sessions import Session, session_of
from stepwire.protocol.versions import (
    ASSUMED_VERSION,
    LEGACY_VERSIONS,
    META_CAPABILITIES,
    META_VERSION,
    MODERN_VERSIONS,
)

# The largest workflow input, 262,144 bytes, fits twice over: JSON may escape what Step Functions counts plain.
LARGEST_BODY: Final = 1_048_576  # bytes
_NO_WEIGHT: Final = re.compile(r"q=0(\.0{0,3})?")


@dataclass(frozen=True)
class Legacy:
    """A message of the era in which a session is opened with `initialize`."""

    message: Message
    version: str
    session: Session = field(default_factory=Session)


@dataclass(frozen=True)
class Modern:
    """A message of the era in which every request says all there is to know."""

    message: Request | Notification
    client_capabilities: JsonObject


Inbound: TypeAlias = Legacy | Modern


def check_transport(request: HttpRequest, allowed_origins: Collection[str]) -> None:
    """Climb rungs 1 to 4, short of parsing.

    Raises:
        InvalidRequest: the kind that says which rung.
    """
    origin = header(request.headers, "origin")
    if origin is not None and origin not in allowed_origins:
        raise OriginNotAllowed("Web pages of this origin may not call this server.")
    if request.method == "GET":
        check_resumption(request.headers)
        return
    if request.method != "POST":
        raise HttpMethodNotAllowed("Only POST is served here; a session holds nothing, and needs no end.")
    if _media_type(header(request.headers, "content-type")) != "application/json":
        raise UnsupportedMediaType("The Content-Type must be application/json.")
    if (header(request.headers, "content-encoding") or "identity").lower() != "identity":
        raise UnsupportedMediaType("The body must not be encoded: leave the header Content-Encoding out.")
    if not takes(request.headers, "application/json"):
        raise NotAcceptable("The Accept header must allow application/json.")
    if len(request.body) > LARGEST_BODY:
        raise BodyTooLarge(f"The body is larger than {LARGEST_BODY} bytes.")


def check_resumption(headers: Mapping[str, str]) -> None:
    """Make sure that a GET goes on with a stream of the legacy era: no other stream is offered (L9, A10).

    Raises:
        HttpMethodNotAllowed: it does not.
        NotAcceptable: it takes no events.
    """
    if header(headers, names.LAST_EVENT_ID) is None or header(headers, names.VERSION) in MODERN_VERSIONS:
        raise HttpMethodNotAllowed("GET only goes on with a response that has begun, by its Last-Event-ID.")
    check_legacy_version(headers)
    if not takes(headers, "text/event-stream"):
        raise NotAcceptable("The Accept header must allow text/event-stream.")


def check_legacy_version(headers: Mapping[str, str]) -> str | None:
    """Give the version that a legacy message names in its headers; None where it names none (A11).

    Raises:
        InvalidRequest: nobody knows it (L12).
    """
    version = header(headers, names.VERSION)
    if version is not None and version not in LEGACY_VERSIONS:
        known = ", ".join((*MODERN_VERSIONS, *LEGACY_VERSIONS))
        raise InvalidRequest(f"The MCP-Protocol-Version {version[:40]!r} is not supported; supported: {known}.")
    return version


def takes(headers: Mapping[str, str], media_type: str) -> bool:
    """Tell whether a client takes answers of that kind."""
    # Absent means anything, and the most precise range counts (RFC 9110).
    ranges = dict(map(_range, (header(headers, "accept") or "*/*").split(",")))
    known = (media_type, f"{media_type.partition('/')[0]}/*", "*/*")
    return next((ranges[one] for one in known if one in ranges), False)


def classify(message: Message, headers: Mapping[str, str], modern_methods: Collection[str]) -> Inbound:
    """Climb rungs 6 to 10.

    Raises:
        ProtocolError: the kind that says which rung.
    """
    meta = {} if isinstance(message, Response) else as_object(message.params.get("_meta"))
    version = header(headers, names.VERSION)
    has_modern_meta = META_VERSION in meta or META_CAPABILITIES in meta
    if has_modern_meta or (version in MODERN_VERSIONS and not _is_initialize(message)):
        return _modern(message, meta, headers, modern_methods)
    return _legacy(message, headers)


def _legacy(message: Message, headers: Mapping[str, str]) -> Legacy:
    if _is_initialize(message):
        return Legacy(message, LEGACY_VERSIONS[0])  # its parameters name the version, not its headers
    version = check_legacy_version(headers)
    session = session_of(header(headers, names.SESSION))
    # L3: what was agreed on counts; one client names another version in its headers than it has agreed on.
    agreed = session.version if session.version in LEGACY_VERSIONS else None
    return Legacy(message, agreed or version or ASSUMED_VERSION, session)


def _modern(message: Message, meta: JsonObject, headers: Mapping[str, str], modern_methods: Collection[str]) -> Modern:
    if isinstance(message, Response):
        raise InvalidRequest("In this version the server asks nothing by itself, so it takes no responses.")
    if isinstance(message, Notification):
        # M6: this era has no notification that a client sends; one is taken note of, and that is all.
        return Modern(message, {})
    version, capabilities = meta.get(META_VERSION), meta.get(META_CAPABILITIES)
    if not isinstance(version, str) or not isinstance(capabilities, dict):  # M15
        raise InvalidParams(f"params._meta must have {META_VERSION} (a string) and {META_CAPABILITIES} (an object).")
    if header(headers, names.VERSION) != version:  # M13, M16
        raise HeaderMismatch(f"The header MCP-Protocol-Version must be there and repeat _meta's {META_VERSION}.")
    if version not in MODERN_VERSIONS:  # M17
        raise UnsupportedProtocolVersion(version, MODERN_VERSIONS)
    if message.method not in modern_methods:  # M18, A3
        raise MethodNotFound(f"The method {message.method[:80]!r} does not exist in {version}.")
    check_routing_headers(headers, message)
    return Modern(message, cast(JsonObject, capabilities))


def _is_initialize(message: Message) -> bool:
    return isinstance(message, Request) and message.method == "initialize"


def _range(part: str) -> tuple[str, bool]:
    """Read one media range of an Accept header, and whether its weight lets it count."""
    weights = (one.strip().lower() for one in part.split(";")[1:])
    return _media_type(part), not any(_NO_WEIGHT.fullmatch(one) for one in weights)


def _media_type(value: str | None) -> str:
    return (value or "").partition(";")[0].strip().lower()
