"""Who owns a function or a state machine: its names, and the stubs of its template. One list for the process.

The rule: only what a running stack has registered can be stubbed; the simulated account itself knows nothing of stubs.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from stepwire_local.stubs.book import Book, Call
from stepwire_local.stubs.replies import Answer, Failure, Unusable

NOT_SERVED = "Stepwire.NotServedLocally"
"""The name of the error of a function that cannot run here."""


@dataclass(frozen=True)
class Owned:
    """A function or a state machine of a template."""

    book: Book
    names: Sequence[str]
    """The names that a stub may have: the logical id first."""

    @property
    def name(self) -> str:
        """Return the name that its template gives it."""
        return self.names[0]


_OUTSIDE: Final = {
    "action": "lambda:invoke",
    **dict.fromkeys(("resource", "parameters", "state_machine", "state", "execution", "token")),
    "attempt": 0,
}
"""What a script knows outside an execution."""
_owned: dict[str, Owned] = {}  # by ARN


def register(arn: str, owned: Owned) -> None:
    """Note whose an ARN is."""
    _owned[arn] = owned


def unregister(book: Book) -> None:
    """Forget whatever a template owns: its stack is stopping."""
    for arn in [arn for arn, owned in _owned.items() if owned.book is book]:
        del _owned[arn]


def owned(arn: str) -> Owned | None:
    """Return whose an ARN is, which may name a version or an alias; None if no running stack has it."""
    parts = arn.split(":")
    return _owned.get(":".join(parts[:7]))


def has_stub(arn: str) -> bool:
    """Return whether a stub answers for a function."""
    found = owned(arn)
    return found is not None and found.book.find([*found.names, arn]) is not None


def name_of(arn: str) -> str:
    """Return the name that a template gives to what an ARN names, or the end of the ARN."""
    known = owned(arn)
    return known.name if known else arn.rpartition(":")[2].rpartition("/")[2]


def reply_for(arn: str, event: str) -> Answer | Failure | None:
    """Return what the stub of a function replies to an event, as JSON text; None if it has no stub."""
    found = owned(arn)
    stub = found.book.find([*found.names, arn]) if found else None
    if found is None or stub is None:
        return None
    context = {**_OUTSIDE, "name": stub.name}  # a rule or another function invokes it; a task asks by itself
    outcome = found.book.ask(stub, Call(json.loads(event), context))
    return Failure(NOT_SERVED, outcome.reason) if isinstance(outcome, Unusable) else outcome
