"""The example's order book. Replace it by a call to your own: no other module knows where orders come from."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True)
class Order:
    """An order that was paid."""

    order_id: str
    item: str
    paid: int
    """Cents."""
    currency: str


_BOOK: Final = MappingProxyType(
    {
        order.order_id: order
        for order in (
            Order("A-1001", "Desk lamp", 34_90, "EUR"),
            Order("A-1002", "Office chair", 249_00, "EUR"),
            Order("A-1003", "Standing desk", 1_890_00, "EUR"),
            Order("A-1004", "Headphones", 119_95, "USD"),
        )
    }
)


def find_order(order_id: str) -> Order | None:
    """Return the order with this id, if any."""
    return _BOOK.get(order_id)
