"""Definitions of state machines: their states, those inside other states too. Pure, and never in a caller's request.

The rule: what is malformed counts as nothing. Step Functions says what is wrong with a definition.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from stepwire.json_text import Json, JsonObject, as_object, objects_in

ASKING: Final = ("elicitation", "sampling", "roots")
"""The members of a payload that ask; each is a kind of question."""
WAITS: Final = ".waitForTaskToken"
"""What the resource of a state ends in that waits for an answer."""
INNER: Final = ("Branches", "ItemProcessor", "Iterator")
"""The fields of a state that have states: the branches of a Parallel, and what a Map does with each item."""


class PlacedState(Struct, frozen=True):
    """A state, and the states among which it runs."""

    where: str
    """Its place in the definition, such as `States.Check.Branches[0].States.Ask`."""
    name: str
    state: JsonObject
    among: Mapping[str, Json]
    """The definition, or the part of it, that has the state."""
    language: str
    """The query language of the state."""


def states_in(definition: Mapping[str, Json], where: str = "", language: str = "JSONPath") -> Iterator[PlacedState]:
    """Yield each state of a definition, however deep, before those inside it."""
    language = str(definition.get("QueryLanguage", language))
    for name, one in as_object(definition.get("States")).items():
        state, here = as_object(one), f"{where}States.{name}"
        yield PlacedState(here, name, state, definition, str(state.get("QueryLanguage", language)))
        for field in INNER:
            for number, inner in enumerate(objects_in(state.get(field))):
                index = f"[{number}]" if field == "Branches" else ""
                yield from states_in(inner, f"{here}.{field}{index}.", language)


def inside(state: Mapping[str, Json]) -> list[JsonObject]:
    """Return the definitions that a state has inside."""
    return [one for field in INNER for one in objects_in(state.get(field))]


def given_to(state: Mapping[str, Json]) -> JsonObject:
    """Return what a task gives to its service; nothing if an expression gives it as a whole."""
    return as_object(state.get("Arguments", state.get("Parameters")))


def payload_of(state: JsonObject) -> JsonObject | None:
    """Return what a state that asks through Stepwire sends to the function; None if it asks nothing."""
    if not str(state.get("Resource", "")).endswith(WAITS):
        return None
    payload = as_object(given_to(state).get("Payload"))
    return payload if any(kind in payload or f"{kind}.$" in payload for kind in ASKING) else None
