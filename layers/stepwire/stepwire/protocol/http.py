"""An HTTP request and response, independent of any framework."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct, field

from stepwire.principal import Claims, Principal


class HttpRequest(Struct, frozen=True):
    """A request to the endpoint, from a caller that API Gateway has authenticated."""

    method: str
    headers: Mapping[str, str]
    """By lower-case name; API Gateway joins repeated headers with a comma."""
    body: bytes
    principal: Principal
    scopes: frozenset[str] | None = None
    """What the caller's token allows; None where the sign-in knows no scopes."""
    claims: Mapping[str, str] = field(default_factory=Claims)
    """What the sign-in verified of the caller; never in a log."""
    query: str = ""
    """Of the URL, as it came."""
    deadline: datetime | None = None
    """When Lambda ends the invocation, after which the client gets no response; None: not known."""


class HttpResponse(Struct, frozen=True):
    """A complete response; its body is never streamed."""

    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
