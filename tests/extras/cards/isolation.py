"""For tests/server/test_isolation.py: the tools of the card, each with its arguments beside the task."""

from typing import Final

OWN_TOOLS: Final[dict[str, dict[str, object]]] = {
    "card_task": {},
    "card_answer": {"question": "approval", "token": "x", "action": "accept"},
    "card_cancel": {},
}
