"""For tests/unit/engine/test_one_place.py: what else schedules wake-ups."""

from typing import Final

SCHEDULES: Final = ("extras/lines/turns.py",)
