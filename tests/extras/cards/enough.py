"""For tests/server/test_enough_for_any_model.py: clients that declare cards, which some of them do not show."""

from collections.abc import Callable
from typing import Final

from tests.kits import World
from tests.server.clients import CARD_CAPABILITY, LegacyClient, ModernClient

CLIENTS: Final[dict[str, Callable[[World], LegacyClient | ModernClient]]] = {
    "2025-11-25, declares cards": lambda world: LegacyClient.opened(world, capabilities=CARD_CAPABILITY),
    "2026-07-28, declares cards": lambda world: ModernClient(world, capabilities=CARD_CAPABILITY),
}
