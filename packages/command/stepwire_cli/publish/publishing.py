"""`stepwire publish`: read a server, and print what publishes it.

The documents go to standard output, and what their reader should know to standard error.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urlsplit

from mcp_types import Implementation

from stepwire_cli.exits import CommandError, Exit
from stepwire_cli.publish import agentcore
from stepwire_cli.publish.agentcore import Described, Printed, Said, Wanted
from stepwire_cli.screen import Screen
from stepwire_cli.settings import Settings
from stepwire_cli.sign_in.commands import checked_url
from stepwire_cli.sign_in.discovery import discovered
from stepwire_cli.sign_in.fetching import Reader
from stepwire_cli.sign_in.pinning import pinned_client
from stepwire_cli.use.leaving import Watched
from stepwire_cli.use.running import drive
from stepwire_cli.use.signing import region_in
from stepwire_cli.visible_text import json_text
from stepwire_client import TaskClient


def target(settings: Settings, url: str | None, wanted: Wanted) -> int:
    """Print the input of CreateGatewayTarget; no token is sent.

    Raises:
        CommandError: the server is not reached, or no Gateway could call it.
    """
    at = checked_url(url or settings.endpoint())
    with pinned_client() as http:
        printed = target_at(at, replace(wanted, region=settings.region), Reader(http, at, time.monotonic))
    return _show(printed, Screen(as_json=settings.as_json))


def target_at(url: str, wanted: Wanted, reader: Reader) -> Printed:
    """Return what to print for a server. Raises as `target` does."""
    return agentcore.target(discovered(url, reader), replace(wanted, region=wanted.region or region_in(url)))


def server_json(settings: Settings, url: str | None, said: Said) -> int:
    """Print `server.json`, with what the server says of itself.

    Raises:
        CommandError: something is not as the registry takes it.
    """
    at = checked_url(url or settings.endpoint())
    if said.name is None and agentcore.is_nobodys(at):
        raise CommandError(
            f"Which name? {urlsplit(at).hostname} is in nobody's name space: write --name with one of a domain or a "
            "GitHub account of yours, such as com.example/orders."
        )
    return _described(settings, at, lambda found: agentcore.server_json(found, said))


def record(settings: Settings, url: str | None, said: Said, registry: str) -> int:
    """Print the input of CreateRegistryRecord, with what the server says of itself and its tools.

    Raises:
        CommandError: something is not as the registry takes it.
    """
    return _described(
        settings, checked_url(url or settings.endpoint()), lambda found: agentcore.record(found, said, registry)
    )


def _described(settings: Settings, url: str, made: Callable[[Described], Printed]) -> int:
    async def work(client: TaskClient, watched: Watched) -> Exit:
        found = [client.mcp.server_info or Implementation(name="", version=""), *await client.tools()]
        info, *tools = (one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in found)
        return _show(made(Described(url, info, tools)), watched.screen)

    return drive(replace(settings, url=url), work)


def _show(printed: Printed, screen: Screen) -> Exit:
    """Print a document for a file: indented, whatever reads it."""
    screen.result(json_text(printed.document, indent=2))
    for note in printed.notes:
        screen.say(f"note: {note}", "warning")
    return Exit.DONE
