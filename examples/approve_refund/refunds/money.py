"""Amounts of money, in cents. The rule: none is ever a float, and none is ever rounded up.

In JSON an amount is a string with two decimals, "49.90". A JSON number may be rounded in transit, and a model that
forgets minor units is wrong by a factor of a hundred; the tool's schema refuses other strings. Only the form's field is
a number, because forms have no decimal type: it is truncated to whole cents.
"""

import re
from decimal import ROUND_DOWN, Decimal
from typing import Final

_AMOUNT: Final = re.compile(r"(0|[1-9][0-9]{0,6})\.[0-9]{2}")  # as in the manifest


def cents_of(amount: str) -> int:
    """Return the cents of an amount.

    Raises:
        ValueError: the text is not an amount.
    """
    if not _AMOUNT.fullmatch(amount):
        raise ValueError(f"{amount!r} is no amount: write it with two decimals, as in 49.90")
    return int(amount.replace(".", ""))


def whole_cents_of(number: float) -> int:
    """Truncate a number that a user entered to whole cents; 49.9 is 4990, although no float is exactly 49.9."""
    return int((Decimal(str(number)) * 100).quantize(Decimal(1), ROUND_DOWN))


def amount_of(cents: int) -> str:
    """Format cents as an amount."""
    return f"{cents // 100}.{cents % 100:02}"
