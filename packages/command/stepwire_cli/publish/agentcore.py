"""What AWS's APIs and the MCP registry take to publish a server: a gateway target, a record, `server.json`.

Pure data. No secret is ever written: the Gateway signs in with a credential provider, which is named by its ARN. What
is not known is a word in capitals, such as GATEWAY_ID.
"""

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from stepwire_cli.exits import CommandError, Exit
from stepwire_cli.sign_in.facts import Guard, Site

Json = dict[str, Any]

SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
"""Of `server.json`, the newest of the registry's documents in November 2026."""
LARGEST_DATA: Final = 102_400
"""Characters of each text in a record of AWS Agent Registry."""
_LONGEST: Final = 100  # characters of a title and of a description
_LONGEST_ICON: Final = 255
_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/jpg", "image/svg+xml", "image/webp"})
_DESCRIPTION: Final = "AWS Step Functions workflows as MCP tools and tasks."
_TARGET: Final = re.compile(r"([0-9a-zA-Z][-]?){1,100}")
_NAME: Final = re.compile(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+")
_VERSION: Final = re.compile(r"(?!latest$)[a-zA-Z0-9][a-zA-Z0-9.-]{0,254}")
_OF_AWS: Final = (".amazonaws.com", ".amazonaws.com.cn")


class Grant(StrEnum):
    """How the Gateway gets the token that it sends."""

    EXCHANGE = "token-exchange"
    CODE = "authorization-code"
    MACHINE = "client-credentials"


_RETURN_URL: Final = "https://RETURN_URL"
ONE_CALLER: Final = "all users of the Gateway are one caller: each lists, answers and cancels the tasks of all"


@dataclass(frozen=True)
class _Terms:
    """What a grant means."""

    grant: str
    """As the API names it."""
    listing: str
    """How the Gateway finds the tools: itself, or with each user's own token."""
    note: str


_TERMS: Final[Mapping[Grant, _Terms]] = {
    Grant.EXCHANGE: _Terms("TOKEN_EXCHANGE", "DYNAMIC", "a task belongs to the user whose token the Gateway exchanges"),
    # 3LO does not work with DYNAMIC.
    Grant.CODE: _Terms(
        "AUTHORIZATION_CODE",
        "DEFAULT",
        f"a task belongs to the user who signed in; somebody has to sign in when the target is made, and returns to "
        f"the page of your application that you write in place of {_RETURN_URL}",
    ),
    Grant.MACHINE: _Terms("CLIENT_CREDENTIALS", "DEFAULT", f"{ONE_CALLER}; --grant {Grant.EXCHANGE} keeps them apart"),
}
_OPEN: Final = (
    "the server asks for no sign-in: everybody can also call it without the Gateway, so choose another Authorizer"
)


@dataclass(frozen=True)
class Wanted:
    """What the command line says of a target."""

    gateway: str
    name: str
    provider: str
    grant: Grant
    scopes: Sequence[str] = ()
    """Empty: those that the server's metadata list."""
    region: str | None = None
    """Of the endpoint, for signatures; None: that of the Gateway."""


@dataclass(frozen=True)
class Printed:
    """A document, and what its reader should know."""

    document: Json
    notes: tuple[str, ...] = ()


def target(site: Site, wanted: Wanted) -> Printed:
    """Return the input of CreateGatewayTarget for a server.

    Raises:
        CommandError: the Gateway cannot reach it, or it does not say how to sign in.
    """
    if not site.url.startswith("https://"):
        raise CommandError(f"The Gateway calls https only, and {site.url} is not: name the deployed endpoint.")
    if not _TARGET.fullmatch(wanted.name):
        raise CommandError(f"{wanted.name!r} is no name of a target: write up to 100 letters, digits and single -.")
    credentials, listing, whose = _credentials(site, wanted)
    server: Json = {"endpoint": _for_gateway(site.url), "listingMode": listing}
    document: Json = {
        "gatewayIdentifier": wanted.gateway,
        "name": wanted.name,
        "targetConfiguration": {"mcp": {"mcpServer": server}},
    }
    known = {"credentialProviderConfigurations": [credentials]} if credentials else {}
    return Printed({**document, **known}, (whose, *site.stops))


def _for_gateway(url: str) -> str:
    """Return the URL with which the server answers in JSON: whether the Gateway comes back for more is not known."""
    parts = urlsplit(url)
    if "resume" in parse_qs(parts.query, keep_blank_values=True):
        return url
    return parts._replace(query=f"{parts.query}&resume=0" if parts.query else "resume=0").geturl()


def _credentials(site: Site, wanted: Wanted) -> tuple[Json, str, str]:
    """Return how the Gateway signs in, how it lists the tools, and whose the tasks are."""
    if site.guard is Guard.OPEN:
        return {}, "DEFAULT", f"{ONE_CALLER}; {_OPEN}"
    if site.resource is not None:
        terms = _TERMS[wanted.grant]
        scopes = list(wanted.scopes or site.resource.scopes)
        oauth = {"providerArn": wanted.provider, "scopes": scopes, "grantType": terms.grant}
        if wanted.grant is Grant.CODE:
            oauth["defaultReturnUrl"] = _RETURN_URL
        provider = {"credentialProviderType": "OAUTH", "credentialProvider": {"oauthCredentialProvider": oauth}}
        return provider, terms.listing, terms.note
    if not site.takes_signatures:
        raise CommandError(f"{site.stops[0]}: the Gateway would not know where to sign in.", Exit.SIGN_IN)
    iam = {"service": "execute-api", **({"region": wanted.region} if wanted.region else {})}
    role = {"credentialProviderType": "GATEWAY_IAM_ROLE", "credentialProvider": {"iamCredentialProvider": iam}}
    return role, "DEFAULT", f"{ONE_CALLER}; the Gateway's role needs execute-api:Invoke on the endpoint"


# -------------------------------------------------------------------------------------------------------------- records


@dataclass(frozen=True)
class Described:
    """What a server says of itself, as JSON of MCP."""

    url: str
    info: Mapping[str, Any]
    """`serverInfo`."""
    tools: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Said:
    """What the command line says of a server; None: what the server says."""

    name: str | None = None
    """Name space and name, such as com.example/orders."""
    title: str | None = None
    description: str | None = None
    version: str | None = None


def server_json(found: Described, said: Said) -> Printed:
    """Return `server.json` of the MCP registry.

    Raises:
        CommandError: something is not as the registry takes it.
    """
    name = said.name or default_name(found.url)
    version = said.version or str(found.info.get("version", ""))
    _check(name, _NAME, "name: write --name with a name space, / and a name, such as com.example/orders")
    _check(version, _VERSION, "version: write --server-version with one such as 1.0.2")
    icons = [icon for icon in found.info.get("icons") or () if _is_public(icon)]
    website = found.info.get("websiteUrl")
    document: Json = {
        "$schema": SCHEMA,
        "name": name,
        "title": _short(said.title, found.info.get("title") or name, "title"),
        "description": _short(said.description, found.info.get("description") or _DESCRIPTION, "description"),
        "version": version,
        **({"websiteUrl": website} if website else {}),
        **({"icons": icons} if icons else {}),
        "remotes": [{"type": "streamable-http", "url": found.url}],
    }
    left_out = len(found.info.get("icons") or ()) - len(icons)
    notes = (
        [f"icons left out: {left_out}; the registry takes https URLs of {_LONGEST_ICON} characters"] if left_out else []
    )
    if not found.url.startswith("https://"):
        notes.append(f"{found.url} is not https: publish the deployed endpoint")
    return Printed(document, tuple(notes))


def record(found: Described, said: Said, registry: str) -> Printed:
    """Return the input of CreateRegistryRecord of AWS Agent Registry. Raises as `server_json` does."""
    server = server_json(found, said)
    tools = _compact({"tools": list(found.tools)})
    fits = len(tools) <= LARGEST_DATA
    descriptor: Json = {"data": _compact(server.document)}
    document: Json = {
        "registryId": registry,
        "name": server.document["name"],
        "displayName": server.document["title"],
        "description": server.document["description"],
        "recordType": "MCP",
        "recordVersion": server.document["version"],
        "descriptors": {
            "mcpServer": {**descriptor, "additionalData": {"tools": {"data": tools}}} if fits else descriptor
        },
    }
    too_long = (
        f"the tools are left out: their {len(tools)} characters are more than the {LARGEST_DATA} that a record holds"
    )
    return Printed(document, (*server.notes, *(() if fits else (too_long,))))


def default_name(url: str) -> str:
    """Return a name in the name space of a URL's host."""
    host = urlsplit(url).hostname or ""
    return f"{'.'.join(reversed(host.split('.')))}/stepwire"


def is_nobodys(url: str) -> bool:
    """Tell whether nobody can prove to own the name space of a URL's host: one of AWS, an address, or a local name."""
    host = urlsplit(url).hostname or ""
    return host.endswith(_OF_AWS) or "." not in host or host.rpartition(".")[2].isdigit()


def _short(said: str | None, found: str, what: str) -> str:
    """Return a text of at most 100 characters; the server's own is cut, the reader's is not."""
    if said is None:
        return textwrap.shorten(found, _LONGEST, placeholder="...")
    if not 0 < len(said) <= _LONGEST:
        raise CommandError(f"--{what} has {len(said)} characters: write 1 to {_LONGEST}.")
    return said


def _check(text: str, pattern: re.Pattern[str], what: str) -> None:
    if not pattern.fullmatch(text):
        raise CommandError(f"{text!r} is no {what}.")


def _is_public(icon: Mapping[str, Any]) -> bool:
    src = str(icon.get("src"))
    is_known = icon.get("mimeType", "image/png") in _IMAGES
    return is_known and src.startswith("https://") and len(src) <= _LONGEST_ICON


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
