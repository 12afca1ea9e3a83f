"""What is posted to an endpoint: events and control envelopes, with the headers of Standard Webhooks. Pure."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from stepwire.json_text import JsonObject, write
from stepwire.subscriptions.ports import Recorded, Sign
from stepwire.subscriptions.positions import cursor_of
from stepwire.subscriptions.subscription import Subscription


class Message(Struct, frozen=True):
    """A body, and the id by which its receiver drops duplicates."""

    id: str
    body: str


def event_message(subscription: Subscription, recorded: Recorded) -> Message:
    """Return the message of an event. Its cursor is that of the last delivery, so it is safe to keep."""
    event = recorded.change.event(subscription.wanted.name)
    cursor = cursor_of(subscription.owner, subscription.position)
    # The latest text of SEP-3415 wants an id for each message, ChatGPT and the AI SDK want the event's: they are equal.
    return Message(str(event["eventId"]), write({**event, "cursor": cursor}))


def control_message(kind: str, random: bytes, members: JsonObject) -> Message:
    """Return a control envelope, such as `verification` and `gap`."""
    return Message(f"msg_{kind}_{random.hex()}", write({"type": kind, **members}))


def headers_of(subscription: Subscription, message: Message, at: datetime, sign: Sign) -> Mapping[str, str]:
    """Return the headers of one attempt, signed now: by the previous secret too during a rotation."""
    signatures = [sign(secret, message.id, at, message.body) for secret in subscription.secrets(at)]
    return {
        "content-type": "application/json",
        "user-agent": "stepwire",
        "webhook-id": message.id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(signatures),
        "x-mcp-subscription-id": subscription.id,
    }
