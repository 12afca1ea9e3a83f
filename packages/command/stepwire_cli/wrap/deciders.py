"""Who decides at a state that waits for a person: whoever does today, approvers, or the caller of the tool. Pure.

The rule: whoever asks does not approve. Where the words, the recipient or the function of a state name somebody else,
the caller is one of the three answers and never the proposal; and what is proposed for approvers is refused, and asks
nobody, as long as the manifest has none.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from stepwire.json_text import Json, JsonObject
from stepwire.tasks.audiences import audience_of
from stepwire.tasks.inputs import InvalidQuestion
from stepwire_cli.wrap.people import WaitingState

RIGHT: Final = "write claim=NAME:VALUE[,VALUE], scope=SCOPE or role=ARN"
_LONGEST_KEY: Final = 64
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\W]+")
_EXAMPLE: Final = "--approvers claim=groups:{}s"


class Decider(Enum):
    """Who decides."""

    AS_NOW = "as-now"
    APPROVERS = "approvers"
    CALLER = "caller"


@dataclass(frozen=True)
class Choices:
    """What the owner of a state machine says about who decides."""

    deciders: Mapping[str, Decider] = field(default_factory=dict[str, Decider])
    """By the names of the states that wait for a person."""
    audience: JsonObject = field(default_factory=dict[str, Json])
    """What the sign-in of approvers has, in all questions of the state machine: `scope`, `claim` with `has`, `role`."""


NOT_CHOSEN: Final = Choices()


@dataclass(frozen=True)
class Way:
    """One of the three answers."""

    decider: Decider
    title: str
    meaning: str
    option: str
    """With which `stepwire wrap` takes it."""

    def __str__(self) -> str:
        """Return it as a line."""
        return f"{self.title} ({self.option}): {self.meaning}"


def ways_of(waiting: WaitingState) -> tuple[Way, ...]:
    """Return the three answers, the proposed one first."""
    as_now = Way(
        Decider.AS_NOW,
        "As it is",
        "only the tag and the manifest are added. Whoever gets its message decides there, and the task is working "
        "until then",
        "--decides as-now",
    )
    approvers = Way(
        Decider.APPROVERS,
        "Approvers",
        "people whose sign-in has a group, a scope or a role decide in their own client or on a page. The caller "
        "cannot, with any client",
        _EXAMPLE.format(waiting.other or "manager"),
    )
    caller = Way(
        Decider.CALLER,
        "The caller",
        "whoever calls the tool decides, on their own request too",
        "--decides caller",
    )
    return (as_now, approvers, caller) if waiting.other else (caller, as_now, approvers)


def proposed_for(waiting: WaitingState) -> Decider:
    """Return for whom a state that asks is proposed while nobody has chosen."""
    return Decider.APPROVERS if waiting.other else Decider.CALLER


def audience_in(texts: Iterable[str]) -> JsonObject:
    """Return what the sign-in of approvers must have, all of it.

    Raises:
        ValueError: a text is none of it; says what is right.
    """
    found: JsonObject = {}
    for text in texts:
        kind, _, value = text.strip().partition("=")
        name, colon, values = value.partition(":")
        if kind == "claim" and colon:
            found |= {"claim": name, "has": [one.strip() for one in values.split(",")]}
        elif kind in ("scope", "role") and value:
            found[kind] = value
        else:
            raise ValueError(f"{text[:100]!r} says nobody's sign-in: {RIGHT}.")
    try:
        audience_of(found)
    except InvalidQuestion as error:
        raise ValueError(f"{str(error).removeprefix('at audience: ')}: {RIGHT}.") from None
    return found


def approvers_of(choices: Choices, asks_others: Iterable[str]) -> JsonObject | None:
    """Return `approvers` of the manifest; None if they decide nothing.

    Args:
        choices: who decides at each state.
        asks_others: the names of the states that ask the caller already.
    """
    states = [name for name, one in choices.deciders.items() if one is Decider.APPROVERS]
    if not states:
        return None
    is_all = not [*asks_others] and Decider.CALLER not in choices.deciders.values()
    return {**choices.audience, **({} if is_all else {"questions": [*map(key_of, states)]})}


def key_of(state: str) -> str:
    """Return the key of the question that a state asks."""
    words = " ".join(_CAMEL.split(state)).lower()
    return re.sub(r"[^a-z0-9]+", "_", words).strip("_")[:_LONGEST_KEY] or "question"
