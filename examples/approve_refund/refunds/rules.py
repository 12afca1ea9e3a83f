"""Which refunds are made at once, which need approval, and which are refused.

First failure wins: (1) the order exists, (2) the currency is the order's, (3) the amount is positive, (4) at most the
paid amount, (5) and within the maximum of this workflow. Valid refunds up to a limit need no approval; above it, the
user who asks for the refund approves it, and above a second limit, where there is one, somebody of finance does.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from .money import amount_of
from .orders import Order

WITHOUT_ASKING: Final = 50_00  # cents, in whatever currency the order has
AT_MOST: Final = 1_000_00


class Verdict(Enum):
    """What is to be done."""

    REFUND = "refund"
    ASK = "ask"
    """Of the user."""
    ASK_FINANCE = "ask_finance"
    REFUSE = "refuse"


@dataclass(frozen=True)
class Decision:
    """A verdict and its reason, as text for the requester and the approver."""

    verdict: Verdict
    explanation: str


def decide(order: Order | None, cents: int, currency: str, without_finance: int = AT_MOST) -> Decision:
    """Return the decision on a refund; above `without_finance` cents, it is not the user's to approve."""
    objection = "There is no such order." if order is None else _objection(order, cents, currency)
    if objection is not None:
        return Decision(Verdict.REFUSE, objection)
    if cents > without_finance:
        needed = f"Refunds above {amount_of(without_finance)} {currency} need an approval of finance."
        return Decision(Verdict.ASK_FINANCE, needed)
    if cents > WITHOUT_ASKING:
        return Decision(Verdict.ASK, f"Refunds above {amount_of(WITHOUT_ASKING)} {currency} need an approval.")
    return Decision(Verdict.REFUND, f"Refunds up to {amount_of(WITHOUT_ASKING)} {currency} need no approval.")


def _objection(order: Order, cents: int, currency: str) -> str | None:
    if currency != order.currency:
        return f"The order was paid in {order.currency}, not in {currency}."
    if cents < 1:
        return "Nothing would be refunded."
    if cents > order.paid:
        return f"That is more than the {amount_of(order.paid)} {currency} that were paid."
    if cents > AT_MOST:
        return f"At most {amount_of(AT_MOST)} {currency} can be refunded in this way."
    return None
