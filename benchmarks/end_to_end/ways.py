"""The ways in which a client learns that its task has ended; each follows one task as the server says."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from stepwire.rendering import UNFINISHED_TASK
from tests.server.answers import Json
from tests.server.clients import LegacyClient, ModernClient
from tools.load.clients import ENDED, Endpoint

TOOL: Final = "wait_and_echo"


@dataclass(frozen=True)
class Seen:
    """What a client saw of its task."""

    task_id: str
    known_at: float
    """When the client had the end, in seconds since 1970."""
    wasted: int
    """Requests after the creation that did not bring the end."""


@dataclass(frozen=True)
class Visit:
    """One client and its task."""

    endpoint: Endpoint
    seconds: int
    """How long the workflow takes."""
    phase: float
    """The share of the first pause that passes before the client begins to follow."""


def poll_legacy(visit: Visit) -> Seen:
    """Poll with tasks/get of 2025-11-25."""
    client = LegacyClient.opened(visit.endpoint)
    created = client.call(TOOL, _arguments(visit), task={}).result["task"]
    return _polled(
        created["taskId"],
        visit.phase * created["pollInterval"],
        lambda: client.task("get", created["taskId"]).result,
        "pollInterval",
    )


def poll_modern(visit: Visit) -> Seen:
    """Poll with tasks/get of 2026-07-28."""
    client = ModernClient(visit.endpoint)
    created = client.call(TOOL, _arguments(visit)).result
    return _polled(
        created["taskId"],
        visit.phase * created["pollIntervalMs"],
        lambda: client.task("get", created["taskId"]).result,
        "pollIntervalMs",
    )


def resume_stream(visit: Visit) -> Seen:
    """Resume the stream of tasks/result (SSE polling)."""
    client = LegacyClient.opened(visit.endpoint)
    task_id = client.call(TOOL, _arguments(visit), task={}).id_in("task")
    time.sleep(visit.phase)
    answer, wasted = client.task("result", task_id), 0
    while answer.is_stream and not answer.is_answered:
        wasted += 1
        time.sleep((answer.retry_ms or 0) / 1000)
        answer = client.resume(answer.last_event_id, opened_by=answer.request)
    _ = answer.result  # fails if it is an error
    return Seen(task_id, time.time(), wasted)


def fetch_result(visit: Visit) -> Seen:
    """Call task_result again and again, as the model of a client without tasks does."""
    client = ModernClient(visit.endpoint, capabilities={})
    task_id = LegacyClient.opened(visit.endpoint).call(TOOL, _arguments(visit), task={}).id_in("task")
    time.sleep(visit.phase)
    result, wasted = client.call("task_result", {"task_id": task_id}).result, 0
    while UNFINISHED_TASK in result.get("structuredContent", {}):
        wasted += 1
        result = client.call("task_result", {"task_id": task_id}).result
    return Seen(task_id, time.time(), wasted)


def _polled(task_id: str, first_pause: float, poll: Callable[[], Json], hint: str) -> Seen:
    pause, wasted = first_pause, -1
    while True:
        time.sleep(pause / 1000)
        task, wasted = poll(), wasted + 1
        if task["status"] in ENDED:
            return Seen(task_id, time.time(), wasted)
        pause = task[hint]


def _arguments(visit: Visit) -> Json:
    return {"message": "hello", "seconds": visit.seconds}


WAYS: Final[dict[str, Callable[[Visit], Seen]]] = {
    "polling, 2025-11-25": poll_legacy,
    "polling, 2026-07-28": poll_modern,
    "SSE polling, 2025-11-25": resume_stream,
    "`task_result`, clients without tasks": fetch_result,
}


def recorded_at(endpoint: Endpoint, task_id: str) -> float:
    """Return when the end of a task was recorded, in seconds since 1970."""
    task = LegacyClient.opened(endpoint).task("get", task_id).result
    return datetime.fromisoformat(task["lastUpdatedAt"]).timestamp()
