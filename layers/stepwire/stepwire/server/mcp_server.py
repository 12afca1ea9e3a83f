"""The MCP server: one HTTP request in, one HTTP response out, for both eras and with nothing remembered in between.

Each request takes the same road: `receive` reads its headers and its body, `identify` finds its message and era, one
`Call` is made of them, a method gives a `Reply`, and `_response` writes it. An error at any step goes to `_error`.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stepwire.audit import AuditAction, AuditEntry
from stepwire.errors import (
    HttpMethodNotAllowed,
    InsufficientScope,
    InternalError,
    ProtocolError,
    ServiceBusy,
    TooManyPolls,
    UnclearId,
    UnknownTask,
)
from stepwire.principal import Principal
from stepwire.protocol.headers import SESSION
from stepwire.protocol.http import CONTENT_TYPE, HttpRequest, HttpResponse
from stepwire.protocol.inbound import Inbound, Received, admit, identify, receive
from stepwire.protocol.messages import (
    MessageId,
    Notification,
    Request,
    Response,
    Resumption,
    error_text,
    result_text,
)
from stepwire.protocol.versions import LEGACY_VERSIONS, MODERN_VERSIONS
from stepwire.rendering import complete_result
from stepwire.server import legacy, modern, sse_polling
from stepwire.server.calls import call_tool
from stepwire.server.composition import EXTENSIONS, own_tool
from stepwire.server.kit import SERVER_INFO, Call, Kit, Method, Reply, SessionOpened, Stream, Written

_LEGACY: Final[Mapping[str, Method]] = {
    "initialize": legacy.initialize,
    "ping": legacy.ping,
    "tools/list": legacy.list_tools,
    "tools/call": partial(call_tool, era=legacy.ERA),
}
_MODERN: Final[Mapping[str, Method]] = {
    "server/discover": modern.discover,
    "tools/list": modern.list_tools,
    "tools/call": partial(call_tool, era=modern.ERA),
}


def _with_extensions(version: str, own: Mapping[str, Method]) -> Mapping[str, Method]:
    added = (one.methods.get(version, {}) for one in EXTENSIONS)
    return {**own, **{name: method for methods in added for name, method in methods.items()}}


METHODS: Final[Mapping[str, Mapping[str, Method]]] = MappingProxyType(
    {
        **{version: _with_extensions(version, _LEGACY) for version in LEGACY_VERSIONS},
        **{version: _with_extensions(version, _MODERN) for version in MODERN_VERSIONS},
    }
)
"""The methods of each version: the era's own, and those of the extensions."""


