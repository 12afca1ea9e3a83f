"""Durations as the wire and the store have them: whole milliseconds."""

from datetime import timedelta
from typing import Final

MILLISECOND: Final = timedelta(milliseconds=1)
