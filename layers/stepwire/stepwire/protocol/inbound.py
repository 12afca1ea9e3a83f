"""The validation ladder: from an HTTP request to a message that the server can act on. The first failure is the answer.

This file climbs all rungs but the fifth, which the server does, in this order: cheapest and most protective first (a
GET meets rung 8 after rung 2).
`Mcp-Param-*` headers are checked later, with the tool's schema (`check_parameter_headers`). Both eras:
  1. the Origin is allowed: nothing else is looked at for a foreign web page (M2, L5)
  2. it is a POST, which alone carries messages, or a GET that resumes a stream (L9)
  3. it brings JSON that is not compressed, within the limit, and accepts JSON (M7); a GET accepts events
  4. the body is JSON (M5), and one object, no batch (L6); from here on, errors carry the request's id (M20)
  5. nobody has blocked the caller, and their token has the scopes that every request needs
  6. the body is one message, and unambiguous (M5, M25)
  7. the era: modern `_meta` decides, then `initialize`, then the version header (A2); nothing else
Legacy only:
  8. the version header, where there is one, names a legacy version (L12)
  9. the session, where there is one, can be read (L10)
Modern only:
 10. `_meta` is complete (M15)
 11. the version header agrees with `_meta` (M13, M16): before the version itself, so that a client that contradicts
     itself reads of that, and not of an unknown version
 12. the version is served (M17)
 13. the method exists (M18)
 14. Mcp-Method and Mcp-Name agree with the body (M12)
Requests of both eras, now that their era is known; in the legacy era, HTTP 200 carries errors from here on:
 15. no number in the parameters loses digits: NaN stands for one, and never reaches a workflow (`write` refuses it)
 16. the idempotency key, where there is one, is well formed
 17. the method exists in the version; a modern request has passed this as rung 13
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final, cast

from msgspec import Struct, field

from stepwire.errors import (
    BodyTooLarge,
    HeaderMismatch,
    HttpMethodNotAllowed,
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    NotAcceptable,
    OriginNotAllowed,
    ParseError,
    UnclearId,
    UnsupportedMediaType,
    UnsupportedProtocolVersion,
)
from stepwire.json_text import JsonObject, JsonTextError, Reading, as_object, examine, is_exact
from stepwire.protocol.http import METHOD, NAME, HttpRequest, RequestHeaders, RoutedName, decoded, headers_of
from stepwire.protocol.messages import (
    ASSUMED_VERSION,
    LEGACY_VERSIONS,
    LONGEST_ID,
    META_CAPABILITIES,
    META_VERSION,
    MODERN_VERSIONS,
    Message,
    MessageId,
    Notification,
    Request,
    Response,
    Resumption,
    is_id,
)
from stepwire.protocol.sessions import Session, session_of
from stepwire.tracing import Trace, trace_of

# The largest workflow input, 262,144 bytes, fits twice over: JSON may escape what Step Functions counts plain.
LARGEST_BODY: Final = 1_048_576  # bytes
MOST_BRACKETS: Final = 50_000
"""Objects and lists in a body, each of which costs as much as a hundred characters; brackets in texts count too."""

META_KEY: Final = "stepwire/idempotencyKey"
_WRONG_ID: Final = f"The id must be an integer within ±(2^53 - 1), or a string of at most {LONGEST_ID} characters."
LONGEST_KEY: Final = 255  # characters
_KEY: Final = re.compile(f"[\\x21-\\x7e]{{1,{LONGEST_KEY}}}")


class Served(Struct, frozen=True):
    """What the methods of a server are called."""

    methods: Mapping[str, Collection[str]]
    """Their names, for each version."""
    routed_names: Mapping[str, RoutedName]
    """What Mcp-Name repeats, for each method that has it."""


class Body(Struct, frozen=True):
    """The JSON object that a body holds, read once."""

    reading: Reading
    message_id: MessageId | None
    """The id that an error about this body answers to (M20); None where it has no valid one."""
    meta: JsonObject
    """The `_meta` of the message's parameters."""
    trace: Trace | None
    """The trace of the message, also of one that a later rung refuses."""


class Received(Struct, frozen=True):
    """A request that has passed rungs 1 to 4: its headers and its body, each read once."""

    http: HttpRequest
    headers: RequestHeaders
    body: Body | None
    """None for a GET, which has none."""


class Inbound(Struct, frozen=True):
    """A message whose era is known: it has passed rungs 1 to 14."""

    received: Received
    message: Message | Resumption
    version: str
    meta: JsonObject = field(default_factory=dict[str, Any])
    """The `_meta` of its parameters."""
    session: Session = field(default_factory=Session)
    """Legacy: what the client declared with `initialize`."""
    client_capabilities: JsonObject = field(default_factory=dict[str, Any])
    """What the client declares: a modern one in each request, a legacy one in its session."""


