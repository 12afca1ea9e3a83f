"""What the table holds of one caller: the command exports it and erases it (`stepwire caller`).

The rule: the core and each extra say the kinds of the items that they keep, whether the extra is on or off: it may have
been on.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache

from stepwire.aws.storage.items import KINDS
from stepwire.aws.storage.table import Item
from stepwire.composition import EXTRAS, switched_on
from stepwire.hooks import Items, Kept
from stepwire.principal import Principal


@cache
def _items() -> tuple[Items, ...]:
    return tuple(one.items for one in switched_on(EXTRAS) if one.items is not None)


@cache
def all_kinds() -> Mapping[str, str]:
    """Return what items are, by how their sort keys begin."""
    return KINDS | {prefix: kind for one in _items() for prefix, kind in one.kinds.items()}


def kind_of(item: Item) -> str:
    """Return what an item is."""
    sort_key = item["sk"]["S"]
    return next((kind for prefix, kind in all_kinds().items() if sort_key.startswith(prefix)), "item")


@cache
def shown_kinds() -> Mapping[str, Callable[[Item], Kept]]:
    """Return what says what an item is without its secrets, by how its sort key begins."""
    return {prefix: show for one in _items() for prefix, show in one.shown.items()}


def keys_of(owner: Principal, item: Item) -> Iterator[Item]:
    """Yield the key of an item, after those of items elsewhere to which nothing but this one leads."""
    for one in _items():
        if one.elsewhere is not None:
            yield from one.elsewhere(owner, item)
    yield {"pk": {"S": owner}, "sk": {"S": item["sk"]["S"]}}
