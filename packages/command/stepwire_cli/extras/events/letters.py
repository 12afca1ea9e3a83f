"""The messages of the queue of webhooks, of which each names a subscription."""

from typing import Final

QUEUE: Final = "WebhookQueue"


def about(body: object) -> str | None:
    """Return what a message of the queue is about; None: it is of another."""
    match body:
        case {"principal": str(), "subscription": str(subscription)}:
            return subscription
        case _:
            return None
