"""The MCP server: one HTTP request in, one HTTP response out, for both eras and with nothing remembered in between.

Whatever happens inside, what comes out is a well-formed answer.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from stepwire import legacy, modern, streams
from stepwire.audit import Action, Entry
from stepwire.errors import (
    AccessDenied,
    InternalError,
    InvalidParams,
    MethodNotFound,
    ProtocolError,
    TooManyPolls,
    UnclearId,
    UnknownTask,
)
from stepwire.json_text import is_exact
from stepwire.methods import Call, Kit, Reply, SessionOpened, Stream, Written
from stepwire.protocol.headers import LAST_EVENT_ID, SESSION, header, idempotency_key
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire.protocol.inbound import Legacy, Modern, check_transport, classify, takes
from stepwire.protocol.messages import (
    MessageId,
    Notification,
    Request,
    Response,
    error_text,
    id_of,
    message_of,
    read_object,
    result_text,
)
from stepwire.protocol.sessions import session_of
from stepwire.protocol.sse import CONTENT_TYPE


@dataclass(frozen=True)
class McpServer:
    """Serves a kit to the clients of both eras."""

    kit: Kit
    allowed_origins: Collection[str]
    report: Callable[[Exception], None]
    """Told of every fault of ours, before the client is given an error that says nothing of it."""

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request."""
        try:
            check_transport(request, self.allowed_origins)
            if request.method == "GET":
                return self._go_on(request)
            message_id = id_of(read_object(request.body))
        except ProtocolError as error:
            self._note(request, error)
            return refusal(error)
        try:
            return self._answer(request)
        except ProtocolError as error:
            self._note(request, error)
            return _error(None if isinstance(error, UnclearId) else message_id, error, error.status)
        except Exception as fault:  # noqa: BLE001 - the outermost place that can still answer
            self.report(fault)
            error = InternalError("The server failed to answer. Try again later.")
            return _error(message_id, error, error.status)

    def _note(self, request: HttpRequest, error: ProtocolError) -> None:
        if isinstance(error, TooManyPolls):
            return  # a client gone wild must not fill the log
        audit = self.kit.operations.recorder.audit
        audit(Entry(Action.REFUSED, request.principal, outcome=type(error).__name__))

    def _go_on(self, request: HttpRequest) -> HttpResponse:
        self.kit.access.check(request.scopes)
        session = session_of(header(request.headers, SESSION))
        event_id = header(request.headers, LAST_EVENT_ID) or ""
        return _events(streams.resumed(self.kit, request.principal, session, event_id, request.deadline))

    def _answer(self, request: HttpRequest) -> HttpResponse:
        self.kit.access.check(request.scopes)
        inbound = classify(message_of(request.body), request.headers, modern.METHODS)
        if isinstance(inbound, Modern):
            return self._modern(inbound, request)
        if isinstance(inbound.message, Request):
            return self._legacy(inbound, inbound.message, request)
        return self._take_note(inbound, request)

    def _modern(self, inbound: Modern, request: HttpRequest) -> HttpResponse:
        message = inbound.message
        if isinstance(message, Notification):
            return HttpResponse(202)  # M6: this era has none that a client sends
        _check_numbers(message)
        call = Call(
            request.principal,
            message.params,
            message.id,
            client_capabilities=inbound.client_capabilities,
            idempotency_key=idempotency_key(request.headers, message.params),
            takes_events=takes(request.headers, CONTENT_TYPE),
            scopes=request.scopes,
            headers=request.headers,
            deadline=request.deadline,
        )
        return _response(message.id, modern.answer(message.method, self.kit, call))

    def _legacy(self, inbound: Legacy, message: Request, request: HttpRequest) -> HttpResponse:
        method = legacy.METHODS[inbound.version].get(message.method)
        try:
            _check_numbers(message)
            call = Call(
                request.principal,
                message.params,
                message.id,
                inbound.version,
                inbound.session.capabilities,
                inbound.session,
                idempotency_key(request.headers, message.params),
                takes(request.headers, CONTENT_TYPE),
                request.scopes,
                deadline=request.deadline,
            )
            if method is None:
                raise MethodNotFound(f"The method {message.method[:80]!r} does not exist in {inbound.version}.")
            return _response(message.id, method(self.kit, call))
        except ProtocolError as error:
            self._note(request, error)
            return _error(message.id, error, error.legacy_status)

    def _take_note(self, inbound: Legacy, request: HttpRequest) -> HttpResponse:
        """Take a message that has no response (L6), and accept it whatever it says: what is wrong is asked again."""
        try:
            match inbound.message:
                case Response() as response:
                    streams.answer(self.kit, request.principal, response, request.scopes)
                case Notification("notifications/cancelled", params):
                    streams.cancel_request(self.kit, request.principal, inbound.session, params)
                case _:
                    pass  # no other notification changes anything here
        except AccessDenied:
            raise  # with a challenge, as for requests: the client may get a token that allows more
        except UnknownTask as error:
            self._note(request, error)
        except Exception as fault:  # noqa: BLE001 - as for requests, but said in HTTP
            self.report(fault)
            return _error(None, InternalError("The server failed to take this. Send it again later."), 503)
        return HttpResponse(202)


def _check_numbers(message: Request) -> None:
    """Refuse numbers that lose digits, but where the client's user answers: there the question is asked again."""
    if message.inexact is None:
        return
    if not is_exact({name: value for name, value in message.params.items() if name != "inputResponses"}):
        raise InvalidParams(f"The parameters of {message.method[:80]!r} cannot be read exactly: {message.inexact}.")


def refusal(error: ProtocolError) -> HttpResponse:
    """Answer a request that could not be read."""
    return _error(None, error, error.status)


def _response(message_id: MessageId, reply: Reply) -> HttpResponse:
    match reply:
        case Stream():
            return _events(reply)
        case Written(text):
            return _json(200, text)
        case SessionOpened(result, session_id):
            response = _json(200, result_text(message_id, result))
            return replace(response, headers={**response.headers, SESSION: session_id})
        case result:
            return _json(200, result_text(message_id, result))


def _events(stream: Stream) -> HttpResponse:
    # M8: nothing on the way may keep events back, or keep them for another.
    headers = {"content-type": CONTENT_TYPE, "cache-control": "no-store", "x-accel-buffering": "no"}
    return HttpResponse(200, stream.body, headers)


def _json(status: int, text: str) -> HttpResponse:
    return HttpResponse(status, text, {"content-type": "application/json"})


def _error(message_id: MessageId | None, error: ProtocolError, status: int) -> HttpResponse:
    response = _json(status, error_text(message_id, error))
    return replace(response, headers={**response.headers, **error.headers})
