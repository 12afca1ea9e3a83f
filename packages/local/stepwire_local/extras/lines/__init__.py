"""The lines of tools with a limit, as the console shows them: who runs, who waits, and in which place.

Only read: operators change lines with `stepwire queue`.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from stepwire.extras.lines.commands import callers_of, facts_of
from stepwire.extras.lines.rules import Held, Line, Place
from stepwire.extras.lines.storage import DynamoDbLines
from stepwire.rendering import timestamp
from stepwire.tasks.line import ordinal
from stepwire_local.extras import Extra, Part, Stack, table_of

MOST: Final = 20
"""Lines that are shown."""
MOST_PLACES: Final = 100
"""Places of one line that are shown."""


class Lines:
    """The lines of a stack in which somebody waits, or that an operator has paused or drained."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack

    def listed(self) -> Sequence[Mapping[str, Any]]:
        """Return them, the fullest first."""
        found = [_shown(*one) for one in self._in_use()]
        return sorted(found, key=lambda one: -one["waiting"])

    def waiting(self) -> Mapping[str, str]:
        """Return in which place tasks wait, by their ids; of a race, that of its first run."""
        words = dict[str, str]()
        for _, _, _, places in self._in_use():
            for number, place in enumerate(places, 1):
                words.setdefault(str(place.ticket.task_id), f"{ordinal(number)} in line")
        return words

    def _in_use(self) -> Iterator[tuple[str, Line, Sequence[Held], Sequence[Place]]]:
        table = table_of(self._stack)
        if table is None:
            return
        lines = DynamoDbLines(table)
        for key in list(lines.in_use())[:MOST]:
            line = lines.line(key)
            if line is not None and line.is_in_use:
                yield key, line, lines.turns(key), lines.first(key, MOST_PLACES)


def _shown(key: str, line: Line, turns: Sequence[Held], places: Sequence[Place]) -> Mapping[str, Any]:
    oldest = min((one.joined_at for one in places), default=None)
    return {
        **facts_of(key, line),
        "oldestSince": oldest and timestamp(oldest),
        "callers": callers_of(places),
        "turns": [{"taskId": one.ticket.task_id, "since": timestamp(one.since)} for one in turns],
        "places": [
            {
                "position": number,
                "taskId": one.ticket.task_id,
                "caller": one.ticket.owner,
                "since": timestamp(one.joined_at),
            }
            for number, one in enumerate(places, 1)
        ],
    }


def _part(stack: Stack) -> Part:
    lines = Lines(stack)
    return Part(
        routes={("GET", "lines"): lambda _, _asked, _body: lines.listed()},
        of_tasks=("inLine", lambda _: lines.waiting()),
    )


EXTRA: Final = Extra(part=_part, script=Path(__file__).with_name("lines.js"))
