"""Amounts of money, in cents. The rule: none is ever a float, and none is ever rounded up.

On the wire an amount is a text with two decimals, "49.90". A JSON number may be rounded on its way, and minor units are
wrong by a factor of a hundred where a model forgets them; a text that is no amount is refused by the tool's schema.
Only the field of the form is a number, for forms have no better: it is cut to whole cents.
"""

import re
from decimal import ROUND_DOWN, Decimal
from typing import Final

_AMOUNT: Final = re.compile(r"(0|[1-9][0-9]{0,6})\.[0-9]{2}")  # as in the manifest


def cents_of(amount: str) -> int:
    """Read an amount.

    Raises:
        ValueError: it is not written as one.
    """
    if not _AMOUNT.fullmatch(amount):
        raise ValueError(f"{amount!r} is no amount: write it with two decimals, as in 49.90")
    return int(amount.replace(".", ""))


def whole_cents_of(number: float) -> int:
    """Cut what a user entered to whole cents; 49.9 is 4990, as it was meant, though no float is just that."""
    return int((Decimal(str(number)) * 100).quantize(Decimal(1), ROUND_DOWN))


def amount_of(cents: int) -> str:
    """Write an amount."""
    return f"{cents // 100}.{cents % 100:02}"
