"""The screens of the card that are checked and pictured: what the server says, and what a user did."""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from tests.extras.cards.host import Card
from tests.extras.cards.views import APPROVAL, FIRST, ORDERS, asking, asks, done, refused, view

_CHART: Final = b64encode(
    b'<svg xmlns="http://www.w3.org/2000/svg" width="240" height="80">'
    b'<path stroke="#5b8def" stroke-width="28" d="M20 80V50M60 80V34M100 80V58M140 80V20M180 80V42M220 80V12"/></svg>'
).decode()
_RUNNING: Final = view(
    statusMessage="Checking the order with the shop",
    states=["Validate input", "Load order", "Check fraud", "Refund items"],
    progress={"progress": 6, "total": 10, "message": "6 of 10 items refunded"},
)
_EVERYTHING: Final = asks(
    {
        "reason": {
            "type": "string",
            "title": "Reason",
            "oneOf": [{"const": c, "title": c} for c in ("Broken", "Late")],
        },
        "mail": {"type": "string", "title": "Email", "format": "email", "description": "We send the receipt there."},
        "when": {"type": "string", "title": "Pick-up", "format": "date-time"},
        "amount": {"type": "number", "title": "Amount", "maximum": 100, "default": 500},
        "parts": {"type": "array", "title": "Parts", "items": {"type": "string", "enum": ["Lamp", "Cable", "Shade"]}},
        "country": {"type": "string", "title": "Country", "enum": ["Austria", "Germany", "Japan", "Spain", "USA"]},
        "agree": {"type": "boolean", "title": "The customer agrees"},
        "note": {"type": "string", "title": "Note", "maxLength": 500},
    },
    "reason",
    "amount",
    message="What shall happen with order A-1042?",
)
_BLOCKS: Final[list[dict[str, Any]]] = [
    {"type": "text", "text": "Two orders were refunded. See https://example.com/refunds/R-7 for the receipt."},
    {"type": "image", "data": _CHART, "mimeType": "image/svg+xml"},
    {"type": "resource_link", "uri": "https://example.com/r.pdf", "name": "Receipt", "description": "PDF, 12 kB"},
    {"type": "resource", "resource": {"uri": "file:///log.txt", "mimeType": "text/plain", "text": "line\n" * 400}},
]


def _looks(_: Card) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Screen:
    """A screen, and the text that shows that it is there."""

    shown: str
    reply: dict[str, Any]
    does: Callable[[Card], None] = _looks
    wish: dict[str, Any] = field(default_factory=dict[str, Any])

    def opens(self, card: Card, **wish: Any) -> None:
        """Show it in a host."""
        card.opens(**{"result": FIRST, "replies": {"card_task": [self.reply]}, **self.wish, **wish})
        self.does(card)
        card.sees(self.shown)


def _sends(card: Card) -> None:
    card.presses("Send answer")


def _cancels(card: Card) -> None:
    card.presses("Cancel task")


_PAGE: Final = {
    "key": "k",
    "message": "Please sign in to the bank.",
    "mode": "url",
    "url": "https://bank.example.com/in",
}
_FAULT: Final = {"code": -32603, "message": "The payment service did not answer within 30 seconds (Payments.Timeout)."}
SCREENS: Final = {
    "loading": Screen("Loading", view(), wish={"result": None}),
    "working": Screen("6 of 10 items", _RUNNING),
    "started": Screen("Working", view()),
    "in line": Screen("Number 3 in line", view(line={"position": 3, "beginsAt": "2026-11-22T10:05:12Z"})),
    "question": Screen("May we refund", asking(APPROVAL)),
    "wrong": Screen("At most 100", asking(_EVERYTHING), _sends),
    "page": Screen("bank.example.com", asking({**_PAGE, "attempt": 1})),
    "cancelling": Screen("Stop this task?", _RUNNING, _cancels),
    "cancelled": Screen("Cancelled", view("cancelled", states=["Validate input", "Load order"])),
    "failed": Screen("Payments.Timeout", view("failed", error=_FAULT, states=["Validate input", "Pay"])),
    "result": Screen("R-7", done(structuredContent=ORDERS)),
    "blocks": Screen("Two orders", done(content=_BLOCKS)),
    "foreign": Screen("There is no task", refused("There is no task task-1 of yours, or it has expired.")),
    "denied": Screen("Not allowed", {"denied": "Not allowed by your administrator."}),
}
"""By name."""
