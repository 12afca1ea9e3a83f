"""What the owner of a state machine may make better before a model gets it as a tool: one line each, no fault.

A state that waits for a person may ask the caller; one that asks may lose its question; what an event or another state
machine starts is perhaps no tool.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from stepwire.json_text import JsonObject
from stepwire_wrap.definitions.asking import asking_instead
from stepwire_wrap.definitions.deciders import NOT_CHOSEN, Choices, Decider, Way, others, proposed_for, ways_of
from stepwire_wrap.definitions.people import WaitingState, waiting_for_people
from stepwire_wrap.definitions.reads import Read
from stepwire_wrap.definitions.retrying import unretried

_TOKEN: Final = re.compile(r"(my|parent|callback)?[-_]?task[-_]?token", re.IGNORECASE)
_PARENT: Final = "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID"
# Members of EventBridge's events, and of the batches of queues, topics and streams.
_EVENT: Final = frozenset({"detail", "detail-type"})
_RECORDS: Final = "Records"


@dataclass(frozen=True)
class Hint:
    """Something that may be better otherwise."""

    what: str
    fix: str
    lines: tuple[str, ...] = ()
    """ASL that does it, in YAML or JSON as the definition is."""
    state: str = ""
    """The name of a state that waits for a person."""
    ways: tuple[Way, ...] = ()
    """What its owner may choose from, the proposed one first; empty: there is nothing to choose, or it is chosen."""

    def ways_in_words(self) -> list[str]:
        """Return what its owner may choose from, a line each."""
        if not self.ways:
            return []
        first = [f"{self.state}: who decides?", *(f"  {one}." for one in self.ways)]
        asked = None if self.ways[0].decider is Decider.CALLER else others()
        return [*first, asked.refused] if asked else first

    def __str__(self) -> str:
        """Return it as a line."""
        return f"{self.what}: {self.fix}"


def hints_of(
    definition: JsonObject, reads: Iterable[Read], choices: Choices = NOT_CHOSEN, *, as_json: bool = False
) -> list[Hint]:
    """Return the hints to a state machine, whose lines are for a definition in YAML or in JSON."""
    lost = [Hint(f"state {place.name} {what}", fix) for place, what, fix in unretried(definition)]
    return [*_of_its_start(reads), *questions_of(definition, choices, as_json=as_json), *lost]


def questions_of(definition: JsonObject, choices: Choices = NOT_CHOSEN, *, as_json: bool = False) -> list[Hint]:
    """Return a hint to each state that waits for a person, and to those that may."""
    return [_question(one, choices, as_json=as_json) for one in waiting_for_people(definition)]


def _question(waiting: WaitingState, choices: Choices, *, as_json: bool) -> Hint:
    name, asked = waiting.place.name, others()
    if not waiting.is_sure:
        of_others = f", {asked.name} decide," if asked else ""
        fix = f"if so, say whether it stays as it is{of_others} or the caller does (docs/wrapping.md)"
        return Hint(f"state {name} may wait for a person ({waiting.why})", fix)
    what, chosen = f"state {name} waits for a person ({waiting.why})", choices.deciders.get(name)
    if chosen is Decider.AS_NOW:
        return Hint(what, "it stays as it is, and whoever gets its message decides there")
    decider = chosen or proposed_for(waiting)
    not_the_caller = f"not the caller, for it names somebody else ({waiting.other})"
    if decider is Decider.AS_NOW:
        return Hint(what, f"leave it as it is; {not_the_caller}", state=name, ways=ways_of(waiting))
    lines = tuple(asking_instead(waiting, decider).lines(as_json=as_json))
    ways = () if chosen else ways_of(waiting)
    if decider is Decider.CALLER:
        return Hint(what, "ask the caller instead, who then decides", lines, name, ways)
    instead = f"ask {asked.name if asked else 'others'} instead"
    return Hint(what, instead if chosen else f"leave it as it is, or {instead}; {not_the_caller}", lines, name, ways)


def _of_its_start(reads: Iterable[Read]) -> Iterator[Hint]:
    found = list(reads)
    paths = list(dict.fromkeys(read.path for read in found if read.path))
    tested = {read.path for read in found if read.use.tested}
    token = next((path for path in paths if _TOKEN.fullmatch(path[-1])), None)
    if token is not None or (_PARENT,) in paths:
        taken = _PARENT if token is None else ".".join(token)
        yield Hint(f"another state machine starts it, whose {taken} it takes", "offer that one as a tool instead")
    if event := next((path for path in paths if path[0] in (*_EVENT, _RECORDS) and path[:1] not in tested), None):
        fix = "offer it only if a model can write such an event, or put a state machine before it that does"
        yield Hint(f"an event starts it: it reads {'.'.join(event[:3])}", fix)
