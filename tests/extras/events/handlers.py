"""For the tests of all functions: that of webhooks, and what it counts."""

from typing import Final

from stepwire.extras.events.webhook_function import WebhooksHandler, write_counts

HANDLERS: Final = (WebhooksHandler,)


def count() -> None:
    """Write a line of the log with the metric that alarms and widgets show."""
    write_counts({"WebhookFaults": 1}, {})
