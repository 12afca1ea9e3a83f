"""The MCP server: one HTTP request in, one HTTP response out, for both eras and with nothing remembered in between.

Each request takes the same road: `receive` reads its headers and its body, `identify` finds its message and era, one
`Call` is made of them, a method gives a `Reply`, and `_response` writes it. An error at any step goes to `_error`.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import Final, Protocol

from msgspec import Struct

from stepwire.audit import AuditAction, AuditEntry
from stepwire.engine.ports import Refuses
from stepwire.errors import (
    CallerBlocked,
    HttpMethodNotAllowed,
    InsufficientScope,
    InternalError,
    ProtocolError,
    ServiceBusy,
    TooManyPolls,
    UnclearId,
    UnknownTask,
)
from stepwire.json_text import JsonObject
from stepwire.principal import Principal
from stepwire.protocol.http import EVENT_STREAM, SESSION, HttpRequest, HttpResponse
from stepwire.protocol.inbound import Inbound, Received, Served, admit, identify, method_of, receive
from stepwire.protocol.messages import (
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    Message,
    MessageId,
    Notification,
    Request,
    Response,
    Resumption,
    error_text,
    result_text,
)
from stepwire.rendering import complete_result
from stepwire.server.call import Call, ResultOnStream, SessionOpened, Stream, Written
from stepwire.server.composition import own_tool
from stepwire.server.eras import ROUTED, methods_with
from stepwire.server.results import open_question, take_answer
from stepwire.server.services import Services
from stepwire.server.sse_polling import cancel_request, open_stream, resume_stream
from stepwire.server.ways import Method
from stepwire.tracing import Trace, follow

_AUDITED_AGAIN_AFTER: Final = timedelta(seconds=30)
"""The refusals of one blocked caller are audited at most so often."""
_STATIC: Final = frozenset({"initialize", "notifications/initialized", "ping", "server/discover"})
_JSON: Final = {"content-type": "application/json"}


class Exchange(Struct, frozen=True):
    """The understood part of a request, and its response."""

    response: HttpResponse
    inbound: Inbound | None = None
    error: Exception | None = None
    """The error of the response, if the request was refused or met a fault."""
    methods: Collection[str] = ()
    """The methods that there are in the version of the request."""


class Spans(Protocol):
    """Adds each request to a trace."""

    def begin(self, trace: Trace | None) -> Trace | None:
        """Return the trace context for a request's effects, given the request's own."""
        ...

    def end(self, exchange: Exchange) -> None:
        """Record the response."""
        ...


class McpServer(Struct, frozen=True, dict=True):
    """Serves the clients of both eras."""

    services: Services
    allowed_origins: Collection[str]
    report: Callable[[Exception], None]
    """Receives every fault of the server; the client gets an error without details."""
    spans: Spans | None = None
    """None: effects continue the trace that a request names; the request itself adds nothing to it."""

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request. While AWS throttles, retry it here if it is safe to repeat: clients do not retry."""
        received: Received | None = None
        inbound: Inbound | None = None
        failure: Exception | None = None
        try:
            at = request.at or self.services.now()
            received = receive(request, self.allowed_origins)
            trace = received.body and received.body.trace
            if self.spans is not None:
                trace = self.spans.begin(trace)
            follow(trace)
            if self.services.refuses is not None:
                self._check_not_blocked(self.services.refuses, received, at)  # rung 5
            self.services.access.check(request.caller.scopes)  # rung 5
            inbound = identify(received, self._served)
            message, call = inbound.message, _call_of(inbound, self._served, at, trace)
            answer = partial(self._answer, message, call)
            response = self.services.repeatedly(answer, call.deadline, partial(self._may_be_repeated, message, call))
        except Exception as error:  # noqa: BLE001 - the outermost place that can still answer
            failure, response = error, self._error(error, request, received, inbound)
        if self.spans is not None:
            methods = () if inbound is None else self._methods[inbound.version]
            self.spans.end(Exchange(response, inbound, failure, methods))
        return response

    @cached_property
    def _methods(self) -> Mapping[str, Mapping[str, Method]]:
        return methods_with(self.services.parts)

    @cached_property
    def _served(self) -> Served:
        return Served(self._methods, ROUTED)

    def _check_not_blocked(self, refuses: Refuses, received: Received, at: datetime) -> None:
        """Refuse a caller whom an operator has blocked. What needs only the release's contents waits for no AWS.

        Raises:
            CallerBlocked: an operator has.
        """
        caller, method = received.http.caller, method_of(received)
        is_static = method in _STATIC or (method == "tools/list" and not self.services.catalog.can_change)
        principal = caller.principal
        if not refuses(at, principal, caller.person or principal, may_read=not is_static):
            return
        refused_at = self._refused_at.get(principal)
        is_first = refused_at is None or at - refused_at >= _AUDITED_AGAIN_AFTER
        if is_first:
            self._refused_at[principal] = at
        raise CallerBlocked(is_first=is_first)

    @cached_property
    def _refused_at(self) -> dict[Principal, datetime]:
        """When the refusal of a blocked caller was last audited."""
        return {}

    def _may_be_repeated(self, message: Message | Resumption, call: Call) -> bool:
        """Tell whether a message is idempotent. A call that starts work without a key is not."""
        match message:
            case Request(method="tools/call") if call.idempotency_key is None and "requestState" not in call.params:
                own = own_tool(self.services, call)
                return own is not None and own.meant is None
            case _:
                return True

    def _answer(self, message: Message | Resumption, call: Call) -> HttpResponse:
        match message:
            case Request(method=method):
                reply = self._methods[call.version][method](self.services, call)
                if isinstance(reply, ResultOnStream):
                    reply = open_stream(self.services, call, reply.task, is_call=False)
                return _response(call, reply)
            case Resumption(event_id):
                return _response(call, resume_stream(self.services, call, event_id))
            case Notification() | Response():
                if not call.is_modern:  # M6: this era has none that means anything
                    self._accept(call, message)
                return HttpResponse(202)

    def _accept(self, call: Call, message: Notification | Response) -> None:
        """Act on a message without a response (L6). An invalid answer is no error: the question is asked again."""
        try:
            match message:
                case Response():
                    self._take_response(call, message)
                case Notification("notifications/cancelled"):
                    cancel_request(self.services, call)
                case _:
                    pass  # no other notification changes anything here
        except (InsufficientScope, UnknownTask) as error:
            # The question stays open; the caller may answer it with another token.
            self._audit(call.caller.principal, error)

    def _take_response(self, call: Call, response: Response) -> None:
        """Take a legacy client's response to a question on a stream: an answer like any other.

        The id of the request names the task and the number of the question. An extra that has put it takes it first; a
        response about a question that is not open is ignored, whether it was ever asked or not.
        """
        services = self.services
        if any(one.streams.take(services, call, response) for one in services.parts if one.streams is not None):
            return
        task_id, *named = str(response.id).split(".", 4)
        task = services.operations.recorder.require(call.caller.principal, task_id)
        if len(named) == 1:
            take_answer(services, call, task, open_question(services, call, task, named[0]), response.result)

    def _error(
        self, error: Exception, request: HttpRequest, received: Received | None, inbound: Inbound | None
    ) -> HttpResponse:
        """Answer with an error.

        The status of a legacy request that has passed rung 9 of the ladder is 200 (`ProtocolError.legacy_status`).
        A message that has no response gets 503, so that the client sends it again. All else has the error's own status.
        """
        if inbound is not None and isinstance(inbound.message, Notification | Response):
            self.report(error)
            return _error_response(None, self._answer_to(error, "The server failed to take this."), 503)
        if isinstance(error, ProtocolError):
            self._audit(request.caller.principal, error)
        else:
            self.report(error)
            error = self._answer_to(error, "The server failed to answer.")
        if isinstance(error, HttpMethodNotAllowed) and (page := _page_for_a_browser(request, error)):
            return page
        body = None if received is None or isinstance(error, UnclearId) else received.body
        message_id = body and body.message_id
        match inbound:
            case Inbound(message=Request(), version=version) if version in LEGACY_VERSIONS:
                return _error_response(message_id, error, error.legacy_status)
            case _:
                return _error_response(message_id, error, error.status)

    def _answer_to(self, fault: Exception, words: str) -> InternalError:
        """Return the error for a fault, which says only whether to repeat the message soon or later."""
        return ServiceBusy() if self.services.is_weather(fault) else InternalError(f"{words} Try again later.")

    def _audit(self, owner: Principal, error: ProtocolError) -> None:
        # A client that polls without a pause must not fill the log, nor one of 2025-11-25, which with each connection
        # asks for a stream and ends a session.
        if isinstance(error, TooManyPolls | HttpMethodNotAllowed):
            return
        if isinstance(error, CallerBlocked) and not error.is_first:
            return  # nor a blocked client that keeps calling
        self.services.operations.recorder.audit(AuditEntry(AuditAction.REFUSED, owner, outcome=type(error).__name__))


