"""For tests/server/test_idle.py: what MCP Events claim, and the proofs."""

from typing import Any, Final

from tests.extras.events.oracle import EXTENSION
from tests.extras.events.test_polls import STATUS_CHANGED
from tests.server.answers import Json
from tests.server.proofs import can_ask

DECLARED: Final[dict[str, Any]] = {EXTENSION: {}}
CLAIMED: Final[Json] = {"events": {}, "extensions": {EXTENSION: {}}}
LISTS: Final = ()
PROOFS: Final = {
    "events": can_ask("events/poll", name=STATUS_CHANGED),
    f"extensions.{EXTENSION}": can_ask("events/list"),
}
