"""The workflow's first function: checks a refund against the order and the rules. It changes nothing."""

import os
from typing import Any

from refunds.money import cents_of
from refunds.orders import find_order
from refunds.rules import AT_MOST, decide


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:  # noqa: ARG001 - Lambda calls it with both
    """Return the verdict on the tool's arguments, its reason and the purchased item."""
    order = find_order(event["order_id"])
    limit = os.environ.get("WITHOUT_FINANCE")
    decision = decide(order, cents_of(event["amount"]), event["currency"], cents_of(limit) if limit else AT_MOST)
    return {
        "verdict": decision.verdict.value,
        "explanation": decision.explanation,
        "item": order.item if order else "",
    }
