"""The workflow's last function: pays a refund out, which in this example moves no money.

The rule: the same request gives the same refund, however often it is tried. Its number is made of the execution's name,
as the idempotency key is that a payment provider would be given.
"""

import hashlib
from typing import Any

from refunds.money import amount_of, cents_of, whole_cents_of


class RefundTooHigh(Exception):
    """More was approved than was asked for; the form does not allow it, so something is wrong."""


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001 - Lambda calls it with both
    """Take what was asked for, and what was approved where somebody was asked; give what was refunded."""
    asked = cents_of(event["amount"])
    cents = whole_cents_of(event["approved"]) if "approved" in event else asked
    if not 0 < cents <= asked:
        raise RefundTooHigh(f"{amount_of(cents)} is not within the {event['amount']} that were asked for")
    key = f"{event['execution']} {event['order_id']}"
    return {"amount": amount_of(cents), "refund_id": f"R-{hashlib.sha256(key.encode()).hexdigest()[:12]}"}
