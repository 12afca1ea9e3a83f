"""OAuth client credentials: programs without a user get tokens from the issuer, by a credential of their own.

The issuer does all of it; the server only says so, where it is known to hold.
"""

from typing import Final

from stepwire.hooks import Extra
from stepwire.json_text import JsonObject
from stepwire.protocol.messages import CLIENT_CREDENTIALS_EXTENSION
from stepwire.server.call import Call
from stepwire.server.services import Services


def _capabilities(services: Services, call: Call) -> JsonObject:
    """Tell modern clients; the older era has no extensions."""
    return (
        {"extensions": {CLIENT_CREDENTIALS_EXTENSION: {}}} if call.is_modern and services.access.takes_programs else {}
    )


CLIENT_CREDENTIALS: Final = Extra(name="client_credentials", capabilities=_capabilities)
