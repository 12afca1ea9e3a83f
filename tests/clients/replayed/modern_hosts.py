"""Hosts of 2026-07-28 without tasks, replayed from what they sent to `make run`, and what they make of answers.

A host's model calls what a result names next, reads one part of a result, and repeats a call that its host failed.
"""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from stepwire.principal import Caller
from stepwire.protocol.http import HttpRequest
from tests.clients.replayed.raw_client import ANSWER, Outcome, Refused, Returned, TimedOut
from tests.clients.replayed.timeline import Timeline
from tests.kits import ALICE, World
from tests.server.fetching import NEXT_STEP

Json = dict[str, Any]
VERSION: Final = "2026-07-28"
_META: Final = "io.modelcontextprotocol/"

_MOST_ROUNDS: Final = 10
_MOST_TURNS: Final = 60


@dataclass(frozen=True)
class ModernHost:
    """One host, as the server sees it, and what its library does."""

    label: str
    name: str
    version: str
    capabilities: Json = field(default_factory=dict[str, Any])
    more_meta: Json = field(default_factory=dict[str, Any])
    takes_rounds: bool = True
    timeout: float | None = None
    """Seconds after which it gives up a request; None is never."""
    query: str = ""


PYTHON_SDK: Final = ("mcp", "0.1.0")
OPENAI_AGENTS: Final = ModernHost("openai-agents 0.24", *PYTHON_SDK, takes_rounds=False, timeout=5)
HOSTS: Final = (
    OPENAI_AGENTS,
    ModernHost("openai-agents 0.24, 30 s", *PYTHON_SDK, takes_rounds=False, timeout=30),
    ModernHost("Strands 1.62", *PYTHON_SDK),
    ModernHost("Strands 1.62, ?rounds=1", *PYTHON_SDK, query="rounds=1"),
    ModernHost("Strands 1.62, asks", *PYTHON_SDK, {"elicitation": {"form": {}, "url": {}}}),
    ModernHost("pydantic-ai 2.68", "fastmcp", "4.2.1", more_meta={"progressToken": 2, f"{_META}logLevel": "debug"}),
    ModernHost("a host that cannot go on", "x", "1", {"elicitation": {}}, takes_rounds=False, query="rounds=0"),
)
"""All that were driven by hand, and two as their users may set them up."""


@dataclass
class Replayed:
    """A host that is connected to a world, whose time passes while a request is served."""

    host: ModernHost
    world: World
    timeline: Timeline
    reads: str = "text"
    """The part of a result that the host shows its model: `text` or `structured`."""
    calls: list[str] = field(default_factory=list[str])
    """The tools that its model has called, in order."""
    rounds: int = 0

    def call(self, tool: str, arguments: Json) -> Outcome:
        """Call a tool as the library does."""
        self.calls.append(tool)
        params: Json = {"name": tool, "arguments": arguments}
        for _ in range(_MOST_ROUNDS):
            began = self.timeline.seconds
            message = self._post(params)
            if self.host.timeout is not None and self.timeline.seconds - began >= self.host.timeout:
                return TimedOut(self.host.timeout)
            if "error" in message:
                return Refused(json.dumps(message["error"]))
            result = message["result"]
            if result["resultType"] != "input_required":
                return Returned(result)
            if not self.host.takes_rounds:
                return Refused("Server returned InputRequiredResult")
            self.rounds += 1
            answers = dict.fromkeys(result.get("inputRequests", {}), ANSWER)
            params = {**params, "requestState": result["requestState"], "inputResponses": answers}
        return Refused("too many rounds")

    def run(self, tool: str, arguments: Json) -> Json:
        """Act as the model until a result names no next call, and return that result."""
        step = tool, arguments
        for _ in range(_MOST_TURNS):
            match self.call(*step):
                case Returned(result):
                    found = NEXT_STEP.search(self._read(result))
                    if found is None:
                        return result
                    step = found[1], json.loads(found[2])
                case _:
                    continue  # the model reads that the call failed, and tries it again
        raise AssertionError(f"The model comes to no end: {self.calls}")

    def _read(self, result: Json) -> str:
        if self.reads == "structured" and "structuredContent" in result:
            return str(result["structuredContent"].get("stepwire/task", {}).get("instructions", ""))
        return result["content"][0]["text"]

    def _post(self, params: Json) -> Json:
        meta = {
            f"{_META}protocolVersion": VERSION,
            f"{_META}clientInfo": {"name": self.host.name, "version": self.host.version},
            f"{_META}clientCapabilities": self.host.capabilities,
            **self.host.more_meta,
        }
        body = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {**params, "_meta": meta}}
        headers = {
            "user-agent": "python-httpx2/2.16.2",
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            "mcp-protocol-version": VERSION,
            "mcp-method": "tools/call",
            "mcp-name": params["name"],
        }
        request = HttpRequest("POST", headers, json.dumps(body).encode(), Caller(ALICE), query=self.host.query)
        response = self.world.server.handle(request)
        if response.headers["content-type"].startswith("text/event-stream"):
            return json.loads(response.body.rpartition("data: ")[2])
        return json.loads(response.body)
