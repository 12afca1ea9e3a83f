"""A client that behaves as an entry of `behaviours`, and reports how each of its calls ends.

It never waits in real time: a wait moves the timeline of its world.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, TypeAlias

from stepwire.principal import Caller
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire.server.mcp_server import McpServer
from tests.clients.replayed.behaviours import Behaviour, Resumption, WithoutResumption
from tests.clients.replayed.timeline import Timeline
from tests.kits import ALICE, ARGUMENTS
from tests.server.fetching import NEXT_STEP
from tests.wire_oracle import EventStream, read_stream

Json = dict[str, Any]
_MOST_GETS: Final = 1_000
_MOST_STEPS: Final = 15

_CARDS: Final[Json] = {
    "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}},
    "roots": {},
}
_DEFAULT_RETRY_MS: Final = 1_000
ANSWER: Final[Json] = {"action": "accept", "content": {"amount": 5}}
"""The user's answer to every form; the model answers with its content."""


@dataclass(frozen=True)
class Returned:
    """The call got its response: a result."""

    result: Json


@dataclass(frozen=True)
class Refused:
    """The call got an error, from the server or from the client itself."""

    why: str


@dataclass(frozen=True)
class TimedOut:
    """The client's own timer ended the call."""

    seconds: float


@dataclass(frozen=True)
class Hung:
    """The call never ends, and the client waits forever."""


@dataclass(frozen=True)
class SessionLost:
    """The client ended its session."""

    why: str


@dataclass(frozen=True)
class Dropped:
    """The user cancelled the call, and the client stopped polling."""


Outcome: TypeAlias = Returned | Refused | TimedOut | Hung | SessionLost | Dropped


@dataclass
class Pending:
    """A call that has no response yet."""

    message_id: int
    heard_at: float
    """The second of the timeline at which its timer was started."""
    is_cancelled: bool = False
    gets: int = 0
    failures: int = 0
    last_id: str = ""
    same_ids: int = 1


