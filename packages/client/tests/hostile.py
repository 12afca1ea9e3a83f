"""A server that means harm: Stepwire over the fakes, with changes in its results; or one that sends any bytes."""

import json
import socket
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from stepwire.protocol.http import HttpRequest, HttpResponse
from tests.clients.endpoint import Endpoint, serving

Change = Callable[[dict[str, Any]], object]
"""Changes the result of a request."""


@dataclass
class Hostile:
    """An endpoint, and what is changed in its results."""

    endpoint: Endpoint = field(default_factory=Endpoint)
    changes: Mapping[str, Change] = field(default_factory=dict[str, Change])
    """By the method of the request."""

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request."""
        response = self.endpoint.handle(request)
        method = json.loads(request.body).get("method", "") if request.body else ""
        if method not in self.changes:
            return response
        body = json.loads(response.body)
        self.changes[method](body["result"])
        return replace(response, body=json.dumps(body))


@contextmanager
def hostile(**changes: Change) -> Generator[str]:
    """Serve an endpoint whose results are changed; `tasks_get` stands for `tasks/get`. Return its URL."""
    with serving(Hostile(changes={name.replace("_", "/"): change for name, change in changes.items()}).handle) as url:
        yield url


@contextmanager
def sending(parts: Callable[[], Iterable[bytes]]) -> Generator[str]:
    """Serve bytes, anew for each connection, as long as the client reads. Return the URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:  # closed
                    return
                threading.Thread(target=_send, args=(connection, parts()), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        listener.shutdown(socket.SHUT_RDWR)


def _send(connection: socket.socket, parts: Iterable[bytes]) -> None:
    with connection:
        try:
            connection.recv(65_536)
            for part in parts:
                connection.sendall(part)
        except OSError:  # the client has seen enough
            return
