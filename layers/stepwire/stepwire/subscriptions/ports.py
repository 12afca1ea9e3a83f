"""The ports of this room: the record of changes. `aws/` implements it; tests use fakes that pass the same contract."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from stepwire.principal import Principal
from stepwire.subscriptions.changes import Change
from stepwire.subscriptions.positions import Head


@dataclass(frozen=True)
class Recorded:
    """A change in the record of its caller."""

    number: int
    """In the order of the changes, without gaps while the caller's changes are recorded."""
    change: Change


class EventStore(Protocol):
    """The changes of each caller's tasks, recorded only while the caller asks for events. Reads are consistent."""

    def open_record(self, owner: Principal, at: datetime, until: datetime) -> Head:
        """Record the caller's changes until a time, at least; return the end of the record."""
        ...

    def head(self, owner: Principal, at: datetime) -> Head | None:
        """Return the end of the record; None if the caller's changes are not recorded. Costs one read."""
        ...

    def append(self, owner: Principal, head: Head, changes: Sequence[Change]) -> None:
        """Add changes to the record. A retry may add them twice.

        Raises:
            StoreBusy: some may be missing; retry.
        """
        ...

    def read(self, owner: Principal, after: int, most: int) -> Sequence[Recorded]:
        """Return up to `most` changes after a number, oldest first."""
        ...
