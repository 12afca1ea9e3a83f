"""What the server says of MCP Events when it is discovered."""

from tests.extras.events.idle import CLAIMED
from tests.server.clients import ModernClient


# E1
def test_the_server_declares_events_and_their_extension(modern: ModernClient) -> None:
    capabilities = modern.ask("server/discover").result["capabilities"]

    assert capabilities["events"] == CLAIMED["events"]
    assert capabilities["extensions"].items() >= CLAIMED["extensions"].items()
