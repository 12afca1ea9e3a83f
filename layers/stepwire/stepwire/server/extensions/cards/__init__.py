"""Cards (MCP Apps): a host shows a task beside the conversation, on a page that is a resource of this server.

Most clients show none, so all but this is loaded with the first request of one that does.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from stepwire.catalog.tools import CARD_TOOLS, Tool
from stepwire.engine.calls import Begun
from stepwire.json_text import JsonObject
from stepwire.protocol.http import RoutedName
from stepwire.protocol.messages import UI_EXTENSION
from stepwire.rendering import mark_repeated
from stepwire.server.call import Call, Reply
from stepwire.server.extension import ALL_VERSIONS, Extension, OwnTool, Way
from stepwire.server.results import written
from stepwire.server.services import Services


def _capabilities(_services: Services, call: Call) -> JsonObject:
    """Tell every modern client; of the older ones, only those whose hosts show cards."""
    return {"resources": {}, "extensions": {UI_EXTENSION: {}}} if call.is_modern or call.shows_cards else {}


def _tools(_services: Services, call: Call) -> Mapping[str, OwnTool]:
    if not call.shows_cards:
        return {}
    from stepwire.server.extensions.cards.tools import TOOLS

    return TOOLS


def _intercept(services: Services, call: Call, tool: Tool, plain: Way) -> Way | None:
    """Answer a call soon, because the card shows how its task goes on; the card asks for the confirmation, too."""
    if not call.shows_card_of(tool):
        return None
    return Way(partial(_on_card, services, call), resume=plain.resume, is_cancellable=False)


def _on_card(services: Services, call: Call, begun: Begun) -> JsonObject:
    from stepwire.server.extensions.cards.tools import first_result

    return mark_repeated(written(call, first_result(services, call, begun)), is_repeat=begun.is_repeat)


def _resources(method: str, services: Services, call: Call) -> Reply:
    from stepwire.server.extensions.cards.resources import METHODS

    return METHODS[method](services, call)


_NAMES: Final = ("resources/list", "resources/read", "resources/templates/list")
_METHODS: Final = MappingProxyType({name: partial(_resources, name) for name in _NAMES})
CARDS: Final = Extension(
    dict.fromkeys(ALL_VERSIONS, _METHODS),
    MappingProxyType({"resources/read": RoutedName("uri")}),
    _capabilities,
    CARD_TOOLS,
    _tools,
    _intercept,
)
