"""What a server and its issuer say of themselves, and what is wrong with it. Data only."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

_LONGEST: Final = 300  # characters of what the other side wrote


class Guard(StrEnum):
    """How a server answers a caller who has not signed in."""

    ASKS = "asks for a sign-in"
    OPEN = "asks for no sign-in"
    ELSE = "answers otherwise"


@dataclass(frozen=True)
class Finding:
    """Something that is wrong, or that a reader should know."""

    what: str
    stops_all: bool = False
    """No host can sign in because of it."""


@dataclass(frozen=True)
class Resource:
    """Protected resource metadata (RFC 9728)."""

    at: str
    """URL of the document."""
    resource: str
    """The server's URL, as its tokens' audience."""
    issuers: tuple[str, ...]
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Issuer:
    """Metadata of an authorization server (RFC 8414, or OpenID Connect Discovery). None: a field is missing."""

    named: str
    """As the server's metadata name it."""
    at: str
    """URL of the document."""
    issuer: str
    """As the document names it; it equals `named`, or no host may go on."""
    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str | None = None
    challenge_methods: tuple[str, ...] | None = None
    token_auth_methods: tuple[str, ...] | None = None
    grants: tuple[str, ...] | None = None
    grant_profiles: tuple[str, ...] | None = None
    """Profiles of those grants, such as that of ID-JAGs."""
    takes_documents: bool = False
    """Client ID metadata documents."""
    sends_iss: bool = False
    """`iss` in the answers to authorization requests (RFC 9207)."""
    scopes: tuple[str, ...] = ()
    key_types: tuple[str, ...] | None = None
    """`kty` of its signing keys, each once; None: they could not be read."""


@dataclass(frozen=True)
class Site:
    """All that is known of a server."""

    url: str
    guard: Guard
    is_behind_api_gateway: bool = False
    resource: Resource | None = None
    issuer: Issuer | None = None
    findings: tuple[Finding, ...] = field(default=())
    takes_signatures: bool = False
    """Whether it answers as an endpoint with `Authorizer=iam` does."""

    @property
    def stops(self) -> tuple[str, ...]:
        """What stops every host."""
        return tuple(one.what for one in self.findings if one.stops_all)


def shown(text: str) -> str:
    """Return what the other side wrote in a length that a line can hold."""
    words = " ".join(text[: 2 * _LONGEST].split())
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."
