"""MCP Events: a client reads the changes of its tasks, or has them sent to a webhook.

Most clients send no such request, so the methods are loaded with the first.
"""

from collections.abc import Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from stepwire.hooks import Extra, Ground, Items, Kept, OnChange, Protocol
from stepwire.json_text import JsonObject
from stepwire.protocol.messages import LEGACY_VERSIONS, MODERN_VERSIONS

if TYPE_CHECKING:
    from stepwire.aws.storage.table import Item
    from stepwire.changes import ChangeServices, TaskChange
    from stepwire.extras.events.subscribing import Events
    from stepwire.server.call import Call, Reply
    from stepwire.server.services import Services

_EXTENSION: Final = "io.modelcontextprotocol/events"


def _capabilities(_services: "Services", call: "Call") -> JsonObject:
    """Return what ChatGPT reads, and what others do. The older era has no extensions; some of its clients name this."""
    declared = call.client_capabilities
    is_named = "events" in declared or _EXTENSION in declared.get("extensions", {})
    return {"events": {}, **({"extensions": {_EXTENSION: {}}} if call.is_modern or is_named else {})}


def _answered(method: str, services: "Services", call: "Call") -> "Reply":
    from stepwire.extras.events.methods import METHODS

    return METHODS[method](services, services.of(events_of), call)


def events_of(ground: Ground) -> "Events":
    """Build the service for MCP Events."""
    from stepwire.extras.events.service import events_on

    return events_on(ground)


def _recorded(services: "ChangeServices", changes: "Sequence[TaskChange]") -> int:
    from stepwire.extras.events.changes import recorded

    return recorded(services, changes)


def _shown(item: "Item") -> Kept:
    from stepwire.extras.events.store import subscription_in

    return subscription_in(item).shown()


_NAMES: Final = ("events/list", "events/poll", "events/subscribe", "events/unsubscribe")
_METHODS: Final = MappingProxyType({name: partial(_answered, name) for name in _NAMES})
_ITEMS: Final = {
    "change#": "event",
    "events#places": "places of subscriptions",
    "events#record": "record of events",
    "events#sub#": "subscription",
    "verified#": "verified endpoint",
}
EXTRA: Final = Extra(
    name="events",
    protocol=Protocol(dict.fromkeys((*MODERN_VERSIONS, *LEGACY_VERSIONS), _METHODS), _capabilities),
    on_change=OnChange(_recorded),
    items=Items(_ITEMS, {"events#sub#": _shown}),
)
