"""What operators see of the lines of tools with a limit, and what they do to them: pause, resume, drain, move.

The answers have the names of limits, counts, principals and the ids of tasks; nothing of a call.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import Enum
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stepwire.codec import MILLISECOND
from stepwire.engine.assembly import Engine
from stepwire.errors import NotFollowedUp
from stepwire.json_text import JsonObject
from stepwire.tasks.ids import TaskKey
from stepwire.tasks.limits import Rules, line_key
from stepwire.tasks.lines import MOST_COUNTED, Change, Line, Place, Ticket, moved_to_front, waiting_by_caller
from stepwire.tasks.runs import Pending

MOST_LISTED: Final = 100
"""Lines of one answer, and callers of one line."""
MOST_READ: Final = 5_000
"""Places that are counted by caller."""
_LINE: Final = "line#"
_BEFORE: Final = " To {} a line before the first call of its tool, add --before-first-call."


class LineCommand(Enum):
    """What an operator does to a line."""

    PAUSE = "pause"
    """Nobody begins; calls still join."""
    RESUME = "resume"
    """Undoes pause and drain."""
    DRAIN = "drain"
    """Nobody joins; who waits begins in turn."""


class LineCommands(Struct, frozen=True):
    """Shows lines to operators, and does what they command."""

    engine: Engine

    def listed(self) -> JsonObject:
        """Return lines that are in use, those first that an operator has restricted, and how many more there are."""
        lines = self.engine.recorder.store.lines
        keys = list(lines.in_use())
        found = [(key, lines.line(key)) for key in keys[:MOST_LISTED]]
        described = [self._described(key, line) for key, line in found if line is not None]
        return {"lines": described, "more": len(keys[MOST_LISTED:])}

    def shown(self, name: str) -> JsonObject:
        """Return a line, with how many runs of each caller wait.

        `name`: a key that `listed` returns, or the name of a limit with one line.

        Raises:
            NotFollowedUp: there is no such line.
        """
        key, lines = _key_of(name), self.engine.recorder.store.lines
        line = lines.line(key)
        if line is None:
            raise NotFollowedUp(_no_line(name))
        return {**self._described(key, line), "callers": callers_of(lines.first(key, MOST_READ))[:MOST_LISTED]}

    def change(self, command: LineCommand, name: str, *, is_new: bool = False) -> JsonObject:
        """Pause, resume or drain a line, and return it. Idempotent.

        `name` is as in `shown`. `is_new`: the line may be one that nobody has used yet.

        Raises:
            NotFollowedUp: there is no such line. Nobody knows here which tools have a limit.
            StoreBusy: others change the line all the time.
        """
        key, lines = _key_of(name), self.engine.recorder.store.lines
        may_begin = is_new and command is not LineCommand.RESUME and not name.startswith(_LINE)

        def attempt(now: datetime) -> Line | None:
            before = lines.line(key)
            if before is None and not may_begin:
                hint = "" if command is LineCommand.RESUME else _BEFORE.format(command.value)
                raise NotFollowedUp(f"{_no_line(name)}{hint}")
            after = _after(command, before or Line(name, Rules()))
            return after if lines.change(key, before, Change(after), now) else None

        after = self.engine.runs.turns.until_written(attempt)
        self.engine.runs.call(self.engine.runs.turns.fill(key))
        return self._described(key, lines.line(key) or after)

    def move_to_front(self, key: TaskKey) -> JsonObject:
        """Let the runs of a task that wait be the next in their line, and return the line and its position. Idempotent.

        Raises:
            NotFollowedUp: the task does not wait in a line.
            StoreBusy: others change the line all the time.
        """
        task = self.engine.recorder.load(key)
        waiting = () if task is None or task.has_ended else task.runs_pending(Pending.TURN)
        if task is None or task.line is None or not waiting:
            raise NotFollowedUp("The task does not wait in a line.")
        lines, name = self.engine.recorder.store.lines, task.line.line
        places = list[int]()
        for run in waiting:
            ticket = Ticket(key.owner, key.task_id, run)
            places += self.engine.runs.turns.until_written(partial(self._moved, name, ticket))
        line = lines.line(name) or Line(task.line.pool, task.line.rules)
        return {**self._described(name, line), "position": min(places, default=None)}

    def _moved(self, name: str, ticket: Ticket, now: datetime) -> tuple[int, ...] | None:
        """Return the position of a run after it was moved, or nothing if it has no place; None: others were faster."""
        lines = self.engine.recorder.store.lines
        seen = lines.see(name, ticket)
        if seen.line is None or seen.place is None:
            return ()
        if not lines.change(name, seen.line, moved_to_front(seen.line, seen.place), now):
            return None
        return (lines.before(name, replace(seen.place, round=0), MOST_COUNTED) + 1,)

    def _described(self, key: str, line: Line) -> JsonObject:
        first = next(iter(self.engine.recorder.store.lines.first(key)), None) if line.waiting else None
        now = self.engine.recorder.clock.now()
        return {**facts_of(key, line), "firstWaitsMs": first and (now - first.joined_at) // MILLISECOND}


def _after(command: LineCommand, line: Line) -> Line:
    match command:
        case LineCommand.PAUSE:
            return replace(line, is_paused=True)
        case LineCommand.DRAIN:
            return replace(line, is_drained=True)
        case LineCommand.RESUME:
            return replace(line, is_paused=False, is_drained=False)


def facts_of(key: str, line: Line) -> JsonObject:
    """Return how a line stands, for operators and for the console of the local stack."""
    return {
        "line": key,
        "pool": line.pool,
        "running": line.held,
        "most": line.rules.most,
        "waiting": line.waiting,
        "tookMs": None if line.took is None else line.took // MILLISECOND,
        "paused": line.is_paused,
        "drained": line.is_drained,
    }


def callers_of(places: Sequence[Place]) -> list[JsonObject]:
    """Return how many runs of each caller wait, the most first."""
    return [{"principal": owner, "waiting": count} for owner, count in waiting_by_caller(places).items()]


def _no_line(name: str) -> str:
    if name.startswith(_LINE):
        return f"There is no line {name}."
    return (
        f"There is no line {name}, or nobody has called a tool with that limit yet. A limit for each caller or value "
        "has a line for each, which is named by its key: stepwire queue list."
    )


def _key_of(name: str) -> str:
    return name if name.startswith(_LINE) else line_key(name)
