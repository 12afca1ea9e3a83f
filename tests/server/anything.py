"""Right requests of both eras to a world in which something goes on, and by whose rules an answer is judged.

Whoever sends anything else begins here, and spoils it.
"""

import base64
import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from stepwire.json_text import as_object
from stepwire.server.kit import Patience
from tests.kits import World
from tests.server.answers import Json
from tests.server.clients import (
    ASKING_CAPABILITY,
    META_CAPABILITIES,
    META_VERSION,
    PLAIN_HEADERS,
    TASKS_CAPABILITY,
    LegacyClient,
    ModernClient,
)
from tests.wire_oracle import LEGACY, MODERN

TASK_ID = "01kyyk41g000000000000000000000000001"[:36]
VERSIONS = (MODERN, LEGACY, "2025-06-18", "2025-03-26")
METHODS = (
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "tasks/get",
    "tasks/result",
    "tasks/list",
    "tasks/cancel",
    "tasks/update",
    "server/discover",
    "subscriptions/listen",
    "notifications/cancelled",
    "notifications/initialized",
)
ACCEPT: Json = {"action": "accept", "content": {"amount": 7}}


def lively() -> World:
    """Make a world in which one task runs, has made progress and asks something."""
    world = World(patience=Patience(unresumable_request=timedelta(), first_request=timedelta()))
    task_id = ModernClient(world, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY}).start()
    assert task_id == TASK_ID
    world.progress(task_id, 10)
    world.ask(task_id)
    world.store.calls.clear()
    return world


def opened() -> LegacyClient:
    """Open a session, the same each time."""
    return LegacyClient.opened(lively(), capabilities=ASKING_CAPABILITY)


SESSION_ID = opened().session or ""
STREAM = opened().task("result", TASK_ID)


@dataclass(frozen=True)
class Sent:
    """A request that is right, before a test spoils it."""

    message: Json
    headers: dict[str, Any]


IN_SESSION = {**PLAIN_HEADERS, "mcp-protocol-version": LEGACY, "mcp-session-id": SESSION_ID}


def right_requests() -> list[Sent]:
    """List one right request for each method of each version."""
    params: Json = {
        "name": "optional",
        "arguments": {"text": "hello"},
        "taskId": TASK_ID,
        "inputResponses": {"approval": ACCEPT},
        "notifications": {"taskIds": [TASK_ID]},
        "requestId": 1,
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "a test", "version": "1"},
    }
    sent: list[Sent] = []
    for method in METHODS:
        message: Json = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "task": {"ttl": 60_000}}}
        sent += [
            Sent(message, {**PLAIN_HEADERS, "mcp-protocol-version": version})
            for version in (LEGACY, "2025-06-18", "2025-03-26")
        ]
        sent.append(Sent({**message, "params": {**params, "_meta": {"progressToken": "t"}}}, IN_SESSION))
        modern = ModernClient(World(), capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})
        sent.append(Sent(modern.message(method, params), modern.headers(method, params)))
    answer: Json = {"jsonrpc": "2.0", "id": f"{TASK_ID}.1", "result": ACCEPT}
    return [*sent, Sent(answer, IN_SESSION)]


def version_of(message: Json, sent_headers: dict[str, Any]) -> str:
    """Tell by which version's rules an answer is to be judged: rung 7 of the ladder in `stepwire.protocol.inbound`."""
    header = str(sent_headers.get("mcp-protocol-version", "2025-03-26")).strip(" \t")
    params = as_object(message.get("params"))
    if header == MODERN or {META_VERSION, META_CAPABILITIES} & as_object(params.get("_meta")).keys():
        return MODERN
    if message.get("method") == "initialize":
        asked = params.get("protocolVersion")
        return asked if asked in VERSIONS[1:] else LEGACY
    agreed = _agreed_version(str(sent_headers.get("mcp-session-id", "")).strip(" \t"))
    return agreed or (header if header in VERSIONS else LEGACY)


def _agreed_version(session_id: str) -> str | None:
    """Read the version that the token of a session names; None where it is no such token."""
    with suppress(ValueError):
        match json.loads(base64.urlsafe_b64decode(session_id + "=" * (-len(session_id) % 4))):
            case [_, str(version), *_] if version in VERSIONS[1:]:
                return version
            case _:
                pass
    return None
