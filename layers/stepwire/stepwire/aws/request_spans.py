"""Each MCP request as a span of OpenTelemetry, and the trace that AWS X-Ray gives to an invocation.

Loaded only where Tracing or Spans is on, so that a cold start pays nothing while both are off. Names and attributes
follow OpenTelemetry's conventions for MCP (semantic-conventions-genai, docs/gen-ai/mcp.md).

The rule: no argument, result, message, claim or token is in a span, and of a session only a digest.
"""

import hashlib
import os
import re
import time
from collections.abc import Callable
from threading import local
from typing import Final

from msgspec import Struct

from stepwire.aws.spans import SERVER, Span, Value, write_span
from stepwire.errors import InvalidParams, ProtocolError, ResourceNotFound
from stepwire.json_text import JsonObject
from stepwire.protocol.http import HttpResponse
from stepwire.protocol.inbound import Inbound
from stepwire.protocol.messages import Notification, Request, Response
from stepwire.server.mcp_server import Exchange
from stepwire.tracing import Trace, trace_of

_X_RAY: Final = "_X_AMZN_TRACE_ID"  # Lambda sets it for each invocation
_UNKNOWN: Final = "_OTHER"  # OpenTelemetry's word for a method that is none, which would be any text of a caller
_NOTIFICATIONS: Final = frozenset(
    f"notifications/{name}" for name in ("cancelled", "initialized", "progress", "roots/list_changed", "tasks/status")
)
_TOOL_ERROR: Final = "tool_error"
_FAULT: Final = "-32603"
_IS_ERROR: Final = '"isError":true'
_LONGEST_URI: Final = 256  # characters


class _Open(Struct, frozen=True):
    """The span of the request that is being answered."""

    trace: Trace
    """Its own: what continues from here has it as parent."""
    parent: Trace | None
    began: int
    """Nanoseconds since 1970."""


class _Work(local):
    span: _Open | None = None


class RequestSpans:
    """Begins a span with each request and writes it with the answer; or only finds the trace of the invocation."""

    def __init__(
        self,
        *,
        x_ray: bool,
        writes: bool,
        now: Callable[[], int] = time.time_ns,
        randomness: Callable[[int], bytes] = os.urandom,
    ) -> None:
        """Begin nothing yet.

        Args:
            x_ray: whether a request without a trace belongs to the one that X-Ray gives to its invocation.
            writes: whether spans are written.
            now: nanoseconds since 1970.
            randomness: returns so many random bytes.
        """
        self._x_ray, self._writes, self._now, self._randomness = x_ray, writes, now, randomness
        self._work = _Work()

    def begin(self, trace: Trace | None) -> Trace | None:
        """Return the trace that all that follows from a request continues."""
        parent = trace or (trace_of_x_ray(os.environ.get(_X_RAY, "")) if self._x_ray else None)
        if not self._writes:
            return parent
        began, span_id = self._now(), self._randomness(8).hex()
        if parent is None:
            # X-Ray reads the first eight digits as the time in seconds.
            own = Trace(f"00-{began // 1_000_000_000:08x}{self._randomness(12).hex()}-{span_id}-01")
        else:
            own = parent.with_span(span_id)
        self._work.span = _Open(own, parent, began)
        return own

    def end(self, exchange: Exchange) -> None:
        """Write the span of the request, if one has begun and its trace is sampled."""
        opened, self._work.span = self._work.span, None
        if opened is not None:
            name, attributes, error = _described(exchange)
            times = opened.began, self._now()
            write_span(Span(name, SERVER, opened.trace, opened.parent, *times, attributes, error))


def trace_of_x_ray(header: str) -> Trace | None:
    """Return the trace in a header of X-Ray; None if it has none."""
    parts = dict(re.findall(r"(\w+)=([^;]*)", header))
    root = re.fullmatch("1-([0-9a-f]{8})-([0-9a-f]{24})", parts.get("Root", ""))
    if root is None:
        return None
    sampled = "01" if parts.get("Sampled") == "1" else "00"
    return trace_of({"traceparent": f"00-{root[1]}{root[2]}-{parts.get('Parent', '')}-{sampled}"})


def _described(exchange: Exchange) -> tuple[str, dict[str, Value], str]:
    """Return the name, the attributes and the error of an exchange."""
    error = _error_of(exchange)
    attributes: dict[str, Value] = {"http.response.status_code": exchange.response.status}
    if error and error != _TOOL_ERROR:
        attributes["rpc.response.status_code"] = error
    if exchange.inbound is None:
        return _UNKNOWN, attributes, error
    target = _request(exchange, exchange.inbound, attributes)
    return f"{attributes['mcp.method.name']}{f' {target}' if target else ''}", attributes, error


def _error_of(exchange: Exchange) -> str:
    match exchange:
        case Exchange(error=ProtocolError() as error):
            return str(error.code)
        case Exchange(error=None, response=HttpResponse(body=body)):
            return _TOOL_ERROR if _IS_ERROR in body else ""
        case _:
            return _FAULT


def _request(exchange: Exchange, inbound: Inbound, attributes: dict[str, Value]) -> str:
    """Add what is known of a message; return the target that its span is named after."""
    attributes["mcp.protocol.version"] = inbound.version
    attributes |= {"network.protocol.name": "http", "network.transport": "tcp"}
    if inbound.session.id:
        attributes["mcp.session.id"] = hashlib.sha256(inbound.session.id.encode()).hexdigest()[:16]
    match inbound.message:
        case Request(id=message_id, method=method, params=params):
            known = method if method in exchange.methods else _UNKNOWN
            attributes |= {"mcp.method.name": known, "jsonrpc.request.id": str(message_id)}
            # A name that was refused is a caller's text.
            is_refused = isinstance(exchange.error, InvalidParams | ResourceNotFound)
            return "" if is_refused else _target(method, params, attributes)
        case Notification(method=method):
            attributes["mcp.method.name"] = method if method in _NOTIFICATIONS else _UNKNOWN
        case Response():
            attributes["mcp.method.name"] = "response"
        case _:
            attributes["mcp.method.name"] = "resume"
    return ""


def _target(method: str, params: JsonObject, attributes: dict[str, Value]) -> str:
    match method, params:
        case "tools/call", {"name": str(name)}:
            attributes |= {"gen_ai.tool.name": name, "gen_ai.operation.name": "execute_tool"}
            return name
        case "resources/read", {"uri": str(uri)}:
            attributes["mcp.resource.uri"] = uri[:_LONGEST_URI]
        case _:
            pass
    return ""
