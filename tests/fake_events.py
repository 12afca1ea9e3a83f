"""The record of changes in memory; `tests/contracts/test_event_store.py` holds for it as for the adapter."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from stepwire.principal import Principal
from stepwire.subscriptions.changes import Change
from stepwire.subscriptions.ports import Recorded
from stepwire.subscriptions.positions import Head


@dataclass
class _Record:
    since: datetime
    until: datetime
    number: int
    changes: list[Recorded] = field(default_factory=list[Recorded])


class InMemoryEventStore:
    """Changes in lists."""

    def __init__(self) -> None:
        self._records: dict[Principal, _Record] = {}

    def open_record(self, owner: Principal, at: datetime, until: datetime) -> Head:
        record = self._records.get(owner)
        if record is None or record.until <= at:
            record = self._records[owner] = _Record(at, until, int(at.timestamp() * 1000))
        record.until = max(record.until, until)
        return Head(record.number, record.since)

    def head(self, owner: Principal, at: datetime) -> Head | None:
        record = self._records.get(owner)
        return None if record is None or record.until <= at else Head(record.number, record.since)

    def append(self, owner: Principal, head: Head, changes: Sequence[Change]) -> None:
        record = self._records[owner]
        for change in changes:
            record.number += 1
            record.changes.append(Recorded(record.number, change))

    def read(self, owner: Principal, after: int, most: int) -> Sequence[Recorded]:
        record = self._records.get(owner)
        return [one for one in record.changes if one.number > after][:most] if record else []
