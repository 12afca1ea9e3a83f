"""Event source mappings: deliver the records of a table's stream to a function, with retries and a dead-letter queue.

The rules are Lambda's: in order, one batch at a time. A failed batch is retried and blocks the batches after it, until
its retries or its maximum age are used up; then its position in the stream, not its content, goes to the queue. The
delays between retries are shorter than in AWS. Every retry counts, even one that made progress (unverified).
"""

import json
import logging
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from moto.dynamodb.models import dynamodb_backends
from moto.events.models import EventPattern

from stepwire_local.account.moto_patches.dynamodb import turns
from stepwire_local.account.moto_patches.streams import written
from stepwire_local.activity import Activity, counted, tell
from stepwire_local.lambdas.asynchronous import bury
from stepwire_local.lambdas.invocations import PAYLOAD_LIMIT, Failed, Outcome, in_one_line
from stepwire_local.streams.records import GivenUp, Record, created_at, dead_letter, event_record, unprocessed
from stepwire_local.stubs.owners import name_of

logger = logging.getLogger(__name__)

_FIRST_DELAY, _LONGEST_DELAY = 0.05, 2.0  # seconds before a retry; each delay is twice the previous one
_ROOM = PAYLOAD_LIMIT - 100  # bytes for the records of an event


class Target(Protocol):
    """The receiver of the records: a function, or a stand-in."""

    @property
    def arn(self) -> str:
        """Return the ARN for dead letters."""
        ...

    def invoke(self, event: str) -> Outcome:
        """Process a batch."""
        ...


@dataclass(frozen=True)
class MappingSettings:
    """The template's settings of a mapping."""

    stream_arn: str
    function: Target
    batch_size: int = 100
    filters: tuple[EventPattern, ...] = ()  # a record must match one of them; empty: every record matches
    reports_failures: bool = False
    bisects: bool = False
    retries: int | None = None  # None: without end
    max_age: float | None = None  # seconds; None: without end
    dead_letters: str | None = None  # ARN of a queue
    is_own: bool = False  # whether it reads for this stack, and not for the application


@dataclass(frozen=True)
class _Read:
    batch: list[Record]  # those that the filters let through
    end: int  # the sequence number after the last that was looked at


class Mapping:
    """Delivers the records of one stream to one function, in its own thread.

    `latest` starts with records written from now on, instead of the oldest record.
    """

    def __init__(self, settings: MappingSettings, *, latest: bool = False) -> None:
        self._settings: Final = settings
        _, _, _, self._region, self._account, resource = settings.stream_arn.split(":", 5)
        self._table = resource.split("/")[1]
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stream", daemon=True)
        with turns:
            shard = self._shard()
            self._shard_id: str = shard.id
            self._position: int = self._end(shard) if latest else shard.starting_sequence_number

    def start(self) -> None:
        """Start delivering."""
        self._thread.start()

    def stop(self) -> None:
        """Stop delivering, without waiting for the current batch."""
        self._stopping.set()
        written.give()

    def has_caught_up(self) -> bool:
        """Return whether every written record has been delivered or given up; one that was stopped delivers no more."""
        with turns:
            shard = self._shard()
            return shard is None or self._stopping.is_set() or self._position >= self._end(shard)

    def _run(self) -> None:
        while not self._stopping.is_set():
            seen = written.count
            try:
                moved = self._carry_on()
            except Exception:
                logger.exception("Records of %s could not be delivered.", self._settings.stream_arn)
                moved = False
            if not moved:
                written.wait(seen, within=1.0)

    def _carry_on(self) -> bool:
        read = self._read()
        if read.batch:
            self._deliver(read.batch)
        moved = read.end > self._position
        self._position = read.end
        return moved

    def _read(self) -> _Read:
        """Read the next records of the stream, up to the size of a batch."""
        with turns:
            shard = self._shard()
            if shard is None:
                return _Read([], self._position)
            begin = max(self._position, shard.starting_sequence_number)
            first = begin - shard.starting_sequence_number
            records = [item.record for item in shard.items[first : first + self._settings.batch_size]]
        batch, room = list[Record](), _ROOM
        for count, record in enumerate(records):
            made = event_record(record, self._settings.stream_arn)
            if not self._lets_through(made):
                continue
            room -= len(json.dumps(made)) + 2
            if batch and room < 0:
                return _Read(batch, begin + count)
            batch.append(made)
        return _Read(batch, begin + len(records))

    def _lets_through(self, record: Record) -> bool:
        filters: Any = self._settings.filters
        return not filters or any(pattern.matches_event(record) for pattern in filters)

    def _deliver(self, batch: Sequence[Record], tries: int = 0) -> None:
        """Invoke until the batch is processed, given up, or split in two; a split does not count as a retry."""
        outcome: Outcome | None = None
        while batch := self._young_ones(batch, outcome, tries):
            self._tell(batch)
            outcome = self._settings.function.invoke(json.dumps({"Records": batch}))
            left = unprocessed(batch, outcome, reports=self._settings.reports_failures)
            if self._stopping.is_set() or not left:
                return
            if self._settings.bisects and len(left) == len(batch) > 1:
                self._deliver(batch[: len(batch) // 2], tries)
                self._deliver(batch[len(batch) // 2 :], tries)
                return
            tries += 1
            if self._settings.retries is not None and tries > self._settings.retries:
                self._give_up(left, "RetryAttemptsExhausted", outcome, tries)
                return
            batch = left
            self._stopping.wait(min(_FIRST_DELAY * 2 ** min(tries - 1, 10), _LONGEST_DELAY))

    def _tell(self, batch: Sequence[Record]) -> None:
        if not self._settings.is_own:
            function = name_of(self._settings.function.arn)
            tell(Activity("stream", self._table, function, counted(len(batch), "record")))

    def _young_ones(self, batch: Sequence[Record], outcome: Outcome | None, tries: int) -> Sequence[Record]:
        if self._stopping.is_set():
            return ()
        if self._settings.max_age is None:
            return batch
        limit = time.time() - self._settings.max_age
        old = [record for record in batch if created_at(record) < limit]
        if old:
            self._give_up(old, "RecordAgeExceeded", outcome, tries)
        return batch[len(old) :]  # the old ones are the first

    def _give_up(self, batch: Sequence[Record], condition: str, outcome: Outcome | None, tries: int) -> None:
        arn = self._settings.function.arn
        if self._settings.dead_letters is None:
            logger.error(
                "A batch is lost: %s did not process %s (%s), and its event source has no OnFailure destination.%s",
                name_of(arn),
                f"{counted(len(batch), 'record')} of {self._table}",
                condition,
                f" {in_one_line(outcome)}" if isinstance(outcome, Failed) else "",
            )
            return
        given_up = GivenUp(batch, condition, outcome, tries, arn, self._shard_id)
        written_down = dead_letter(given_up, request_id=str(uuid.uuid4()), at=datetime.now(UTC))
        bury(self._settings.dead_letters, json.dumps(written_down), {})  # a mapping's dead letter has no attributes

    def _shard(self) -> Any:
        """Return moto's shard of the stream: a new object after each transaction, None once the table is deleted."""
        table: Any = dynamodb_backends[self._account][self._region].tables.get(self._table)
        return table.stream_shard if table else None

    @staticmethod
    def _end(shard: Any) -> int:
        return shard.starting_sequence_number + len(shard.items)
