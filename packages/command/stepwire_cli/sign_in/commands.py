"""`stepwire sign-in check` and `stepwire sign-in clients`: what they print, as text and as JSON."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from stepwire_cli.exits import CommandError, Exit
from stepwire_cli.screen import Screen
from stepwire_cli.settings import Settings
from stepwire_cli.sign_in.clients import Configuration, configuration
from stepwire_cli.sign_in.discovery import discovered
from stepwire_cli.sign_in.facts import Guard, Site, shown
from stepwire_cli.sign_in.fetching import Reader
from stepwire_cli.sign_in.hosts import HOSTS
from stepwire_cli.sign_in.pinning import pinned_client
from stepwire_cli.sign_in.rules import Verdict, Way, assessed, enterprise_managed, verdicts

_WIDTH: Final = max(len(host.name) for host in HOSTS) + 2
_STYLES: Final = {Way.URL: "green", Way.ID: "yellow", Way.NO: "red"}


@dataclass(frozen=True)
class Found:
    """A site, and what it means for each host."""

    site: Site
    verdicts: Sequence[Verdict]


def found_at(url: str, reader: Reader) -> Found:
    """Return what a server publishes, and what that means for each host.

    Raises:
        CommandError: the server cannot be reached, or is no MCP server.
    """
    site = assessed(discovered(url, reader))
    return Found(site, verdicts(site))


def check(settings: Settings, url: str | None) -> int:
    """Say for each host whether it can sign in, and how.

    Raises:
        CommandError: the server cannot be reached, or is no MCP server.
    """
    found, screen = _found(settings, url), Screen(as_json=settings.as_json)
    if settings.as_json:
        screen.json(as_json(found, settings.client_id, settings.callback_port))
    else:
        for line in checked(found, settings.client_id, settings.callback_port):
            screen.result(line)
    return Exit.FAILED if all(one.way is Way.NO for one in found.verdicts) else Exit.DONE


def clients(settings: Settings, url: str | None, host: str | None) -> int:
    """Print the configuration of each host, or of one.

    Raises:
        CommandError: the server cannot be reached, or there is no such host.
    """
    if host is not None and host not in {one.key for one in HOSTS}:
        raise CommandError(f"There is no host {host}: choose of {', '.join(one.key for one in HOSTS)}.", Exit.UNKNOWN)
    found, screen = _found(settings, url), Screen(as_json=settings.as_json)
    chosen = Found(found.site, [one for one in found.verdicts if host in (None, one.host.key)])
    if settings.as_json:
        screen.json(as_json(chosen, settings.client_id, settings.callback_port)["hosts"])
    else:
        screen.result("\n".join(configured(chosen, settings.client_id, settings.callback_port)))
    return Exit.FAILED if all(one.way is Way.NO for one in chosen.verdicts) else Exit.DONE


def _found(settings: Settings, url: str | None) -> Found:
    wanted = checked_url(url or settings.endpoint())
    with pinned_client() as http:
        return found_at(wanted, Reader(http, wanted, time.monotonic))


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


def checked(found: Found, client_id: str | None = None, port: int = 0) -> list[str]:
    """Return a check as lines: the server, its issuer, what is wrong, then each host."""
    site = found.site
    lines = [f"{'server':<10}{site.url}, which {site.guard.value}"]
    if site.issuer is not None:
        lines.append(f"{'issuer':<10}{shown(site.issuer.issuer)}")
        lines.append(f"{'metadata':<10}{site.issuer.at}")
        lines.append(f"{'ID-JAG':<10}{enterprise_managed(site.issuer)}")
    lines += [f"{'wrong' if one.stops_all else 'note':<10}{one.what}" for one in site.findings]
    if site.guard is Guard.OPEN:
        return [*lines, "every host can use its URL"]
    lines.append("")
    for one in found.verdicts:
        lines.append(f"{one.host.name:<{_WIDTH}}{one.text}")
        if one.way is Way.ID and (made := _configuration(found.site, one, client_id, port)) is not None:
            lines += [f"    {line}" for line in (f"{made.where}:", *made.text.splitlines())]
    return lines


def configured(found: Found, client_id: str | None = None, port: int = 0) -> list[str]:
    """Return the configuration of each host as lines."""
    lines = list[str]()
    for one in found.verdicts:
        made = _configuration(found.site, one, client_id, port)
        lines.append(f"# {one.host.name}: {one.text}")
        if made is not None:
            lines += [f"# {made.where}", *made.text.splitlines()]
            lines += [f"# callback: {callback}" for callback in made.callbacks]
        lines.append("")
    return lines[:-1]


def as_json(found: Found, client_id: str | None = None, port: int = 0) -> dict[str, Any]:
    """Return a check as JSON."""
    site = found.site
    return {
        "server": site.url,
        "guard": site.guard.value,
        "resource": None if site.resource is None else asdict(site.resource),
        "issuer": None if site.issuer is None else asdict(site.issuer),
        "enterprise_managed": None if site.issuer is None else enterprise_managed(site.issuer),
        "findings": [asdict(one) for one in site.findings],
        "hosts": [_host_json(site, one, client_id, port) for one in found.verdicts],
    }


def _host_json(site: Site, verdict: Verdict, client_id: str | None, port: int) -> dict[str, Any]:
    made = _configuration(site, verdict, client_id, port)
    return {
        "host": verdict.host.key,
        "name": verdict.host.name,
        "verdict": verdict.way.value,
        "why": verdict.why,
        "doubts": list(verdict.doubts),
        "configuration": None if made is None else asdict(made),
        "sure": verdict.host.sure.value,
        "source": verdict.host.source,
    }


def _configuration(site: Site, verdict: Verdict, client_id: str | None, port: int) -> Configuration | None:
    scopes = () if site.resource is None else site.resource.scopes
    return configuration(verdict, site.url, client_id=client_id, port=port, issuer=site.issuer, scopes=scopes)
