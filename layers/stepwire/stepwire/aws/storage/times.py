"""Times as DynamoDB holds them: numbers of milliseconds or seconds since 1970, UTC."""

from datetime import UTC, datetime, timedelta
from typing import Final

MILLISECOND: Final = timedelta(milliseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def milliseconds_of(moment: datetime) -> int:
    """Return a time in milliseconds, rounded down."""
    return (moment - _EPOCH) // MILLISECOND


def moment_of(milliseconds: int) -> datetime:
    """Return the time of a number of milliseconds."""
    return _EPOCH + milliseconds * MILLISECOND


def seconds_of(moment: datetime) -> int:
    """Return a time in seconds, rounded up, as the TTL attribute has it."""
    return -(-milliseconds_of(moment) // 1000)


def moment_of_seconds(seconds: float) -> datetime:
    """Return the time of a number of seconds."""
    return _EPOCH + timedelta(seconds=seconds)


def milliseconds_if_any(moment: datetime | None) -> int | None:
    """Return a time in milliseconds; None of None."""
    return None if moment is None else milliseconds_of(moment)


def moment_if_any(milliseconds: int | None) -> datetime | None:
    """Return the time of a number of milliseconds; None of None."""
    return None if milliseconds is None else moment_of(milliseconds)
