"""For tests/server/test_idle.py: what MCP Events claim, and the proofs."""

from typing import Any, Final

from tests.server.answers import Json
from tests.server.proofs import can_ask
from tests.server.test_events import STATUS_CHANGED
from tests.wire_oracle.events import EVENTS_EXTENSION

DECLARED: Final[dict[str, Any]] = {EVENTS_EXTENSION: {}}
CLAIMED: Final[Json] = {"events": {}, "extensions": {EVENTS_EXTENSION: {}}}
LISTS: Final = ()
PROOFS: Final = {
    "events": can_ask("events/poll", name=STATUS_CHANGED),
    f"extensions.{EVENTS_EXTENSION}": can_ask("events/list"),
}
