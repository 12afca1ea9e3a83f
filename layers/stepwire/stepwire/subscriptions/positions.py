"""Positions in the record of a caller's changes, and the cursors that clients keep of them.

A cursor is neither secret nor signed: it is bound to its caller, and opens nothing that the caller may not read.
"""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct

from stepwire.errors import InvalidCursor
from stepwire.principal import Principal
from stepwire.protocol.tokens import unwrap, wrap

RETENTION: Final = timedelta(days=7)
"""How long a change is kept, and recorded for a caller who has asked for events."""
SLACK: Final = RETENTION / 2
"""A record stays open longer than was asked for by so much, so that most polls write nothing."""
_LATEST: Final = datetime(2200, 1, 1, tzinfo=UTC)
LARGEST_NUMBER: Final = 10**15 - 1
_MARK: Final = "e1"


class Position(Struct, frozen=True):
    """How far a caller has read."""

    number: int
    """The number of the last change that was read or passed over."""
    at: datetime
    """When the caller had read so far."""


class Head(Struct, frozen=True):
    """The end of a caller's record."""

    number: int
    """The number of the last recorded change; before the first, where the numbers of this record begin."""
    since: datetime
    """From when on all changes are recorded."""


class Start(Struct, frozen=True):
    """Where reading begins."""

    position: Position
    is_truncated: bool
    """Whether changes between the caller's cursor and this position may have been missed."""


def cursor_of(owner: Principal, position: Position) -> str:
    """Return the cursor of a position."""
    return wrap([_MARK, _digest(owner), int(position.at.timestamp() * 1000), position.number])


def position_of(owner: Principal, cursor: str | None) -> Position | None:
    """Return the position of a cursor; None for none.

    Raises:
        InvalidCursor: this server has not given it to this caller.
    """
    if cursor is None:
        return None
    match unwrap(cursor):
        case [str(mark), str(digest), int(milliseconds), int(number)] if (mark, digest) == (_MARK, _digest(owner)):
            if 0 <= number <= LARGEST_NUMBER and 0 <= milliseconds < _LATEST.timestamp() * 1000:
                return Position(number, datetime.fromtimestamp(milliseconds / 1000, UTC))
        case _:
            pass
    raise InvalidCursor


def start_of(position: Position | None, head: Head, at: datetime, longest: timedelta | None) -> Start:
    """Return where reading begins: at the caller's position, or now if that was missed or is None.

    Args:
        position: what the caller's cursor says.
        head: the end of the record.
        at: the present.
        longest: the caller wants no events that are older; None: all.
    """
    if position is None:
        return Start(Position(head.number, at), is_truncated=False)
    if position.at < max(head.since, at - RETENTION):
        return Start(Position(head.number, at), is_truncated=True)
    return Start(position, is_truncated=longest is not None and position.at < at - longest)


def _digest(owner: Principal) -> str:
    return hashlib.sha256(owner.encode()).hexdigest()[:12]
