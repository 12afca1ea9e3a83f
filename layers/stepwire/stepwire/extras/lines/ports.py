"""The port of lines. `storage` implements it; tests use a fake that passes the same contract suite."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from stepwire.extras.lines.rules import Change, Held, Line, Place, Seen, Ticket
from stepwire.principal import Principal


class Lines(Protocol):
    """The lines in which runs wait for their turns (`rules`)."""

    def see(self, key: str, ticket: Ticket) -> Seen:
        """Return a line and what a run has in it, all of one moment.

        Raises:
            StoreBusy: others change it now; retry.
        """
        ...

    def line(self, key: str) -> Line | None:
        """Return a line; None if nobody has asked for a turn of it."""
        ...

    def first(self, key: str, count: int = 1) -> Sequence[Place]:
        """Return the first places of a line, in their order."""
        ...

    def before(self, key: str, place: Place, most: int) -> int:
        """Count the places before a place, up to so many. Eventually consistent."""
        ...

    def turns(self, key: str, owner: Principal | None = None) -> Sequence[Held]:
        """Return the turns of a line that are held, or those of one caller."""
        ...

    def change(self, key: str, before: Line | None, change: Change, at: datetime) -> bool:
        """Write a change of a line, all of it or nothing; return whether the line was as it was read.

        Raises:
            StoreBusy: it may or may not have been written.
        """
        ...

    def in_use(self) -> Sequence[str]:
        """Return the keys of the lines that are in use, those first that an operator has restricted.

        Also some that were in use a moment ago.
        """
        ...
