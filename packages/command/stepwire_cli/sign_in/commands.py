"""`stepwire sign-in check` and `stepwire sign-in clients`: what they print, as text and as JSON."""

import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

from stepwire_cli.exits import CommandError, Exit
from stepwire_cli.screen import Screen
from stepwire_cli.settings import Settings
from stepwire_cli.sign_in.clients import Configuration, configuration
from stepwire_cli.sign_in.discovery import discovered
from stepwire_cli.sign_in.facts import Issuer, Resource, Site, shown
from stepwire_cli.sign_in.fetching import Reader
from stepwire_cli.sign_in.findings import assessed, enterprise_managed
from stepwire_cli.sign_in.hosts import HOSTS, Host
from stepwire_cli.sign_in.pinning import pinned_client


def site_at(url: str, reader: Reader) -> Site:
    """Return what a server and its issuer publish, with what is wrong with it.

    Raises:
        CommandError: the server cannot be reached, or is no MCP server.
    """
    return assessed(discovered(url, reader))


def check(settings: Settings, url: str | None) -> int:
    """Say what a server and its issuer announce, and what fails.

    Raises:
        CommandError: the server cannot be reached, or is no MCP server.
    """
    site, screen = _site(settings, url), Screen(as_json=settings.as_json)
    if settings.as_json:
        screen.json(as_json(site))
    else:
        for line in checked(site):
            screen.result(line)
    return Exit.FAILED if site.stops else Exit.DONE


def clients(settings: Settings, url: str | None, name: str | None) -> int:
    """Print the configuration of each host, or of one.

    Raises:
        CommandError: the server cannot be reached, or there is no such host.
    """
    chosen = [one for one in HOSTS if name in (None, one.key)]
    if not chosen:
        raise CommandError(f"There is no host {name}: choose of {', '.join(one.key for one in HOSTS)}.", Exit.UNKNOWN)
    site, screen = _site(settings, url), Screen(as_json=settings.as_json)
    made = {host: configuration(host, site, settings.client_id, settings.callback_port) for host in chosen}
    if settings.as_json:
        screen.json([{"host": host.key, "name": host.name, "configuration": asdict(one)} for host, one in made.items()])
    else:
        screen.result("\n\n".join(configured(host, one) for host, one in made.items()))
    for why in site.stops:
        screen.say(why, "warning")
    return Exit.FAILED if site.stops else Exit.DONE


def _site(settings: Settings, url: str | None) -> Site:
    wanted = checked_url(url or settings.endpoint())
    with pinned_client() as http:
        return site_at(wanted, Reader(http, wanted, time.monotonic))


def checked_url(url: str) -> str:
    """Return the URL of a server without its fragment.

    Raises:
        CommandError: it is none, or has a password.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise CommandError(f"{url!r} is no URL of a server: write one such as https://mcp.example.com/mcp.")
    if parts.username is not None:
        raise CommandError("No URL of a server has a user or a password: leave it out.")
    return url.partition("#")[0]


def checked(site: Site) -> Iterator[str]:
    """Yield a check as lines: the server, its issuer, then what is wrong or should be known."""
    facts = [("server", f"{site.url}, which {site.guard.value}")]
    facts += [] if site.resource is None else _of_resource(site.resource)
    facts += [] if site.issuer is None else _of_issuer(site.issuer)
    facts += [("wrong" if one.stops_all else "note", one.what) for one in site.findings]
    for name, words in facts:
        yield f"{name:<14}{words}"


def _of_resource(resource: Resource) -> list[tuple[str, str]]:
    return [("resource", shown(resource.resource)), ("scopes", _listed(resource.scopes))]


def _of_issuer(issuer: Issuer) -> list[tuple[str, str]]:
    registration = issuer.registration_endpoint
    return [
        ("issuer", shown(issuer.issuer)),
        ("metadata", issuer.at),
        ("PKCE", _listed(issuer.challenge_methods)),
        ("token auth", _listed(issuer.token_auth_methods)),
        ("documents", "client ID metadata documents are " + ("" if issuer.takes_documents else "not ") + "announced"),
        ("registration", "not announced" if registration is None else shown(registration)),
        ("iss", "in its answers" if issuer.sends_iss else "not announced"),
        ("keys", "not read" if issuer.key_types is None else _listed(issuer.key_types)),
        ("ID-JAG", enterprise_managed(issuer)),
    ]


def _listed(values: tuple[str, ...] | None) -> str:
    return "no list" if values is None else shown(", ".join(values)) or "none"


def configured(host: Host, made: Configuration) -> str:
    """Return the configuration of a host as text."""
    return "\n".join((f"# {host.name}: {made.where}", made.text, *(f"# callback: {one}" for one in made.callbacks)))


def as_json(site: Site) -> dict[str, Any]:
    """Return a check as JSON."""
    return {
        "server": site.url,
        "guard": site.guard.value,
        "resource": None if site.resource is None else asdict(site.resource),
        "issuer": None if site.issuer is None else asdict(site.issuer),
        "enterprise_managed": None if site.issuer is None else enterprise_managed(site.issuer),
        "findings": [asdict(one) for one in site.findings],
    }