class McpServer(Struct, frozen=True):
    """Serves a kit to the clients of both eras."""

    kit: Kit
    allowed_origins: Collection[str]
    report: Callable[[Exception], None]
    """Receives every fault of the server; the client gets an error that says nothing of it."""

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request."""
        received: Received | None = None
        inbound: Inbound | None = None
        try:
            received = receive(request, self.allowed_origins)
            inbound = identify(received, self.kit.access.check, METHODS)
            return self._answer(inbound)
        except Exception as error:  # noqa: BLE001 - the outermost place that can still answer
            return self._error(error, request, received, inbound)

    def _answer(self, inbound: Inbound) -> HttpResponse:
        """Answer a message. One that a client may repeat is repeated here while AWS throttles it, because none does."""
        call = _call(inbound)
        return self.kit.repeatedly(
            partial(self._answered, inbound, call), call.deadline, partial(self._may_be_repeated, inbound, call)
        )

    def _may_be_repeated(self, inbound: Inbound, call: Call) -> bool:
        """Tell whether a message has the same effect twice as once. A call that begins work without a key has not."""
        match inbound.message:
            case Request(method="tools/call") if call.idempotency_key is None and "requestState" not in call.params:
                return own_tool(self.kit, call) is not None
            case _:
                return True

    def _answered(self, inbound: Inbound, call: Call) -> HttpResponse:
        match inbound.message:
            case Request(method=method):
                return _response(inbound, call, METHODS[inbound.version][method](self.kit, call))
            case Resumption(event_id):
                return _response(inbound, call, sse_polling.resume_stream(self.kit, call, event_id))
            case Notification() | Response() as message:
                if not inbound.is_modern:  # M6: this era has none that means anything
                    self._accept(call, message)
                return HttpResponse(202)

    def _accept(self, call: Call, message: Notification | Response) -> None:
        """Act on a message that has no response (L6). A wrong answer to a question is no error: it is asked again."""
        try:
            match message:
                case Response():
                    for one in EXTENSIONS:
                        if one.take is not None:
                            one.take(self.kit, call, message)
                case Notification("notifications/cancelled"):
                    sse_polling.cancel_request(self.kit, call)
                case _:
                    pass  # no other notification changes anything here
        except (InsufficientScope, UnknownTask) as error:
            self._audit(
                call.caller.principal, error
            )  # the question stays open; the caller may answer it with another token

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
        message_id = None if received is None or isinstance(error, UnclearId) else received.message_id
        is_legacy_request = inbound is not None and not inbound.is_modern and isinstance(inbound.message, Request)
        return _error_response(message_id, error, error.legacy_status if is_legacy_request else error.status)

    def _answer_to(self, fault: Exception, words: str) -> InternalError:
        """Return what a client is told of a fault: nothing but whether to send the message again soon, or later."""
        return ServiceBusy() if self.kit.is_weather(fault) else InternalError(f"{words} Try again later.")

    def _audit(self, owner: Principal, error: ProtocolError) -> None:
        if isinstance(error, TooManyPolls):
            return  # a client that polls without a pause must not fill the log
        self.kit.operations.recorder.audit(AuditEntry(AuditAction.REFUSED, owner, outcome=type(error).__name__))


def refusal(error: ProtocolError) -> HttpResponse:
    """Answer a request that could not be read."""
    return _error_response(None, error, error.status)


def _call(inbound: Inbound) -> Call:
    received, message = inbound.received, inbound.message
    is_request = isinstance(message, Request)
    return Call(
        caller=received.http.caller,
        params=message.params if isinstance(message, Request | Notification) else {},
        message_id=message.id if is_request else 0,
        version=inbound.version,
        client_capabilities=inbound.client_capabilities,
        session=inbound.session,
        idempotency_key=admit(inbound, message, METHODS) if is_request else None,
        headers=received.headers,
        query=received.http.query,
        deadline=received.http.deadline,
    )


def _response(inbound: Inbound, call: Call, reply: Reply) -> HttpResponse:
    match reply:
        case Stream():
            # M8: nothing on the way may hold events back, or cache them.
            headers = {"content-type": CONTENT_TYPE, "cache-control": "no-store", "x-accel-buffering": "no"}
            return HttpResponse(200, reply.body, headers)
        case Written(text):
            return _json(200, text)
        case SessionOpened(result, session_id):
            response = _json(200, result_text(call.message_id, result))
            return replace(response, headers={**response.headers, SESSION: session_id})
        case result:
            shown = complete_result(result, SERVER_INFO) if inbound.is_modern else result
            return _json(200, result_text(call.message_id, shown))


def _page_for_a_browser(request: HttpRequest, error: HttpMethodNotAllowed) -> HttpResponse | None:
    if request.method != "GET":
        return None
    from stepwire.server import browser_page  # noqa: PLC0415 - no other request needs it

    return browser_page.page(request.headers, error.headers) if browser_page.is_browser(request.headers) else None


def _json(status: int, text: str) -> HttpResponse:
    return HttpResponse(status, text, {"content-type": "application/json"})


def _error_response(message_id: MessageId | None, error: ProtocolError, status: int) -> HttpResponse:
    response = _json(status, error_text(message_id, error))
    return replace(response, headers={**response.headers, **error.headers})
