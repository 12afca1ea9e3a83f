"""Who decides at a state that waits for a person: whoever does today, the caller of the tool, or others. Pure.

The rule: whoever asks does not approve. Where the words, the recipient or the function of a state name somebody else,
the caller is one of the answers and never the proposal. Who the others are, and how they are asked, is an extra's: the
module `deciders` of its folder.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Final

from stepwire.json_text import Json, JsonObject
from stepwire_wrap.definitions.fields import Field
from stepwire_wrap.definitions.people import WaitingState
from stepwire_wrap.parts import parts

_LONGEST_KEY: Final = 64
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\W]+")


class Decider(Enum):
    """Who decides."""

    AS_NOW = "as-now"
    OTHERS = "others"
    CALLER = "caller"


@dataclass(frozen=True)
class Choices:
    """What the owner of a state machine says about who decides."""

    deciders: Mapping[str, Decider] = field(default_factory=dict[str, Decider])
    """By the names of the states that wait for a person."""
    audience: JsonObject = field(default_factory=dict[str, Json])
    """Who the others are, in all questions of the state machine, as the manifest says it."""


NOT_CHOSEN: Final = Choices()


@dataclass(frozen=True)
class Way:
    """One of the answers."""

    decider: Decider
    title: str
    meaning: str
    option: str
    """With which `stepwire wrap` takes it."""

    def __str__(self) -> str:
        """Return it as a line."""
        return f"{self.title} ({self.option}): {self.meaning}"

    @property
    def who(self) -> str:
        """Who decides, for programs."""
        asked = others() if self.decider is Decider.OTHERS else None
        return asked.name if asked else self.decider.value


@dataclass(frozen=True, kw_only=True)
class Others:
    """People other than the caller, whom an extra lets decide."""

    name: str
    """What they are called: by the manifest, whose field says who they are, by `stepwire wrap`, and in words."""
    way: Callable[[WaitingState], Way]
    refused: str
    """What becomes of a question to them while the manifest has no such field."""
    asks: str
    """What the question ends with."""
    audience: Callable[[WaitingState], JsonObject]
    """Returns what the payload of a question says of them."""
    decided: Callable[[list[Field]], list[Field]]
    """Returns the fields with the values that their decision gives."""
    sign_in: Callable[[Iterable[str]], JsonObject]
    """Reads who they are from texts. Raises ValueError, which says what is right."""
    right: str
    """What such a text is."""
    policy: Callable[[Choices, list[str]], JsonObject]
    """Returns the field of a manifest, from the names of the states that ask the caller already."""


@cache
def others() -> Others | None:
    """Return the others whom an extra lets decide; None: there is no such extra."""
    return next((part.OTHERS for part in parts("deciders")), None)


def ways_of(waiting: WaitingState) -> tuple[Way, ...]:
    """Return the answers, the proposed one first."""
    as_now = Way(
        Decider.AS_NOW,
        "As it is",
        "only the tag and the manifest are added. Whoever gets its message decides there, and the task is working "
        "until then",
        "--decides as-now",
    )
    caller = Way(
        Decider.CALLER,
        "The caller",
        "whoever calls the tool decides, on their own request too",
        "--decides caller",
    )
    asked = others()
    of_others = (asked.way(waiting),) if asked else ()
    return (as_now, *of_others, caller) if waiting.other else (caller, as_now, *of_others)


def proposed_for(waiting: WaitingState) -> Decider:
    """Return for whom a state that asks is proposed while nobody has chosen; `AS_NOW`: it stays as it is."""
    if not waiting.other:
        return Decider.CALLER
    return Decider.OTHERS if others() else Decider.AS_NOW


def field_of_others(choices: Choices, asks_others: Iterable[str]) -> JsonObject:
    """Return the field of the manifest that says who decides in place of the caller; empty: nobody does.

    Args:
        choices: who decides at each state.
        asks_others: the names of the states that ask the caller already.
    """
    asked = others() if Decider.OTHERS in choices.deciders.values() else None
    return {asked.name: asked.policy(choices, [*asks_others])} if asked else {}


def chosen_in(manifest: JsonObject) -> JsonObject:
    """Return the field of a manifest that says who decides in place of the caller; empty: it has none."""
    asked = others()
    return {asked.name: manifest[asked.name]} if asked and asked.name in manifest else {}


def key_of(state: str) -> str:
    """Return the key of the question that a state asks."""
    words = " ".join(_CAMEL.split(state)).lower()
    return re.sub(r"[^a-z0-9]+", "_", words).strip("_")[:_LONGEST_KEY] or "question"
