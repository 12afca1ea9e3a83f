"""Cards (MCP Apps): a host shows a task beside the conversation, on a page that is a resource of this server.

Most clients show none, so all but this is loaded with the first request of one that does.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

from stepwire.catalog.tools import Tool
from stepwire.engine.calls import Begun
from stepwire.hooks import Extra, ManifestFields, Resources, Tools
from stepwire.json_text import JsonObject
from stepwire.protocol.messages import UI_EXTENSION
from stepwire.rendering import mark_repeated
from stepwire.server.call import Call
from stepwire.server.results import written
from stepwire.server.services import Services
from stepwire.server.ways import OwnTool, Way


def _capabilities(_services: Services, call: Call) -> JsonObject:
    """Tell every modern client; of the older ones, only those whose hosts show cards."""
    return {"resources": {}, "extensions": {UI_EXTENSION: {}}} if call.is_modern or call.shows_cards else {}


def _tools(_services: Services, call: Call) -> Mapping[str, OwnTool]:
    if not call.shows_cards:
        return {}
    from stepwire.extras.cards.tools import TOOLS

    return TOOLS


def _way(services: Services, call: Call, tool: Tool, plain: Way) -> Way | None:
    """Answer a call soon, because the card shows how its task goes on; the card asks for the confirmation, too."""
    if not call.shows_card_of(tool):
        return None
    return Way(partial(_on_card, services, call), resume=plain.resume, is_cancellable=False)


def _on_card(services: Services, call: Call, begun: Begun) -> JsonObject:
    from stepwire.extras.cards.tools import first_result

    return mark_repeated(written(call, first_result(services, call, begun)), is_repeat=begun.is_repeat)


def _listed(services: Services, call: Call) -> Iterable[JsonObject]:
    from stepwire.extras.cards.resources import listed

    return listed(services, call)


def _read(services: Services, call: Call, uri: str) -> JsonObject | None:
    from stepwire.extras.cards.resources import read

    return read(services, call, uri)


def _fields() -> ManifestFields[Any]:
    from stepwire.extras.cards.manifest import FIELDS

    return FIELDS


EXTRA: Final = Extra(
    name="cards",
    capabilities=_capabilities,
    tools=Tools(_tools),
    way=_way,
    resources=Resources("ui://", _listed, _read, is_public=True),
    fields=_fields,
)
