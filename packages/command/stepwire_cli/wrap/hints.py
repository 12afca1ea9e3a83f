"""What the owner of a state machine may make better before a model gets it as a tool: one line each, no fault.

A state that waits for a person may ask the caller; one that asks may lose its question; what an event or another state
machine starts is perhaps no tool.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from stepwire.json_text import JsonObject
from stepwire_cli.wrap.asking import lines_for
from stepwire_cli.wrap.people import WaitingState, waiting_for_people
from stepwire_cli.wrap.reads import Read
from stepwire_cli.wrap.retrying import unretried

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

    def __str__(self) -> str:
        """Return it as a line."""
        return f"{self.what}: {self.fix}"


def hints_of(definition: JsonObject, reads: Iterable[Read], *, as_json: bool = False) -> list[Hint]:
    """Return the hints to a state machine, whose lines are for a definition in YAML or in JSON."""
    lost = [Hint(f"state {place.name} {what}", fix) for place, what, fix in unretried(definition)]
    return [*_of_its_start(reads), *questions_of(definition, as_json=as_json), *lost]


def questions_of(definition: JsonObject, *, as_json: bool = False) -> list[Hint]:
    """Return a hint to each state that waits for a person, and to those that may."""
    return [_question(one, as_json=as_json) for one in waiting_for_people(definition)]


def _question(waiting: WaitingState, *, as_json: bool) -> Hint:
    name = waiting.place.name
    if not waiting.is_sure:
        return Hint(f"state {name} may wait for a person ({waiting.why})", "if so, ask the caller instead")
    lines = tuple(lines_for(waiting, as_json=as_json))
    return Hint(f"state {name} waits for a person ({waiting.why})", "ask the caller instead", lines)


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