def receive(request: HttpRequest, allowed_origins: Collection[str]) -> Received:
    """Climb rungs 1 to 4: read the headers and the body.

    Raises:
        ProtocolError: a rung failed; the kind says which.
    """
    headers = headers_of(request.headers)
    if headers.origin is not None and headers.origin not in allowed_origins:  # rung 1
        raise OriginNotAllowed("Web pages of this origin may not call this server.")
    if request.method == "GET":
        _check_resumption(headers)  # rungs 2 and 3
        return Received(request, headers, None)
    if request.method != "POST":  # rung 2
        raise HttpMethodNotAllowed(
            "Only POST is served here. The server stores no sessions, so there is none to delete."
        )
    _check_transfer(headers, request.body)  # rung 3
    return Received(request, headers, parse_body(request.body))  # rung 4


def method_of(received: Received) -> str:
    """Return the method that a body asks for, before it is checked; nothing if it has none."""
    method = None if received.body is None else as_object(received.body.reading.value).get("method")
    return method if isinstance(method, str) else ""


def _check_transfer(headers: RequestHeaders, body: bytes) -> None:
    if headers.media_type != "application/json":
        raise UnsupportedMediaType("The Content-Type must be application/json.")
    if headers.content_encoding != "identity":
        raise UnsupportedMediaType("The body must not be encoded: leave the header Content-Encoding out.")
    if not headers.accepts_json:
        raise NotAcceptable("The Accept header must allow application/json.")
    if len(body) > LARGEST_BODY:
        raise BodyTooLarge(f"The body is larger than {LARGEST_BODY} bytes.")
    if body.count(b"{") + body.count(b"[") > MOST_BRACKETS:
        raise BodyTooLarge(f"The body has more than {MOST_BRACKETS} opening brackets.")


def _check_resumption(headers: RequestHeaders) -> None:
    """Check a GET: it must resume a stream of the legacy era, for the server offers no other (L9, A10)."""
    if headers.last_event_id is None or headers.version in MODERN_VERSIONS:  # rung 2
        raise HttpMethodNotAllowed("GET only resumes a response: send the Last-Event-ID of its stream.")
    _check_legacy_version(headers)  # rung 8, here so that a wrong version is named before a wrong Accept
    if not headers.accepts_events:  # rung 3
        raise NotAcceptable("The Accept header must allow text/event-stream.")


def identify(received: Received, served: Served) -> Inbound:
    """Climb rungs 6 to 14: read the message, and find its era.

    Raises:
        ProtocolError: a rung failed; the kind says which.
    """
    headers, body = received.headers, received.body
    if body is None:
        session = session_of(headers.session_id)  # rung 9
        return _legacy(received, Resumption(headers.last_event_id or ""), {}, session)
    message = message_of(body)  # rung 6
    meta = {} if isinstance(message, Response) else body.meta
    has_modern_meta = META_VERSION in meta or META_CAPABILITIES in meta
    if has_modern_meta or (headers.version in MODERN_VERSIONS and not _is_initialize(message)):  # rung 7
        return _modern(received, message, meta, served)
    if _is_initialize(message):
        return Inbound(received, message, LEGACY_VERSIONS[0], meta)  # its parameters name the version, not its headers
    _check_legacy_version(headers)  # rung 8
    return _legacy(received, message, meta, session_of(headers.session_id))  # rung 9


def parse_body(octets: bytes) -> Body:
    """Return the one JSON object that a body must be.

    Raises:
        ParseError: not JSON.
        InvalidRequest: a batch, or no object at all.
    """
    try:
        reading = examine(octets)
    except JsonTextError as error:
        raise ParseError(f"The body is not JSON: {error}.") from None
    value = reading.value
    if isinstance(value, list):
        raise InvalidRequest("Batches are not supported: send one JSON-RPC message per POST.")
    if not isinstance(value, dict):
        raise InvalidRequest("The body must be one JSON-RPC message, a JSON object.")
    message_id = cast(JsonObject, value).get("id")
    meta = as_object(as_object(cast(JsonObject, value).get("params")).get("_meta"))
    return Body(reading, message_id if is_id(message_id) else None, meta, trace_of(meta))


def message_of(body: Body) -> Message:
    """Return the one message that a body holds.

    Raises:
        UnclearId: the id is given twice.
        InvalidRequest: the body is no message, or another key is given twice.
    """
    reading, message_id = body.reading, body.message_id
    if reading.duplicate_key is not None:
        kind = UnclearId if reading.top_level_keys.count("id") > 1 else InvalidRequest
        raise kind(f"The body is ambiguous: {reading.duplicate_key}.")
    value = cast(JsonObject, reading.value)
    if value.get("jsonrpc") != "2.0":
        raise InvalidRequest('The message must have "jsonrpc": "2.0".')
    if "method" not in value and ("result" in value or "error" in value):
        return _response_of(value, message_id)
    method = value.get("method")
    if not isinstance(method, str) or not method:
        raise InvalidRequest("The message must have a method, a string.")
    params = value.get("params", {})
    if not isinstance(params, dict):
        raise InvalidRequest("params must be an object.")
    if "id" not in value:
        return Notification(method, cast(JsonObject, params))
    if message_id is None:
        raise InvalidRequest(_WRONG_ID)
    return Request(message_id, method, cast(JsonObject, params), reading.inexact_number)


