"""Times as the wire and the store have them: whole milliseconds."""

from datetime import datetime, timedelta
from typing import Final

MILLISECOND: Final = timedelta(milliseconds=1)


def milliseconds_since_1970(moment: datetime) -> int:
    """Return a moment as whole milliseconds."""
    return round(moment.timestamp() * 1000)
