"""The workflow's first function: checks a refund against the order and the rules. It changes nothing."""

from typing import Any

from refunds.money import cents_of
from refunds.orders import find_order
from refunds.rules import decide


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001 - Lambda calls it with both
    """Return the verdict on the tool's arguments, its reason and the purchased item."""
    order = find_order(event["order_id"])
    decision = decide(order, cents_of(event["amount"]), event["currency"])
    return {
        "verdict": decision.verdict.value,
        "explanation": decision.explanation,
        "item": order.item if order else "",
    }
