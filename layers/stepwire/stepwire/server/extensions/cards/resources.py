"""The methods of resources, for both eras: there is one resource, the card, and it is the same for every caller.

Only a client whose host shows cards finds it in the list; a host without MCP Apps would offer it to its user as a
document. Loaded with the first such request.
"""

from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from stepwire.errors import InvalidCursor, ResourceNotFound, UnknownResource
from stepwire.json_text import JsonObject
from stepwire.protocol.messages import CARD_MIME_TYPE, text_in
from stepwire.protocol.tokens import cursor_of
from stepwire.rendering import CARD_URI
from stepwire.server.call import Call
from stepwire.server.extension import Method
from stepwire.server.services import Services
from stepwire.times import MILLISECOND

_PAGE: Final = Path(__file__).parent / "card.html"
_TTL: Final = timedelta(minutes=5)  # a new release may bring another page
_UI: Final[JsonObject] = {
    "ui": {
        # Empty: the page loads nothing and connects to nothing.
        "csp": {"connectDomains": [], "resourceDomains": [], "frameDomains": [], "baseUriDomains": []},
        "prefersBorder": True,
    }
}


def list_resources(_services: Services, call: Call) -> JsonObject:
    """Return the card, for hosts that show cards; an empty list for others. It fits on one page."""
    _check_first_page(call)
    card: JsonObject = {
        "uri": CARD_URI,
        "name": "task",
        "title": "Task card",
        "description": "Shows a task: its progress, its questions and its result.",
        "mimeType": CARD_MIME_TYPE,
        "_meta": _UI,
    }
    return {"resources": [card] if call.shows_cards else [], **_caching(call, "private")}


def list_templates(_services: Services, call: Call) -> JsonObject:
    """Return an empty list: no resource has variables in its URI."""
    _check_first_page(call)
    return {"resourceTemplates": [], **_caching(call, "public")}


def read_resource(_services: Services, call: Call) -> JsonObject:
    """Return the page of the card.

    Raises:
        UnknownResource: there is no other resource.
        ResourceNotFound: the same in the older era.
    """
    uri = text_in(call.params, "uri")
    if uri != CARD_URI:
        raise UnknownResource(uri) if call.is_modern else ResourceNotFound(uri)
    content: JsonObject = {"uri": CARD_URI, "mimeType": CARD_MIME_TYPE, "text": page(), "_meta": _UI}
    return {"contents": [content], **_caching(call, "public")}


@cache
def page() -> str:
    """Return the card as HTML."""
    return _PAGE.read_text(encoding="utf-8")


def _check_first_page(call: Call) -> None:
    if cursor_of(call.params) is not None:
        raise InvalidCursor


def _caching(call: Call, scope: str) -> JsonObject:
    """Return how long a client of the newer era may keep a result (M31); in the older one, nothing says so."""
    if not call.is_modern:
        return {}
    return {"ttlMs": _TTL // MILLISECOND, "cacheScope": scope}


METHODS: Final[Mapping[str, Method]] = MappingProxyType(
    {
        "resources/list": list_resources,
        "resources/read": read_resource,
        "resources/templates/list": list_templates,
    }
)
