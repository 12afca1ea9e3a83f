"""Released clients hear that the registered tools have changed: `mcp` 2.3 and `@modelcontextprotocol/client` 2.4.

Neither listens again by itself after the finite stream has ended.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from mcp.client import Client
from mcp.client.subscriptions import ToolsListChanged
from msgspec.structs import replace

from stepwire.catalog.tools import LiveCatalog, Published
from stepwire.server.extensions.tasks import TOLD_FOR
from tests.kits import World
from tests.npm import install, node
from tests.refusals.endpoint import serving
from tests.refusals.typescript import FOLDER
from tests.unit.catalog.test_live import Source, shard
from tests.waiting import HANG_GUARD

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Registering:
    """An endpoint at which owners register tools."""

    world: World
    source: Source
    url: str

    def register(self, name: str) -> None:
        """Let the catalog have one registered tool from now on."""
        self.world.clock.advance(seconds=TOLD_FOR.total_seconds() + 1)
        self.source.published = Published(name, (shard(name),), self.world.clock.now())


@pytest.fixture
def endpoint() -> Iterator[Registering]:
    """An endpoint without registered tools."""
    world, source = World(), Source(Published("none", ()))
    catalog = LiveCatalog(world.catalog, source, world.clock.now, world.troubles.append)
    world.server = replace(world.server, services=replace(world.services, catalog=catalog))
    with serving(world.server.handle) as url:
        yield Registering(world, source, url)


async def heard_by(client: Client) -> list[object]:
    """Listen once, to the end."""
    async with client.listen(tools_list_changed=True) as told:
        assert told.honored.tools_list_changed is True
        return [event async for event in told]


# M54
async def test_the_python_client_hears_of_a_change_and_lists_the_tools_anew(endpoint: Registering) -> None:
    async with Client(endpoint.url) as client:
        before = {tool.name for tool in (await client.list_tools()).tools}
        quiet = await heard_by(client)
        endpoint.register("registered")
        heard = await heard_by(client)
        after = {tool.name for tool in (await client.list_tools()).tools}

    assert (quiet, heard) == ([], [ToolsListChanged()])
    assert after - before == {"registered"}


# M54
@pytest.mark.long
def test_the_typescript_client_listens_as_it_connects_and_once(endpoint: Registering) -> None:
    install(FOLDER)
    endpoint.register("registered")

    ended = node(FOLDER, ["list_changed.mjs", endpoint.url], HANG_GUARD)

    assert ended.returncode == 0, ended.stderr
    seen = json.loads(ended.stdout)
    assert seen["ends"] == ["graceful", "graceful"]
    assert seen["changes"] == [None]
    assert "registered" in seen["tools"]
    assert seen["sent"] == ["server/discover", "subscriptions/listen", "tools/list", "subscriptions/listen"]
