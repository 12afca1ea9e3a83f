"""Clients of both eras, which call `McpServer.handle`. The oracle checks every answer.

A client sends what a well-behaved client sends; a test states only the difference. `headers` and `meta` replace single
entries, and None removes one. A legacy client resumes a stream until the response is complete:

    client = LegacyClient.opened(world)
    messages = client.follow(client.task("result", task_id), between=lambda _: world.succeed(task_id, OUTPUT))
"""

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, cast

from msgspec import structs

from stepwire.catalog.access import Access, Scopes
from stepwire.principal import Caller, Principal
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire.server.mcp_server import McpServer
from tests.kits import ALICE, ARGUMENTS, World
from tests.server.answers import Answer, Json, judge
from tests.waiting import attempts
from tests.wire_oracle import LEGACY, MODERN, StreamJudge

Changes = Mapping[str, Any]

TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"
RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
META_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
TASKS_CAPABILITY: Final[Json] = {"extensions": {TASKS_EXTENSION: {}}}
FORM_CAPABILITY: Final[Json] = {"elicitation": {"form": {}}}
URL_CAPABILITY: Final[Json] = {"elicitation": {"url": {}}}
ASKING_CAPABILITY: Final[Json] = {"elicitation": {"form": {}, "url": {}}}
"""The capabilities of a client that supports both modes of elicitation."""
CARD_CAPABILITY: Final[Json] = {
    "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}
}
"""The capabilities of a client whose host shows cards."""

PLAIN_HEADERS: Final = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
}
STREAM_HEADERS: Final = {"accept": "text/event-stream"}
"""The headers of a GET, which has no body."""
_NAMED_BY: Final = {"tools/call": "name", "resources/read": "uri"}
"""The parameter that the header Mcp-Name repeats; of all other methods, the task id."""
SESSION: Final = re.compile("[!-~]+")


class Server(Protocol):
    """Anything that answers HTTP requests."""

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request."""
        ...


class Endpoint(Protocol):
    """What a client talks to: a `World` over the fakes, or a whole stack."""

    @property
    def server(self) -> Server:
        """The server behind the endpoint."""
        ...


@dataclass(frozen=True)
class SignedIn:
    """An endpoint whose sign-in has verified these scopes and claims of its caller."""

    world: Endpoint
    scopes: Scopes = None
    access: Access | None = None
    claims: Mapping[str, str] = field(default_factory=dict[str, str])
    person: str = ""

    @property
    def server(self) -> "SignedIn":
        """The endpoint itself."""
        return self

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request."""
        server = self.world.server
        if self.access is not None:
            own = cast(McpServer, server)
            server = structs.replace(own, services=structs.replace(own.services, access=self.access))
        caller = structs.replace(request.caller, scopes=self.scopes, claims=self.claims, person=self.person)
        return server.handle(structs.replace(request, caller=caller))


