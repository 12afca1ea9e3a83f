"""What the server says of MCP Events when it is discovered."""

from tests.extras.events.idle import CLAIMED
from tests.kits import World
from tests.server.clients import LegacyClient, ModernClient


# E1
def test_the_server_declares_events_and_their_extension(modern: ModernClient) -> None:
    capabilities = modern.ask("server/discover").result["capabilities"]

    assert capabilities["events"] == CLAIMED["events"]
    assert capabilities["extensions"].items() >= CLAIMED["extensions"].items()


def test_a_client_of_the_older_era_that_names_no_events_learns_of_them(world: World) -> None:
    assert LegacyClient(world).initialize().result["capabilities"]["events"] == CLAIMED["events"]
