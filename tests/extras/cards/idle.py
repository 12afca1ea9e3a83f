"""For tests/server/test_idle.py: what the cards claim, and the proofs."""

from typing import Final

from stepwire.extras.cards import CARD_URI
from tests.extras.cards.clients import begun, client_of, seen
from tests.server.answers import Json
from tests.server.clients import CARD_CAPABILITY, LegacyClient
from tests.server.proofs import Client, can_ask
from tests.wire_oracle.apps import UI_EXTENSION


def shows_a_card(client: Client) -> bool:
    """Tell whether a host that shows cards gets a card, and what it shows."""
    era = "legacy" if isinstance(client, LegacyClient) else "modern"
    host = client_of(era, client.endpoint, CARD_CAPABILITY)
    assert host.ask("resources/read", {"uri": CARD_URI}).result["contents"]
    return seen(host, begun(host))["status"] == "working"


DECLARED: Final = CARD_CAPABILITY["extensions"]
CLAIMED: Final[Json] = {"resources": {}, "extensions": {UI_EXTENSION: {}}}
LISTS: Final = ("resources/list", "resources/templates/list")
PROOFS: Final = {"resources": can_ask("resources/list"), f"extensions.{UI_EXTENSION}": shows_a_card}
