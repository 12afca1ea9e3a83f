"""Patches of DynamoDB Streams: one record per change, and a signal when a record is written."""

import copy
import threading
from collections.abc import Callable
from typing import Any

from moto.dynamodb.models.table import StreamRecord, StreamShard

_Replace = Callable[[object, str, object], None]

_KEPT = 10_000  # records; AWS keeps a day's
_TRIMMED = 1_000  # at a time


class Signal:
    """Counts written records, and wakes the threads that wait for one."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.count = 0

    def give(self) -> None:
        """Count a record, and wake the waiting threads."""
        with self._changed:
            self.count += 1
            self._changed.notify_all()

    def wait(self, seen: int, *, within: float) -> None:
        """Wait until the count differs from the one seen before, for at most so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self.count != seen, timeout=within)


# Signalled during a DynamoDB call. A reader that it wakes waits for that call's lock, so it sees whole transactions.
written = Signal()


def changes_are_recorded_once(replace: _Replace) -> None:
    """Patch: Write one record per change, with copies of the images.

    Defect: UpdateItem writes two stream records for a new item, and a MODIFY record for an unchanged one; the
    images share sets with the item.
    """

    def add(self: Any, old: Any, new: Any) -> None:
        if old is not None and new is not None and old == new:
            return
        kind = "INSERT" if old is None else "REMOVE" if new is None else "MODIFY"
        view: str = self.table.stream_specification["StreamViewType"]
        old, new = copy.deepcopy((old, new))
        number = self.starting_sequence_number + len(self.items)
        record: Any = StreamRecord(self.table, view, kind, old, new, number)
        if self.items and _insert_one_item(self.items[-1].record, record.record):
            record.record["dynamodb"]["SequenceNumber"] = self.items.pop().record["dynamodb"]["SequenceNumber"]
        self.items.append(record)
        if len(self.items) > _KEPT:
            del self.items[:_TRIMMED]
            self.starting_sequence_number += _TRIMMED
        written.give()

    replace(StreamShard, "add", add)


def _insert_one_item(former: Any, latter: Any) -> bool:
    return former["eventName"] == latter["eventName"] == "INSERT" and (
        former["dynamodb"]["Keys"] == latter["dynamodb"]["Keys"]
    )


PATCHES = (changes_are_recorded_once,)
