"""Deliver events to the endpoints of subscriptions. Nothing is built before the first message."""

from stepwire.extras.events.webhook_function import WebhooksHandler

handler = WebhooksHandler()
