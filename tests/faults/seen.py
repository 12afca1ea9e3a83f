"""What the caller of an operation gets: a result, an error, or nothing."""

from collections.abc import Callable
from enum import Enum
from typing import Any, Final

from stepwire.tasks.inputs import Action
from tests.faults.site import Site
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient

ANSWER: Final[Json] = {"action": Action.ACCEPT.value, "content": {"amount": 7}}
LARGE: Final[Json] = {"text": "x" * 120_000}
"""An output that no task's item has room for."""
CONFIRMED_ANSWER: Final[Json] = {"action": "accept", "content": {}}
_RETRYABLE: Final = -32603
_NOT_STARTED: Final = "The workflow of "


class Seen(Enum):
    """What whoever asked for an operation saw of it."""

    RESULT = "result"
    UNFINISHED = "stream to go on with"
    ERROR = "retryable error"
    REFUSAL = "refusal"
    NOTHING = "no answer"


Act = Callable[[], Seen]


def seen_in(answer: Answer) -> Seen:
    """Say what a client makes of an answer."""
    if answer.status == 202 or "result" in answer.body:
        return Seen.RESULT
    if answer.status == 503:
        return Seen.ERROR
    retryable = answer.code == _RETRYABLE and not answer.error["message"].startswith(_NOT_STARTED)
    return Seen.ERROR if retryable else Seen.REFUSAL


def seen_of_stream(answer: Answer) -> Seen:
    """Say what a client makes of a body of events: any but 200 with an id would end its stream."""
    assert answer.status == 200
    assert answer.last_event_id
    return seen_in(answer) if answer.is_answered else Seen.UNFINISHED


def taken(do: Callable[[], Any]) -> Act:
    """Make an act of bringing an event."""

    def act() -> Seen:
        try:
            do()
        except Exception:  # noqa: BLE001 - whatever it is, Lambda has it delivered again
            return Seen.ERROR
        return Seen.RESULT

    return act


def modern(site: Site) -> ModernClient:
    """Give a client of 2026-07-28 that can all."""
    return ModernClient(site, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})


def legacy(site: Site) -> LegacyClient:
    """Give a client of 2025-11-25 that can all."""
    return LegacyClient.opened(site, capabilities=ASKING_CAPABILITY)


# ------------------------------------------------------------------------------------------------------------- create


def note_handle(site: Site, answer: Answer, *path: str) -> Seen:
    """Remember the handle that a client was given."""
    seen = seen_in(answer)
    if seen is Seen.RESULT:
        site.handles.add(answer.id_in(*path))
    return seen