@dataclass(frozen=True)
class AtUrl:
    """An endpoint at a URL with a query."""

    endpoint: Endpoint
    query: str

    @property
    def server(self) -> "AtUrl":
        """The endpoint itself."""
        return self

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request."""
        return self.endpoint.server.handle(structs.replace(request, query=self.query))


@dataclass(frozen=True)
class RawSender:
    """Sends raw requests to an endpoint."""

    endpoint: Endpoint
    owner: Principal = ALICE

    def send(
        self, body: object, headers: Mapping[str, str], *, http_method: str = "POST", version: str = LEGACY
    ) -> Answer:
        """Send a body (bytes unchanged, anything else as JSON); check the answer by the rules of the version."""
        octets = body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = Answer(self._handle(http_method, headers, octets))
        judge(octets, answer, version)
        return replace(answer, request=cast(Json, body) if isinstance(body, dict) else {})

    def get(self, headers: Mapping[str, str], *, opened_by: Json, version: str = LEGACY) -> Answer:
        """Resume the stream that a request opened; check the answer as one to that request."""
        answer = Answer(self._handle("GET", headers, b""), opened_by)
        judge(json.dumps(opened_by).encode() if answer.is_stream else b"", answer, version)
        return answer

    def _handle(self, http_method: str, headers: Mapping[str, str], octets: bytes) -> HttpResponse:
        return self.endpoint.server.handle(HttpRequest(http_method, headers, octets, Caller(self.owner)))


@dataclass(frozen=True)
class LegacyClient:
    """A client of 2025-11-25 or before."""

    endpoint: Endpoint
    version: str = LEGACY
    owner: Principal = ALICE
    session: str | None = None
    """The session id that is sent with every message, as the server returned it."""

    @classmethod
    def opened(
        cls,
        endpoint: Endpoint,
        version: str = LEGACY,
        *,
        owner: Principal = ALICE,
        capabilities: Json | None = None,
        name: str = "a test",
    ) -> "LegacyClient":
        """Return a client that has sent `initialize`; it keeps the session id, if it got one."""
        client = cls(endpoint, version, owner)
        answer = client.initialize(capabilities=capabilities, name=name)
        session = answer.response.headers.get("mcp-session-id")
        assert session is None or SESSION.fullmatch(session), session  # L10
        client = replace(client, version=answer.result["protocolVersion"], session=session)
        assert client.notify("notifications/initialized").status == 202
        return client

    def ask(
        self, method: str, params: Json | None = None, *, headers: Changes | None = None, message_id: object = 1
    ) -> Answer:
        """Send a request."""
        return self._post({"id": message_id, "method": method, **_params(params)}, headers)

    def notify(self, method: str, params: Json | None = None, *, headers: Changes | None = None) -> Answer:
        """Send a notification."""
        return self._post({"method": method, **_params(params)}, headers)

    def respond(
        self,
        request: Json,
        *,
        result: Json | None = None,
        error: Json | None = None,
        headers: Changes | None = None,
    ) -> Answer:
        """Answer a request of the server."""
        assert (result is None) != (error is None), "give either a result or an error"
        outcome = {"error": error} if result is None else {"result": result}
        return self._post({"id": request["id"], **outcome}, headers)

    def _post(self, message: Json, headers: Changes | None) -> Answer:
        known = changed({**PLAIN_HEADERS, **self._spoken}, headers)
        return RawSender(self.endpoint, self.owner).send({"jsonrpc": "2.0", **message}, known, version=self.version)

    @property
    def _spoken(self) -> Changes:
        return {"mcp-protocol-version": self.version, "mcp-session-id": self.session}

    def resume(self, event_id: str | None, *, opened_by: Json, headers: Changes | None = None) -> Answer:
        """Resume a stream; without an event id, open a GET stream."""
        known = changed({**STREAM_HEADERS, "last-event-id": event_id, **self._spoken}, headers)
        return RawSender(self.endpoint, self.owner).get(known, opened_by=opened_by, version=self.version)

    def follow(
        self, answer: Answer, *, between: Callable[[Sequence[Json]], object] | None = None, limit: int | None = 10
    ) -> list[Json]:
        """Resume until the response is complete or `limit` bodies are read; return the messages of all bodies.

        Args:
            answer: the first body, or an answer without a stream, which is returned alone.
            between: called before each resume with the messages of the last body, to change the world.
            limit: the largest number of bodies, including the first; None: as many as real work takes.
        """
        if not answer.is_stream:
            return answer.messages
        stream = StreamJudge(answer.request, self.version)
        latest = stream.check(answer.response.body)
        for _ in range(limit - 1) if limit else attempts():
            if stream.response is not None:
                break
            if between is not None:
                between(latest)
            answer = self.resume(answer.last_event_id, opened_by=answer.request)
            latest = stream.check(answer.response.body)
        return stream.messages

    def initialize(
        self, version: str | None = None, *, capabilities: Json | None = None, name: str = "a test"
    ) -> Answer:
        """Send `initialize`, without a version in the headers."""
        params: Json = {
            "protocolVersion": version or self.version,
            "capabilities": capabilities or {},
            "clientInfo": {"name": name, "version": "1"},
        }
        return self.ask("initialize", params, headers={"mcp-protocol-version": None})

    def call(
        self,
        tool: str,
        arguments: Json | None = None,
        *,
        task: Json | None = None,
        progress_token: object = None,
        message_id: object = 1,
    ) -> Answer:
        """Call a tool, with a task if `task` is given."""
        params: Json = {
            "name": tool,
            "arguments": ARGUMENTS if arguments is None else arguments,
            "task": task,
            "_meta": None if progress_token is None else {"progressToken": progress_token},
        }
        return self.ask("tools/call", changed(params, {}), message_id=message_id)

    def start(self, tool: str = "optional", *, task: Json | None = None) -> str:
        """Call a tool with a task; return the task's id."""
        return self.call(tool, task=task or {}).id_in("task")

    def task(self, method: str, task_id: object, *, message_id: object = 1) -> Answer:
        """Send tasks/get, tasks/result or tasks/cancel."""
        return self.ask(f"tasks/{method}", {"taskId": task_id}, message_id=message_id)


