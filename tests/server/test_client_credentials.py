"""Programs without a user: the server says where the issuer is known to give them tokens."""

import pytest
from msgspec.structs import replace

from stepwire.catalog.access import Access
from tests.kits import World
from tests.server.answers import Json
from tests.server.clients import LegacyClient, ModernClient

NAME = "io.modelcontextprotocol/oauth-client-credentials"
NAMED: Json = {"extensions": {NAME: {}}}


def told(world: World, era: str, declared: Json) -> Json:
    """Return the extensions that the server tells a client."""
    if era == "modern":
        answer = ModernClient(world, capabilities=declared).ask("server/discover")
    else:
        answer = LegacyClient(world).initialize(capabilities=declared)
    return answer.result["capabilities"].get("extensions", {})


# F10
@pytest.mark.parametrize(
    ("era", "declared", "is_told"),
    [("modern", {}, True), ("modern", NAMED, True), ("legacy", NAMED, False), ("legacy", {}, False)],
)
def test_the_extension_is_declared_where_programs_get_tokens(
    world: World, era: str, declared: Json, *, is_told: bool
) -> None:
    assert NAME not in told(world, era, declared)

    access = Access(takes_programs=True)
    world.server = replace(world.server, services=replace(world.services, access=access))

    assert (told(world, era, declared).get(NAME) == {}) is is_told
