"""HTTP as the protocol needs it: a request and a response, without any framework."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from stepwire.principal import Principal


@dataclass(frozen=True)
class HttpRequest:
    """A request to the endpoint, from a caller whom the gateway has vouched for."""

    method: str
    headers: Mapping[str, str]
    """Lower-case names; a header given twice is joined by a comma, as API Gateway does."""
    body: bytes
    principal: Principal
    scopes: frozenset[str] | None = None
    """What the caller's token allows; None where the sign-in knows no scopes."""
    deadline: datetime | None = None
    """When the function is cut off, and the client gets no answer any more; None: nobody knows."""


@dataclass(frozen=True)
class HttpResponse:
    """A whole response; nothing is streamed."""

    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
