"""The errors of MCP Events, with what the client sees of them; the others are in `stepwire.errors`.

EntityNotFound         -32011  no such event type or subscription
Forbidden              -32012  the server does not know who calls
ResourceExhausted      -32013  a limit of the caller
Unsupported            -32014  not offered, such as a delivery mode
CallbackEndpointError  -32015  the webhook's endpoint was not verified
"""

from stepwire.errors import ProtocolError


class EntityNotFound(ProtocolError):
    """Something that the request names does not exist; `kind` is `event` or `subscription`."""

    code = -32011

    def __init__(self, message: str, kind: str) -> None:
        """Keep what goes on the wire."""
        super().__init__(message, {"kind": kind})


class Forbidden(ProtocolError):
    """The caller may not do this, whatever its parameters are."""

    code = -32012


class ResourceExhausted(ProtocolError):
    """The caller has reached a limit."""

    code = -32013

    def __init__(self, message: str, limit: str, most: int) -> None:
        """Keep what goes on the wire."""
        super().__init__(message, {"limit": limit, "max": most})


class Unsupported(ProtocolError):
    """The request asks for something that is not offered."""

    code = -32014

    def __init__(self, message: str, feature: str, value: str) -> None:
        """Keep what goes on the wire."""
        super().__init__(message, {"feature": feature, "value": value[:100]})


class CallbackEndpointError(ProtocolError):
    """A webhook's endpoint was not reached, or did not prove that it wants deliveries."""

    code = -32015

    def __init__(self, message: str, reason: str) -> None:
        """Keep a category, and nothing of what the endpoint answered: it must not become an oracle."""
        super().__init__(message, {"reason": reason})