@dataclass(frozen=True)
class ModernClient:
    """A client of 2026-07-28."""

    endpoint: Endpoint
    owner: Principal = ALICE
    capabilities: Json = field(default_factory=lambda: dict(TASKS_CAPABILITY))

    def ask(
        self,
        method: str,
        params: Json | None = None,
        *,
        headers: Changes | None = None,
        meta: Changes | None = None,
        message_id: object = 1,
    ) -> Answer:
        """Send a request."""
        message = self.message(method, params, meta=meta, message_id=message_id)
        known = changed(self.headers(method, message["params"]), headers)
        return RawSender(self.endpoint, self.owner).send(message, known, version=MODERN)

    def message(
        self, method: str, params: Json | None = None, *, meta: Changes | None = None, message_id: object = 1
    ) -> Json:
        """Return the JSON-RPC request."""
        known = {META_VERSION: MODERN, META_CAPABILITIES: self.capabilities}
        whole: Json = {**(params or {}), "_meta": changed(known, meta)}
        return {"jsonrpc": "2.0", "id": message_id, "method": method, "params": whole}

    def headers(self, method: str, params: Json) -> dict[str, str]:
        """Return the headers of a request."""
        name = params.get(_NAMED_BY.get(method, "taskId"))
        known = {**PLAIN_HEADERS, "mcp-protocol-version": MODERN, "mcp-method": method}
        return {**known, "mcp-name": header_value(name)} if isinstance(name, str) else known

    def call(
        self,
        tool: str,
        arguments: Json | None = None,
        *,
        more: Json | None = None,
        progress_token: object = None,
        message_id: object = 1,
    ) -> Answer:
        """Call a tool; `more` is added to the params."""
        params: Json = {"name": tool, "arguments": ARGUMENTS if arguments is None else arguments}
        meta = {"progressToken": progress_token}
        return self.ask("tools/call", {**params, **(more or {})}, meta=meta, message_id=message_id)

    def start(self, tool: str = "optional") -> str:
        """Call a tool and return its task's id."""
        return self.call(tool).id_in()

    def task(self, method: str, task_id: object, **more: Any) -> Answer:
        """Send tasks/get, tasks/update or tasks/cancel."""
        return self.ask(f"tasks/{method}", {"taskId": task_id, **more})

    def update(self, task_id: object, responses: Json) -> Answer:
        """Answer some questions of a task, by key."""
        return self.task("update", task_id, inputResponses=responses)

    def listen(self, notifications: Json, *, message_id: object = "listen-1") -> Answer:
        """Subscribe with this filter."""
        return self.ask("subscriptions/listen", {"notifications": notifications}, message_id=message_id)


def header_value(text: str) -> str:
    """Encode a text for a header (M14)."""
    if text.isascii() and text.isprintable() and text.strip() == text and not text.startswith("=?base64?"):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def _params(params: Json | None) -> Json:
    return {} if params is None else {"params": params}


def changed(known: Changes, changes: Changes | None) -> dict[str, Any]:
    """Return the entries with these changes; None removes an entry."""
    merged = {**known, **(changes or {})}
    return {name: value for name, value in merged.items() if value is not None}


def nothing_happened(world: World) -> bool:
    """Tell whether nothing was written and no execution was started."""
    return not world.store.tasks and "create" not in world.store.calls and not world.workflows.starts