def refusal(error: ProtocolError) -> HttpResponse:
    """Answer a request that could not be read."""
    return _error_response(None, error, error.status)


def _call_of(inbound: Inbound, served: Served, at: datetime, trace: Trace | None) -> Call:
    """Check the last rungs of the ladder, and return the call."""
    received, message = inbound.received, inbound.message
    is_request = isinstance(message, Request)
    return Call(
        caller=received.http.caller,
        params=message.params if isinstance(message, Request | Notification) else {},
        at=at,
        meta=inbound.meta,
        message_id=message.id if is_request else 0,
        version=inbound.version,
        is_modern=inbound.version in MODERN_VERSIONS,
        client_capabilities=inbound.client_capabilities,
        session=inbound.session,
        idempotency_key=admit(inbound, message, served) if is_request else None,
        trace=trace,
        headers=received.headers,
        query=received.http.query,
        deadline=received.http.deadline,
    )


def _response(call: Call, reply: JsonObject | Stream | Written | SessionOpened) -> HttpResponse:
    match reply:
        case Stream():
            # M8: nothing on the way may hold events back, or cache them.
            headers = {"content-type": EVENT_STREAM, "cache-control": "no-store", "x-accel-buffering": "no"}
            return HttpResponse(200, reply.body, headers)
        case Written(text):
            return HttpResponse(200, text, _JSON)
        case SessionOpened(result, session_id):
            return HttpResponse(200, result_text(call.message_id, result), {**_JSON, SESSION: session_id})
        case result:
            shown = complete_result(result) if call.is_modern else result
            return HttpResponse(200, result_text(call.message_id, shown), _JSON)


def _page_for_a_browser(request: HttpRequest, error: HttpMethodNotAllowed) -> HttpResponse | None:
    if request.method != "GET":
        return None
    from stepwire.server import browser_page  # noqa: PLC0415 - no other request needs it

    return browser_page.page(request.headers, error.headers) if browser_page.is_browser(request.headers) else None


def _error_response(message_id: MessageId | None, error: ProtocolError, status: int) -> HttpResponse:
    return HttpResponse(status, error_text(message_id, error), {**_JSON, **error.headers})
