"""The page of the card, which is the same for every caller. Loaded with the first request that needs it."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

from stepwire.extras.cards import CARD_MIME_TYPE, CARD_URI, shows_cards
from stepwire.json_text import JsonObject
from stepwire.server.call import Call
from stepwire.server.services import Services

_PAGE: Final = Path(__file__).parent / "card.html"
_UI: Final[JsonObject] = {
    "ui": {
        # Empty: the page loads nothing and connects to nothing.
        "csp": {"connectDomains": [], "resourceDomains": [], "frameDomains": [], "baseUriDomains": []},
        "prefersBorder": True,
    }
}


def listed(_services: Services, call: Call) -> Iterable[JsonObject]:
    """Return the card for hosts that show cards; other hosts would offer it to their users as a document."""
    card: JsonObject = {
        "uri": CARD_URI,
        "name": "task",
        "title": "Task card",
        "description": "Shows a task: its progress, its questions and its result.",
        "mimeType": CARD_MIME_TYPE,
        "_meta": _UI,
    }
    return [card] if shows_cards(call) else []


def read(_services: Services, _call: Call, uri: str) -> JsonObject | None:
    """Return the page, whoever asks; None at any other URI."""
    return {"mimeType": CARD_MIME_TYPE, "text": page(), "_meta": _UI} if uri == CARD_URI else None


@cache
def page() -> str:
    """Return the card as HTML."""
    return _PAGE.read_text(encoding="utf-8")
