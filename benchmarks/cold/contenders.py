"""What is measured: for each request the floor, function mcp in its forms, and the peers that can answer it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Final

from tests.cold_start import ROOT
from tests.recorded import recorded

PROGRAMS: Final = Path(__file__).parent / "programs"
FLOOR: Final = "floor: json, boto3, the bare calls"
IMPORTS: Final = "json and boto3 imported, no call"
STEPWIRE: Final = "Stepwire"
RELEASED: Final = "Stepwire, as released"
RELEASED_SOURCES: Final = "Stepwire, as released, its bytecode removed"
PEERS: Final = {
    "awslabs mcp-lambda-handler 0.1.15": ("awslabs", "awslabs_handler"),
    "mcp 1.30 with Mangum": ("mcp-1", "mcp_1"),
    "mcp 2.3 with Mangum": ("mcp-2", "mcp_2"),
    "FastMCP 4.1 with Mangum": ("fastmcp", "fastmcp_4"),
    "run-mcp-servers-with-aws-lambda 0.5.22": ("stdio", "stdio"),
}
"""The environment and the program of each, by its name and version."""
MODERN_PEERS: Final = ("mcp 2.3 with Mangum", "FastMCP 4.1 with Mangum")
_HERE: Final = ROOT / ".venv/bin/python"
_ARGUMENTS: Final = {"name": "wait_and_echo", "arguments": {"message": "hello", "seconds": 1}}


class Tools(Enum):
    """Where function mcp looks for tools."""

    PACKAGE = "the catalog in the package"
    TABLE = "the catalog in the table"
    ANYWHERE = "the catalog in the package, and the table without any"
    """The default of the template, for an endpoint with tools of its own."""


@dataclass(frozen=True)
class Request:
    """A request that a cold function answers first."""

    name: str
    event: Mapping[str, Any]
    floor: str
    """The bare calls of the floor, separated by spaces."""
    goal: float | None = None
    """The ratio to the floor that function mcp is to reach; None: function mcp is not measured."""
    peers: Sequence[str] = ()
    peers_call: str = ""
    """What the tool of a peer calls of AWS."""
    tools: Tools = Tools.ANYWHERE


@dataclass(frozen=True)
class Contender:
    """A process that answers a request, with environment variables of its own."""

    name: str
    program: str
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    python: Path = _HERE

    def command(self) -> list[str]:
        """Return what to run."""
        return [str(self.python), str(PROGRAMS / f"{self.program}.py")]


def requests(task_id: str) -> tuple[Request, ...]:
    """Return the requests; the task exists."""
    listed, start = legacy("tools/list", {}), "StartExecution"
    polled, called = legacy("tasks/get", {"taskId": task_id}), legacy("tools/call", _ARGUMENTS)
    return (
        Request("tools/list, the catalog in the package", listed, "GetItem", 0.6, tuple(PEERS), tools=Tools.PACKAGE),
        Request("tools/list, the catalog in the table", listed, "GetItem GetItem", 1.15, tools=Tools.TABLE),
        Request("server/discover", modern("server/discover"), "GetItem", 0.6, MODERN_PEERS),
        Request("tasks/get", polled, "GetItem", 1.15),
        Request("tools/call that starts a workflow", CREATE, f"PutItem {start}", 1.3),
        Request("tools/call of peers that start one", called, f"PutItem {start}", None, tuple(PEERS), start),
        Request("tools/call of peers without AWS", called, f"PutItem {start}", None, tuple(PEERS)),
    )


def contenders(request: Request, ours: Sequence[Contender]) -> tuple[Contender, ...]:
    """Return those that answer a request, the floor first, in the Python of our forms."""
    python = ours[0].python if ours else _HERE
    peers = (_peer(name, {"CALLS": request.peers_call}) for name in request.peers)
    return (
        Contender(FLOOR, "floor", {"CALLS": request.floor}, python),
        Contender(IMPORTS, "floor", {"CALLS": ""}, python),
        *(() if request.goal is None else ours),
        *peers,
    )


def legacy(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event of a request of 2025-11-25."""
    event = recorded("http_post_legacy")
    return {**event, "body": json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})}


def modern(method: str) -> dict[str, Any]:
    """Return the event of a request of 2026-07-28 that has no parameters of its own."""
    event = recorded("http_post_modern")
    headers = {name: value for name, value in event["headers"].items() if name != "mcp-name"}
    meta = json.loads(event["body"])["params"]["_meta"]
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta}})
    return {**event, "headers": {**headers, "mcp-method": method}, "body": body}


def _peer(name: str, variables: Mapping[str, str]) -> Contender:
    environment, program = PEERS[name]
    return Contender(name, program, variables, ROOT / f".venv-bench-{environment}/bin/python")


CREATE: Final = legacy("tools/call", {**_ARGUMENTS, "task": {"ttl": 3_600_000}})
"""The event of a call as a task."""
