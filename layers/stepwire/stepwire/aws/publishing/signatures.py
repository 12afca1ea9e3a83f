"""The signatures of Standard Webhooks, by the library of its authors."""

from datetime import datetime

from standardwebhooks.webhooks import Webhook


def sign(secret: str, message_id: str, at: datetime, body: str) -> str:
    """Return the signature of a message, with its version."""
    return Webhook(secret).sign(message_id, at, body)
