"""The methods of MCP Events, for both eras: loaded with the first such request, because most clients send none."""

import importlib
from types import MappingProxyType
from typing import Final

from stepwire.errors import MethodNotFound
from stepwire.json_text import JsonObject
from stepwire.protocol.versions import EVENTS_EXTENSION
from stepwire.server.kit import Call, Kit, Method


def events_capabilities(kit: Kit) -> JsonObject:
    """Return the capabilities of this server that concern events: ChatGPT reads the first, other hosts the second."""
    return {} if kit.events is None else {"events": {}, "extensions": {EVENTS_EXTENSION: {}}}


def _method(name: str) -> Method:
    def method(kit: Kit, call: Call) -> JsonObject:
        if kit.events is None:
            raise MethodNotFound("This server has no events: poll tasks/get instead.")
        loaded = importlib.import_module("stepwire.server.events")
        return getattr(loaded, name)(kit, kit.events(), call)

    return method


METHODS: Final = MappingProxyType(
    {
        "events/list": _method("list_events"),
        "events/poll": _method("poll_events"),
        "events/subscribe": _method("subscribe"),
        "events/unsubscribe": _method("unsubscribe"),
    }
)
"""The methods, by name."""
