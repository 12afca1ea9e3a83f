"""Clients of both eras at the server's highest door, `McpServer.handle`. Every answer that they get is judged.

A client knows what a well-behaved one sends; a test says what is different. `headers` and `meta` replace single
entries, and None leaves one out.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, cast

from stepwire.principal import Principal
from stepwire.protocol.http import HttpRequest, HttpResponse
from tests.kits import ALICE, ARGUMENTS, World
from tests.wire_oracle import LEGACY, MODERN, check

Json = dict[str, Any]
Changes = Mapping[str, Any]

TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"
RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
META_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
TASKS_CAPABILITY: Final[Json] = {"extensions": {TASKS_EXTENSION: {}}}

PLAIN_HEADERS: Final = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
}
# Of answers that are given before the body is looked at.
_BODY_UNREAD: Final = frozenset({403, 405, 406, 413, 415})
KNOWN_STATUSES: Final = frozenset({200, 202, 400, 404}) | _BODY_UNREAD
PARSE_ERROR: Final = -32700
_LONGEST_ID: Final = 256


@dataclass(frozen=True)
class Answer:
    """What came back."""

    response: HttpResponse

    @property
    def status(self) -> int:
        """Give the HTTP status."""
        return self.response.status

    @property
    def body(self) -> Json:
        """Read the JSON-RPC response."""
        return json.loads(self.response.body)

    @property
    def result(self) -> Json:
        """Give the result; an error fails the test."""
        assert "result" in self.body, self.response.body
        return self.body["result"]

    @property
    def error(self) -> Json:
        """Give the error; a result fails the test."""
        assert "error" in self.body, self.response.body
        return self.body["error"]

    @property
    def code(self) -> int:
        """Give the error's code."""
        return self.error["code"]

    @property
    def text(self) -> str:
        """Give the words that the model gets to read."""
        return self.result["content"][0]["text"]

    def id_in(self, *path: str) -> str:
        """Give the id of a task, from the place in the result where it is."""
        value: Any = self.result
        for name in path:
            value = value[name]
        return cast(str, value["taskId"])


class Server(Protocol):
    """What answers."""

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request."""
        ...


class Endpoint(Protocol):
    """What a client talks to: a `World` over the fakes, or a whole stack."""

    @property
    def server(self) -> Server:
        """What answers there."""
        ...


@dataclass(frozen=True)
class Door:
    """The endpoint, without any manners of a client."""

    endpoint: Endpoint
    owner: Principal = ALICE

    def send(
        self, body: object, headers: Mapping[str, str], *, http_method: str = "POST", version: str = LEGACY
    ) -> Answer:
        """Send a body (bytes as they are, anything else as JSON), and judge the answer as one of that version."""
        octets = body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = Answer(self.endpoint.server.handle(HttpRequest(http_method, headers, octets, self.owner)))
        judge(octets, answer, version)
        return answer


def judge(octets: bytes, answer: Answer, version: str) -> None:
    """Raise AssertionError unless the answer is well formed, whatever the question was."""
    assert answer.status in KNOWN_STATUSES
    if answer.status == 202:  # M6: accepted, and nothing to say
        assert answer.response.body == ""
        return
    assert answer.response.headers["content-type"] == "application/json"
    check(_readable(octets, answer), answer.body, version)


def _readable(octets: bytes, answer: Answer) -> Json:
    """Give of a request what its answer can be held against: nothing, where it could not or need not be read."""
    if answer.status in _BODY_UNREAD or answer.body.get("error", {}).get("code") == PARSE_ERROR:
        return {}
    message = json.loads(octets)
    if not isinstance(message, dict):
        return {}
    message = cast(Json, message)
    return {} if len(str(message.get("id"))) > _LONGEST_ID else message


@dataclass(frozen=True)
class LegacyClient:
    """A client of 2025-11-25 or before."""

    endpoint: Endpoint
    version: str = LEGACY
    owner: Principal = ALICE

    def ask(self, method: str, params: Json | None = None, *, headers: Changes | None = None) -> Answer:
        """Ask for a method."""
        message: Json = {"jsonrpc": "2.0", "id": 1, "method": method, **({} if params is None else {"params": params})}
        known = {**PLAIN_HEADERS, "mcp-protocol-version": self.version}
        return Door(self.endpoint, self.owner).send(message, changed(known, headers), version=self.version)

    def initialize(self, version: str | None = None, *, capabilities: Json | None = None) -> Answer:
        """Begin, as the first message of all does: without a version in the headers."""
        params: Json = {
            "protocolVersion": version or self.version,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "a test", "version": "1"},
        }
        return self.ask("initialize", params, headers={"mcp-protocol-version": None})

    def call(self, tool: str, arguments: Json | None = None, *, task: Json | None = None) -> Answer:
        """Call a tool; as a task where one is asked for."""
        params: Json = {"name": tool, "arguments": ARGUMENTS if arguments is None else arguments}
        return self.ask("tools/call", {**params, **({} if task is None else {"task": task})})

    def start(self, tool: str = "optional", *, task: Json | None = None) -> str:
        """Call a tool as a task and give the task's id."""
        return self.call(tool, task=task or {}).id_in("task")

    def task(self, method: str, task_id: object) -> Answer:
        """Ask for a method of a task: get, result or cancel."""
        return self.ask(f"tasks/{method}", {"taskId": task_id})


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
        """Ask for a method."""
        message = self.message(method, params, meta=meta, message_id=message_id)
        known = changed(self.headers(method, message["params"]), headers)
        return Door(self.endpoint, self.owner).send(message, known, version=MODERN)

    def message(
        self, method: str, params: Json | None = None, *, meta: Changes | None = None, message_id: object = 1
    ) -> Json:
        """Write a request."""
        known = {META_VERSION: MODERN, META_CAPABILITIES: self.capabilities}
        whole: Json = {**(params or {}), "_meta": changed(known, meta)}
        return {"jsonrpc": "2.0", "id": message_id, "method": method, "params": whole}

    def headers(self, method: str, params: Json) -> dict[str, str]:
        """Write the headers that belong to a request."""
        name = params.get("name") if method == "tools/call" else params.get("taskId")
        known = {**PLAIN_HEADERS, "mcp-protocol-version": MODERN, "mcp-method": method}
        return {**known, "mcp-name": header_value(name)} if isinstance(name, str) else known

    def call(self, tool: str, arguments: Json | None = None, *, more: Json | None = None) -> Answer:
        """Call a tool; `more` goes into the parameters."""
        params: Json = {"name": tool, "arguments": ARGUMENTS if arguments is None else arguments}
        return self.ask("tools/call", {**params, **(more or {})})

    def start(self, tool: str = "optional") -> str:
        """Call a tool and give its task's id."""
        return self.call(tool).id_in()

    def task(self, method: str, task_id: object, **more: Any) -> Answer:
        """Ask for a method of a task: get, update or cancel."""
        return self.ask(f"tasks/{method}", {"taskId": task_id, **more})


def header_value(text: str) -> str:
    """Write a text as a header can hold it (M14)."""
    if text.isascii() and text.isprintable() and text.strip() == text:
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def changed(known: Changes, changes: Changes | None) -> dict[str, Any]:
    """Replace entries; None leaves one out."""
    merged = {**known, **(changes or {})}
    return {name: value for name, value in merged.items() if value is not None}


def untouched(world: World) -> bool:
    """Tell that nothing was written and nothing started."""
    return not world.store.tasks and "create" not in world.store.calls and not world.workflows.starts