@dataclass
class RawClient:
    """One client, connected to instances that take turns."""

    behaviour: Behaviour
    timeline: Timeline
    instances: Iterator[McpServer]
    session: str | None = None
    gets: int = 0
    """The number of GETs that it has sent."""
    answered: int = 0
    """The number of questions that its user has answered."""
    fills_in: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """By tool, the arguments that it adds where its model leaves them out."""
    told: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    """The progress that it received, each with the second."""
    _ids: Iterator[int] = field(default_factory=lambda: count(1))
    _retry_ms: int = _DEFAULT_RETRY_MS
    _pending: Pending | None = None

    def connect(self) -> None:
        """Open the session."""
        capabilities: Json = {
            **({"elicitation": {}} if self.behaviour.asks_user else {}),
            **(_CARDS if self.behaviour.shows_cards else {}),
        }
        info = {"name": self.behaviour.name, "version": self.behaviour.version}
        params = {"protocolVersion": self.behaviour.offers, "capabilities": capabilities, "clientInfo": info}
        response = self._post({"id": next(self._ids), "method": "initialize", "params": params}, opened=False)
        assert response.status == 200, response
        assert json.loads(response.body)["result"]["protocolVersion"] == self.behaviour.offers
        self.session = response.headers.get("mcp-session-id") if self.behaviour.keeps_session else None
        self._post({"method": "notifications/initialized"})

    def call(self, tool: str = "optional", arguments: Json = ARGUMENTS) -> Outcome:
        """Call a tool, and follow the call as this client does until it ends."""
        pending = self._pending = Pending(next(self._ids), self.timeline.seconds)
        params: Json = {"name": tool, "arguments": {**self.fills_in.get(tool, {}), **arguments}}
        if self.behaviour.sends_token:
            params["_meta"] = {"progressToken": pending.message_id}
        response = self._post({"id": pending.message_id, "method": "tools/call", "params": params})
        outcome = self._first(pending, response)
        while outcome is None:
            outcome = self._again(pending)
        return outcome

    def go_on(self, outcome: Outcome) -> Outcome:
        """Act as the client's model: call the tool that a result names next, until a result names none."""
        for _ in range(_MOST_STEPS):
            step = NEXT_STEP.search(outcome.result["content"][0]["text"]) if isinstance(outcome, Returned) else None
            if step is None:
                return outcome
            arguments = json.loads(step[2])
            filled = {"answer": ANSWER["content"]} if "answer" in arguments else {}
            outcome = self.call(step[1], {**arguments, **filled})
        raise AssertionError("The model comes to no end.")

    def cancel(self) -> None:
        """Cancel the current call."""
        assert self._pending is not None
        self._pending.is_cancelled = True
        self._post({"method": "notifications/cancelled", "params": {"requestId": self._pending.message_id}})

    def _first(self, pending: Pending, response: HttpResponse) -> Outcome | None:
        if pending.is_cancelled and not _is_stream(response):
            return Dropped()
        if response.status != 200:
            return Refused(f"HTTP {response.status}: {response.body}")
        if late := self._late(pending):
            return late
        return self._read(pending, response) if _is_stream(response) else _returned(json.loads(response.body))

    def _again(self, pending: Pending) -> Outcome | None:
        """Resume the response, as far as this client does."""
        how = self.behaviour.resumption
        if isinstance(how, WithoutResumption):
            return self._stranded(how)
        if (end := _end_of_polling(pending, how)) is not None:
            return end
        self.timeline.wait(self._retry_ms / 1_000)
        response = self._get(pending)
        if late := self._late(pending):
            return late
        if response.status == 200 and _is_stream(response):
            pending.failures = 0
            return self._read(pending, response)
        return self._failed(pending, how, response.status)

    def _stranded(self, how: WithoutResumption) -> Outcome:
        if how is WithoutResumption.FAILS:
            return Refused("The response ended before it was there.")
        return Hung() if self.behaviour.timeout is None else TimedOut(self.behaviour.timeout)

    def _failed(self, pending: Pending, how: Resumption, status: int) -> Outcome | None:
        if pending.is_cancelled and status in how.ends_call:
            return Dropped()
        if status in how.ends_session:
            return SessionLost(f"HTTP {status} to a resumption")
        if status in how.ends_call:
            return Hung()
        pending.failures += 1
        return Hung() if how.failures is not None and pending.failures >= how.failures else None

    def _read(self, pending: Pending, response: HttpResponse) -> Outcome | None:
        stream = read_stream(response.body)
        self._retry_ms = _DEFAULT_RETRY_MS if stream.retry_ms is None else stream.retry_ms
        for message in stream.messages:
            if message.get("id") == pending.message_id and "method" not in message:
                return Dropped() if pending.is_cancelled else _returned(message)
            self._handle_message(pending, message)
        return self._remember(pending, stream)

    def _remember(self, pending: Pending, stream: EventStream) -> Outcome | None:
        """Keep the last event id, which is needed to resume."""
        how = self.behaviour.resumption
        if isinstance(how, WithoutResumption):
            return None
        if not stream.event_ids:
            return Hung()
        pending.same_ids = pending.same_ids + 1 if stream.event_ids[-1] == pending.last_id else 1
        pending.last_id = stream.event_ids[-1]
        too_often = how.same_ids is not None and pending.same_ids >= how.same_ids
        return SessionLost("the same event id again and again") if too_often else None

    def _handle_message(self, pending: Pending, message: Json) -> None:
        if message.get("method") == "notifications/progress":
            self.told.append((self.timeline.seconds, message["params"]["progress"]))
            if self.behaviour.progress_resets:
                pending.heard_at = self.timeline.seconds
        elif message.get("method") == "elicitation/create":
            self.answered += 1
            assert self._post({"id": message["id"], "result": ANSWER}).status == 202

    def _late(self, pending: Pending) -> Outcome | None:
        timeout = self.behaviour.timeout
        waited = self.timeline.seconds - pending.heard_at
        return None if timeout is None or waited < timeout or pending.is_cancelled else TimedOut(timeout)

    def _get(self, pending: Pending) -> HttpResponse:
        self.gets += 1
        pending.gets += 1
        headers = {**self._headers(), "accept": "text/event-stream", "last-event-id": pending.last_id}
        return self._send(HttpRequest("GET", headers, b"", Caller(ALICE), query=self.behaviour.query))

    def _post(self, message: Json, *, opened: bool = True) -> HttpResponse:
        headers = {**self._headers(opened=opened), "accept": self.behaviour.accept, "content-type": "application/json"}
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        return self._send(HttpRequest("POST", headers, body, Caller(ALICE), query=self.behaviour.query))

    def _headers(self, *, opened: bool = True) -> dict[str, str]:
        known = {
            "user-agent": self.behaviour.user_agent,
            "mcp-session-id": self.session,
            "mcp-protocol-version": self.behaviour.offers if opened and self.behaviour.sends_version else None,
        }
        return {name: value for name, value in known.items() if value is not None}

    def _send(self, request: HttpRequest) -> HttpResponse:
        return next(self.instances).handle(request)


def _end_of_polling(pending: Pending, how: Resumption) -> Outcome | None:
    """Return how the call ends if the client sends no further GET."""
    if pending.is_cancelled and not how.polls_after_cancel:
        return Dropped()
    if how.most_gets is not None and pending.gets >= how.most_gets:
        return Refused("The client has used up its attempts to resume.")
    return Hung() if pending.gets >= _MOST_GETS else None


def _is_stream(response: HttpResponse) -> bool:
    return response.headers.get("content-type", "").startswith("text/event-stream")


def _returned(message: Json) -> Outcome:
    return Returned(message["result"]) if "result" in message else Refused(json.dumps(message["error"]))