def _response_of(value: JsonObject, message_id: MessageId | None) -> Response:
    names_no_request = "error" in value and "result" not in value and value.get("id") is None
    if message_id is None and not names_no_request:
        raise InvalidRequest(_WRONG_ID)
    if "error" in value and "result" not in value:
        return Response(message_id, None)
    if "error" in value or not isinstance(value["result"], dict):
        raise InvalidRequest("A response must have either a result, an object, or an error.")
    return Response(message_id, cast(JsonObject, value["result"]))


def _legacy(received: Received, message: Message | Resumption, meta: JsonObject, session: Session) -> Inbound:
    # L3: the negotiated version decides; one client sends another version in its headers.
    agreed = session.version if session.version in LEGACY_VERSIONS else None
    version = agreed or received.headers.version or ASSUMED_VERSION
    return Inbound(received, message, version, meta, session, session.capabilities)


def _modern(received: Received, message: Message, meta: JsonObject, served: Served) -> Inbound:
    if isinstance(message, Response):
        raise InvalidRequest("In this protocol version the server sends no requests, so it accepts no responses.")
    if isinstance(message, Notification):
        # M6: clients of this era send no notification that means anything; any is accepted and ignored.
        return Inbound(received, message, MODERN_VERSIONS[0])
    version, capabilities = meta.get(META_VERSION), meta.get(META_CAPABILITIES)
    if not isinstance(version, str) or not isinstance(capabilities, dict):  # rung 10
        raise InvalidParams(f"params._meta must have {META_VERSION} (a string) and {META_CAPABILITIES} (an object).")
    if received.headers.version != version:  # rung 11
        raise HeaderMismatch(f"The header MCP-Protocol-Version must be present and repeat _meta's {META_VERSION}.")
    if version not in MODERN_VERSIONS:  # rung 12
        raise UnsupportedProtocolVersion(version, MODERN_VERSIONS)
    if message.method not in served.methods[version]:  # rung 13, A3
        raise _no_method(message, version)
    check_routing_headers(received.headers, message, served.routed_names.get(message.method))  # rung 14
    return Inbound(received, message, version, meta, client_capabilities=cast(JsonObject, capabilities))


def admit(inbound: Inbound, request: Request, served: Served) -> str | None:
    """Climb rungs 15 to 17, and return the call's idempotency key.

    Raises:
        InvalidParams: rung 15 or 16 failed.
        MethodNotFound: rung 17 failed.
    """
    if request.inexact is not None:  # rung 15
        # A user's answers are let through: a wrong one is asked for again.
        exact = {name: value for name, value in request.params.items() if name != "inputResponses"}
        if not is_exact(exact):
            raise InvalidParams(f"The parameters of {request.method[:80]!r} cannot be read exactly: {request.inexact}.")
    # A client that cannot set headers sends its key in `_meta`.
    in_header, in_meta = inbound.received.headers.idempotency_key, inbound.meta.get(META_KEY)
    if in_header is not None and in_meta is not None and in_header != in_meta:  # rung 16
        raise InvalidParams(f"The header Idempotency-Key differs from _meta's {META_KEY}.")
    key = in_meta if in_header is None else in_header
    if key is not None and not (isinstance(key, str) and _KEY.fullmatch(key)):
        raise InvalidParams(f"The idempotency key must be 1 to {LONGEST_KEY} printable ASCII characters.")
    if request.method not in served.methods[inbound.version]:  # rung 17
        raise _no_method(request, inbound.version)
    return key


def _no_method(request: Request, version: str) -> MethodNotFound:
    return MethodNotFound(f"The method {request.method[:80]!r} does not exist in {version}.")


def _check_legacy_version(headers: RequestHeaders) -> None:
    if headers.version is not None and headers.version not in LEGACY_VERSIONS:
        known = ", ".join((*MODERN_VERSIONS, *LEGACY_VERSIONS))
        raise InvalidRequest(f"The MCP-Protocol-Version {headers.version[:40]!r} is not supported; supported: {known}.")


def _is_initialize(message: Message) -> bool:
    return isinstance(message, Request) and message.method == "initialize"


def check_routing_headers(headers: RequestHeaders, request: Request, routed: RoutedName | None) -> None:
    """Compare Mcp-Method, and Mcp-Name where the method has one, with the body.

    Raises:
        HeaderMismatch: one is missing, malformed, or differs.
    """
    if headers.method != request.method:
        raise _mismatch(METHOD, headers.method, "the body's method")
    if routed is None or (headers.name is None and routed.may_be_absent):
        return
    expected = request.params.get(routed.parameter)
    if isinstance(expected, str):  # else the method itself reports what is wrong with its parameters
        name = decoded(NAME, headers.name)
        if name != expected:
            raise _mismatch(NAME, name, f"params.{routed.parameter}")


def _mismatch(name: str, value: str | None, where: str) -> HeaderMismatch:
    if value is None:
        return HeaderMismatch(f"The header {name} is missing; it must repeat {where}.")
    return HeaderMismatch(f"The header {name} differs from {where}.")
