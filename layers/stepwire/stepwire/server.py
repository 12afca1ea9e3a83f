"""The MCP server: one HTTP request in, one HTTP response out, for both eras and with nothing remembered in between.

Whatever happens inside, what comes out is a well-formed answer.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from stepwire import legacy, modern
from stepwire.errors import InternalError, MethodNotFound, ProtocolError
from stepwire.json_text import JsonObject
from stepwire.methods import Call, Kit
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire.protocol.inbound import Inbound, Legacy, Modern, check_transport, classify
from stepwire.protocol.messages import (
    MessageId,
    Notification,
    Request,
    error_text,
    id_of,
    message_of,
    read_object,
    result_text,
)


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
            message_id = id_of(read_object(request.body))
        except ProtocolError as error:
            return refusal(error)
        try:
            return self._answer(message_id, request)
        except ProtocolError as error:
            return _error(message_id, error, error.status)
        except Exception as fault:  # noqa: BLE001 - the outermost place that can still answer
            self.report(fault)
            error = InternalError("The server failed to answer. Try again later.")
            return _error(message_id, error, error.status)

    def _answer(self, message_id: MessageId | None, request: HttpRequest) -> HttpResponse:
        inbound = classify(message_of(request.body), request.headers, modern.METHODS)
        if isinstance(inbound.message, Notification):
            return HttpResponse(202)  # M6, L6: taken note of; no notification changes anything here
        try:
            result = self._dispatch(inbound, inbound.message, request)
        except ProtocolError as error:
            if isinstance(inbound, Modern):
                raise
            return _error(message_id, error, error.legacy_status)
        return _json(200, result_text(inbound.message.id, result))

    def _dispatch(self, inbound: Inbound, message: Request, request: HttpRequest) -> JsonObject:
        match inbound:
            case Modern(client_capabilities=capabilities):
                call = Call(request.principal, message.params, client_capabilities=capabilities)
                return modern.answer(message.method, self.kit, call)
            case Legacy(version=version):
                method = legacy.METHODS[version].get(message.method)
                if method is None:
                    raise MethodNotFound(f"The method {message.method[:80]!r} does not exist in {version}.")
                return method(self.kit, Call(request.principal, message.params, version))


def refusal(error: ProtocolError) -> HttpResponse:
    """Answer a request that could not be read."""
    return _error(None, error, error.status)


def _json(status: int, text: str) -> HttpResponse:
    return HttpResponse(status, text, {"content-type": "application/json"})


def _error(message_id: MessageId | None, error: ProtocolError, status: int) -> HttpResponse:
    response = _json(status, error_text(message_id, error))
    return HttpResponse(response.status, response.body, {**response.headers, **error.headers})
