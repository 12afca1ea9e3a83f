"""Valid requests of both eras, and a world with a task in progress; tests make the requests invalid."""

import base64
import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from stepwire.json_text import as_object
from stepwire.server.services import Patience
from tests.extras import parts
from tests.kits import LISTED, SAMPLED, SAMPLING, World
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
from tests.server.messages import ACCEPT
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
    *(method for part in parts("anything") for method in part.METHODS),
)
RIGHT: Json = {"approval": ACCEPT, "model": SAMPLED, "folders": LISTED}
"""Valid answers to all questions, in their order."""
TASKS: Json = {"cancel": {}, "requests": {"elicitation": {"create": {}}, "sampling": {"createMessage": {}}}}
EVERYTHING: Json = {**ASKING_CAPABILITY, "sampling": {}, "roots": {}, "tasks": TASKS}
"""The capabilities of a client that can be asked everything, and that creates tasks for the answers (2025-11-25)."""
EVENT: Json = {"name": "task.finished", "arguments": {"tool": "optional", "taskId": TASK_ID}, "maxEvents": 5}
CLIENT_TASK: Json = {"taskId": "a-task", "status": "working", "createdAt": "", "lastUpdatedAt": "", "ttl": None}


def world_with_active_task() -> World:
    """Make a world in which one task runs, has made progress and asks everything that can be asked."""
    world = World(patience=Patience(unresumable_request=timedelta(), first_request=timedelta()))
    task_id = ModernClient(world, capabilities={**TASKS_CAPABILITY, **EVERYTHING}).start()
    assert task_id == TASK_ID
    world.progress(task_id, 10)
    ask_everything(world)
    world.store.calls.clear()
    return world


def ask_everything(world: World) -> None:
    """Let the workflow of the task ask its user, the client's model, and for the client's roots."""
    world.ask(TASK_ID)
    world.ask(TASK_ID, "model", other={"sampling": SAMPLING})
    world.ask(TASK_ID, "folders", other={"roots": {}})


def opened() -> LegacyClient:
    """Open a session; its id is the same each time."""
    return LegacyClient.opened(world_with_active_task(), capabilities=EVERYTHING)


SESSION_ID = opened().session or ""
STREAM = opened().task("result", TASK_ID)


@dataclass(frozen=True)
class Sent:
    """A valid request, before a test changes it."""

    message: Json
    headers: dict[str, Any]


IN_SESSION = {**PLAIN_HEADERS, "mcp-protocol-version": LEGACY, "mcp-session-id": SESSION_ID}


def valid_requests() -> list[Sent]:
    """Return one valid request for each method of each version."""
    every: Json = {
        "name": "optional",
        "arguments": {"text": "hello"},
        "taskId": TASK_ID,
        "inputResponses": RIGHT,
        "notifications": {"taskIds": [TASK_ID]},
        "requestId": 1,
        "uri": "ui://stepwire/task",
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "a test", "version": "1"},
    }
    sent: list[Sent] = []
    for method in METHODS:
        params = {**every, **(EVENT if method.startswith("events/") else {})}
        message: Json = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "task": {"ttl": 60_000}}}
        sent += [
            Sent(message, {**PLAIN_HEADERS, "mcp-protocol-version": version})
            for version in (LEGACY, "2025-06-18", "2025-03-26")
        ]
        sent.append(Sent({**message, "params": {**params, "_meta": {"progressToken": "t"}}}, IN_SESSION))
        modern = ModernClient(World(), capabilities={**TASKS_CAPABILITY, **EVERYTHING})
        sent.append(Sent(modern.message(method, params), modern.headers(method, params)))
    return [*sent, *(Sent(answer, IN_SESSION) for answer in right_answers())]


def right_answers() -> list[Json]:
    """List a legacy client's right answer to each question."""
    results: list[tuple[str, Json]] = [
        *((str(number), result) for number, result in enumerate(RIGHT.values(), 1)),
        ("1", {"task": CLIENT_TASK}),
        ("2.get.0.a-task", {**CLIENT_TASK, "status": "completed"}),
        ("2.result.0.a-task", SAMPLED),
        ("2.cancel.0.a-task", {**CLIENT_TASK, "status": "cancelled"}),
    ]
    return [{"jsonrpc": "2.0", "id": f"{TASK_ID}.{named}", "result": result} for named, result in results]


def version_of(message: Json, sent_headers: dict[str, Any]) -> str:
    """Return the version whose rules apply to the answer: rung 7 of the ladder in `stepwire.protocol.inbound`."""
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
    """Return the version in a session token, or None if the token is invalid."""
    with suppress(ValueError):
        match json.loads(base64.urlsafe_b64decode(session_id + "=" * (-len(session_id) % 4))):
            case [_, str(version), *_] if version in VERSIONS[1:]:
                return version
            case _:
                pass
    return None
