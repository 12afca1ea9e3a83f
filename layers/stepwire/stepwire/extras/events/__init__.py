"""MCP Events: a client reads the changes of its tasks, or has them sent to a webhook.

Most clients send no such request, so the methods are loaded with the first.
"""

from functools import partial
from types import MappingProxyType
from typing import Final

from stepwire.errors import MethodNotFound
from stepwire.json_text import JsonObject
from stepwire.protocol.messages import EVENTS_EXTENSION
from stepwire.server.call import Call, Reply
from stepwire.server.extension import ALL_VERSIONS, Extension
from stepwire.server.services import Services


def _capabilities(services: Services, call: Call) -> JsonObject:
    """Return what ChatGPT reads, and what others do. The older era has no extensions; some of its clients name this."""
    if services.events is None:
        return {}
    declared = call.client_capabilities
    is_named = "events" in declared or EVENTS_EXTENSION in declared.get("extensions", {})
    return {"events": {}, **({"extensions": {EVENTS_EXTENSION: {}}} if call.is_modern or is_named else {})}


def _answered(method: str, services: Services, call: Call) -> Reply:
    if services.events is None:
        raise MethodNotFound("This server has no events: poll tasks/get instead.")
    from stepwire.server.extensions.events.methods import METHODS

    return METHODS[method](services, services.events(), call)


_NAMES: Final = ("events/list", "events/poll", "events/subscribe", "events/unsubscribe")
_METHODS: Final = MappingProxyType({name: partial(_answered, name) for name in _NAMES})
EVENTS: Final = Extension(dict.fromkeys(ALL_VERSIONS, _METHODS), capabilities=_capabilities)
