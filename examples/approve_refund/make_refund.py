"""The workflow's last function: pays out a refund. In this example no money moves.

The rule: idempotent; a retry returns the same refund. Its number is derived from the execution's name, as the
idempotency key for a payment provider would be.
"""

import hashlib
from typing import Any

from refunds.money import amount_of, cents_of, whole_cents_of


class RefundTooHigh(Exception):
    """The approved amount exceeds the requested one. The form does not allow that, so this is a defect."""


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001 - Lambda calls it with both
    """Return the refund for the requested amount, or for the approved one if approval was needed."""
    asked = cents_of(event["amount"])
    cents = whole_cents_of(event["approved"]) if "approved" in event else asked
    if not 0 < cents <= asked:
        raise RefundTooHigh(f"{amount_of(cents)} is not within the {event['amount']} that were asked for")
    key = f"{event['execution']} {event['order_id']}"
    return {"amount": amount_of(cents), "refund_id": f"R-{hashlib.sha256(key.encode()).hexdigest()[:12]}"}
