"""Released clients that are connected and do nothing send nothing: `mcp` 2.3, `@modelcontextprotocol/client` 2.4.

Hosts listen for new tools if a server claims `tools.listChanged`. This server's streams end at once, so a host that
listens again whenever one has ended (Microsoft Agent Framework does, every 2 seconds) would never rest.
"""

import json
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import pytest
from mcp.client import Client
from msgspec.structs import replace

from stepwire.catalog.live import LiveCatalog, Published
from stepwire.protocol.http import HttpRequest, HttpResponse
from tests.clients.endpoint import serving
from tests.clients.programs import in_node
from tests.kits import World
from tests.unit.catalog.test_live import Source, shard

pytestmark = pytest.mark.anyio
IDLE: Final = timedelta(minutes=10)
AT_MOST: Final = 10
"""Requests in ten idle minutes; the same as in docs/clients.md."""
PAUSE: Final = timedelta(seconds=2)
"""After which Agent Framework 1.23 listens again."""


@dataclass
class Registering:
    """An endpoint at which owners register tools, and the requests that it got."""

    world: World
    source: Source
    url: str = ""
    sent: Counter[str] = field(default_factory=Counter[str])

    def register(self, name: str) -> None:
        """Let the catalog have one registered tool from now on, and every instance know it."""
        self.source.published = Published(name, (shard(name),))
        self.world.clock.advance(minutes=5)

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request."""
        self.sent[json.loads(request.body or b"{}").get("method", request.method)] += 1
        return self.world.server.handle(request)


@contextmanager
def registering() -> Generator[Registering]:
    """Serve an endpoint without registered tools, on a free port."""
    world, source = World(), Source(Published("none", ()))
    catalog = LiveCatalog(world.catalog, source, world.clock.now, world.troubles.append)
    world.server = replace(world.server, services=replace(world.services, catalog=catalog))
    endpoint = Registering(world, source)
    with serving(endpoint.handle) as url:
        endpoint.url = url
        yield endpoint


async def be_idle(client: Client, world: World) -> None:
    """Do what Agent Framework does while it is connected: listen for what the server claims to tell, and again."""
    end, tools = world.clock.now() + IDLE, client.server_capabilities.tools
    while world.clock.now() < end and tools is not None and tools.list_changed:
        async with client.listen(tools_list_changed=True) as told:
            _ = [event async for event in told]
        await client.list_tools()
        world.clock.advance(seconds=PAUSE.total_seconds())


# M54
async def test_a_client_that_listens_whenever_it_can_makes_few_requests_in_ten_idle_minutes() -> None:
    with registering() as endpoint:
        async with Client(endpoint.url) as client:
            await client.list_tools()
            before = endpoint.sent.total()
            await be_idle(client, endpoint.world)

            assert endpoint.sent.total() - before <= AT_MOST, endpoint.sent


# M54, M51: whoever listens uninvited is promised nothing, and the stream ends without an error
async def test_a_client_that_listens_uninvited_is_promised_nothing() -> None:
    with registering() as endpoint:
        endpoint.register("registered")
        async with Client(endpoint.url) as client, client.listen(tools_list_changed=True) as told:
            events = [event async for event in told]

    assert (told.honored.tools_list_changed, events) == (None, [])


# M54
async def test_a_new_connection_lists_the_tools_that_were_registered_meanwhile() -> None:
    def names(listed: Any) -> set[str]:
        return {tool.name for tool in listed.tools}

    with registering() as endpoint:
        async with Client(endpoint.url) as client:
            before = names(await client.list_tools())
        endpoint.register("registered")
        async with Client(endpoint.url) as client:
            after = names(await client.list_tools())

    assert after - before == {"registered"}


# M54
@pytest.mark.long
def test_the_typescript_client_does_not_listen_as_it_connects() -> None:
    with registering() as endpoint:
        seen = in_node("list_changed.mjs", endpoint.url)

    assert seen == {"changes": 0, "listens": False}
    assert endpoint.sent == {"server/discover": 1, "tools/list": 1}
