"""What the caller of an operation sees: a result, an error, or nothing."""

from collections.abc import Callable
from enum import Enum
from typing import Any, Final

from stepwire.tasks.answers import Action
from tests.faults.site import Site
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient

ANSWER: Final[Json] = {"action": Action.ACCEPT.value, "content": {"amount": 7}}
LARGE: Final[Json] = {"text": "x" * 120_000}
"""An output whose result gets an item of its own."""
LARGEST: Final[Json] = {"text": "x" * 220_000}
"""An output whose result is too large for an item."""
LARGE_ARGUMENTS: Final[Json] = {"text": "x" * 5_000}
"""Arguments that get an item of their own."""
CONFIRMED_ANSWER: Final[Json] = {"action": "accept", "content": {}}
_RETRYABLE: Final = -32603
_NOT_STARTED: Final = "The workflow of "


class Seen(Enum):
    """What the caller saw of an operation."""

    RESULT = "result"
    UNFINISHED = "stream to go on with"
    ERROR = "retryable error"
    REFUSAL = "refusal"
    NOTHING = "no answer"


Act = Callable[[], Seen]


def seen_in(answer: Answer) -> Seen:
    """Return how a client interprets an answer."""
    if answer.status == 202 or "result" in answer.body:
        return Seen.RESULT
    if answer.status == 503:
        return Seen.ERROR
    retryable = answer.code == _RETRYABLE and not answer.error["message"].startswith(_NOT_STARTED)
    return Seen.ERROR if retryable else Seen.REFUSAL


def seen_of_stream(answer: Answer) -> Seen:
    """Return how a client interprets an SSE body: anything but a 200 with an event id would end its stream."""
    assert answer.status == 200
    assert answer.last_event_id
    return seen_in(answer) if answer.is_answered else Seen.UNFINISHED


def taken(do: Callable[[], Any]) -> Act:
    """Return an act that delivers an event."""

    def act() -> Seen:
        try:
            do()
        except Exception:  # noqa: BLE001 - whatever it is, Lambda has it delivered again
            return Seen.ERROR
        return Seen.RESULT

    return act


def modern(site: Site) -> ModernClient:
    """Return a client of 2026-07-28 with all capabilities."""
    return ModernClient(site, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})


def legacy(site: Site) -> LegacyClient:
    """Return a client of 2025-11-25 with all capabilities."""
    return LegacyClient.opened(site, capabilities=ASKING_CAPABILITY)


# ------------------------------------------------------------------------------------------------------------- create


def note_handle(site: Site, answer: Answer, *path: str) -> Seen:
    """Remember the task id that a client got."""
    seen = seen_in(answer)
    if seen is Seen.RESULT:
        site.handles.add(answer.id_in(*path))
    return seen
