"""For tests/server/test_idle.py: what MCP Events claim, and the proofs."""

from typing import Any, Final

from tests.extras.events.oracle import EVENTS_EXTENSION
from tests.extras.events.test_polls import STATUS_CHANGED
from tests.server.answers import Json
from tests.server.proofs import can_ask

DECLARED: Final[dict[str, Any]] = {EVENTS_EXTENSION: {}}
CLAIMED: Final[Json] = {"events": {}, "extensions": {EVENTS_EXTENSION: {}}}
LISTS: Final = ()
PROOFS: Final = {
    "events": can_ask("events/poll", name=STATUS_CHANGED),
    f"extensions.{EVENTS_EXTENSION}": can_ask("events/list"),
}
