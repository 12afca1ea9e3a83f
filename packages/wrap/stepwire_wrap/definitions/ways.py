"""Which states no way through a state machine avoids. The rule: in time linear in states and transitions."""

from collections.abc import Collection, Mapping

Ways = Mapping[str, Collection[str]]
"""The states that each state may lead to, by name. Names that are no key are no states."""


def unavoidable(start: str, ways: Ways, ends: Collection[str]) -> frozenset[str]:
    """Return the states that every way from `start` to one of `ends` enters; all, if no way leads to an end.

    Only states of one such way come into question. One of them is avoided if a detour leaves that way before it and
    joins it, or ends, behind it.
    """
    path = _shortest(start, ways, ends)
    if not path:
        return frozenset(ways)
    places = {name: place for place, name in enumerate(path)}
    furthest, known, found = 0, set[str](), list[str]()
    for place, name in enumerate(path):
        if furthest <= place:
            found.append(name)
        furthest = max(furthest, _furthest_from(name, ways, ends, places, known))
    return frozenset(found)


def _shortest(start: str, ways: Ways, ends: Collection[str]) -> list[str]:
    """Return the states of a shortest way to an end; empty if there is none."""
    before: dict[str, str | None] = {start: None} if start in ways else {}
    waiting = list(before)
    for name in waiting:  # it grows
        if name in ends:
            return _back(name, before)
        new = [to for to in dict.fromkeys(ways[name]) if to in ways and to not in before]
        before |= dict.fromkeys(new, name)
        waiting += new
    return []


def _back(name: str | None, before: Mapping[str, str | None]) -> list[str]:
    way = list[str]()
    while name is not None:
        way.append(name)
        name = before[name]
    return way[::-1]


def _furthest_from(name: str, ways: Ways, ends: Collection[str], places: Mapping[str, int], known: set[str]) -> int:
    """Return the furthest place on the path that detours from a state reach; behind the last one is an end."""
    furthest, waiting = 0, [name]
    while waiting:
        at = waiting.pop()
        after = ways[at]
        reached = [places[to] for to in after if to in places] + ([len(places)] if at in ends else [])
        furthest = max(furthest, *reached, 0)
        new = {to for to in after if to in ways and to not in places} - known
        known |= new
        waiting += new
    return furthest
