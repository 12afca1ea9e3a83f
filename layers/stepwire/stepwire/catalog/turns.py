"""Whose manifests are compiled first when a run has no time for all of them. Pure.

The rules: what a run leaves comes first in the next one; and the owners take turns, one manifest each, so that one
owner's manifests do not keep another's waiting.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest

from stepwire.catalog.compiled import Registered


def in_turn(
    registered: Sequence[Registered], waiting: Sequence[str], owners: Mapping[str, str]
) -> tuple[Registered, ...]:
    """Return the registered tools in the order in which they are compiled.

    Args:
        registered: the tools that need to be compiled.
        waiting: the names of those that the last run left, in their order.
        owners: who registered them, by the name of the parameter; those of nobody known are one owner's.
    """
    places = {name: place for place, name in enumerate(waiting)}
    queue = sorted(registered, key=lambda one: (places.get(one.tool, len(places)), one.tool))
    by_owner: dict[str, list[Registered]] = {}
    for one in queue:
        by_owner.setdefault(owners.get(one.source, ""), []).append(one)
    rounds = zip_longest(*by_owner.values())
    return tuple(one for one in chain.from_iterable(rounds) if one is not None)
