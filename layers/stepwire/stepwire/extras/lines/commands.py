"""What operators see of the lines of tools with a limit, and what they do to them: pause, resume, drain, move.

The answers have the names of limits, counts, principals and the ids of tasks; nothing of a call.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Final

from msgspec.structs import replace

from stepwire.background.commands import TASKS, Command, Commands, Fields, OfTask
from stepwire.codec import MILLISECOND
from stepwire.engine.assembly import Engine
from stepwire.errors import CommandRefused
from stepwire.extras.lines.limits import Rules, line_key, terms_of
from stepwire.extras.lines.ports import Lines
from stepwire.extras.lines.rules import MOST_COUNTED, Change, Line, Place, Ticket, moved_to_front, waiting_by_caller
from stepwire.extras.lines.turns import Turns
from stepwire.json_text import JsonObject
from stepwire.tasks.runs import Pending

MOST_LISTED: Final = 100
"""Lines of one answer, and callers of one line."""
MOST_READ: Final = 5_000
"""Places that are counted by caller."""
_LINE: Final = "line#"
_BEFORE: Final = " To {} a line before the first call of its tool, add --before-first-call."


class OfLine(Fields, frozen=True):
    """The fields of a command about a line."""

    line: str
    """A key that `list_lines` returns, or the name of a limit with one line."""


class Restriction(OfLine, frozen=True):
    """The fields of a command that restricts a line."""

    is_new: bool = False
    """Whether the line may be one that nobody has used yet: nobody knows here which tools have a limit."""


def list_lines(engine: Engine, _given: Fields) -> JsonObject:
    """Return lines that are in use, those first that an operator has restricted, and how many more there are."""
    lines = _turns(engine).lines
    keys = list(lines.in_use())
    found = [(key, lines.line(key)) for key in keys[:MOST_LISTED]]
    described = [_described(engine, key, line) for key, line in found if line is not None]
    return {"lines": described, "more": len(keys[MOST_LISTED:])}


def show_line(engine: Engine, given: OfLine) -> JsonObject:
    """Return a line, with how many runs of each caller wait.

    Raises:
        CommandRefused: there is no such line.
    """
    key, lines = _key_of(given.line), _turns(engine).lines
    line = lines.line(key)
    if line is None:
        raise CommandRefused(_no_line(given.line))
    return {**_described(engine, key, line), "callers": callers_of(lines.first(key, MOST_READ))[:MOST_LISTED]}


def pause_line(engine: Engine, given: Restriction) -> JsonObject:
    """Let nobody begin in a line; calls still join. Idempotent. Raises as `_changed` does."""
    return _changed(engine, given, lambda line: replace(line, is_paused=True), "pause")


def drain_line(engine: Engine, given: Restriction) -> JsonObject:
    """Let nobody join a line; who waits begins in turn. Idempotent. Raises as `_changed` does."""
    return _changed(engine, given, lambda line: replace(line, is_drained=True), "drain")


def resume_line(engine: Engine, given: OfLine) -> JsonObject:
    """Undo `pause_line` and `drain_line`. Idempotent. Raises as `_changed` does."""
    return _changed(engine, given, lambda line: replace(line, is_paused=False, is_drained=False))


def _changed(engine: Engine, given: OfLine, change: Callable[[Line], Line], verb: str = "") -> JsonObject:
    """Change a line, and return it. `verb`: of a command that may come before the first call of the tool.

    Raises:
        CommandRefused: there is no such line.
        StoreBusy: others change the line all the time.
    """
    name, key, lines = given.line, _key_of(given.line), _turns(engine).lines
    may_begin = isinstance(given, Restriction) and given.is_new and not name.startswith(_LINE)

    def attempt(now: datetime) -> Line | None:
        before = lines.line(key)
        if before is None and not may_begin:
            raise CommandRefused(f"{_no_line(name)}{verb and _BEFORE.format(verb)}")
        after = change(before or Line(name, Rules()))
        return after if lines.change(key, before, Change(after), now) else None

    after = _turns(engine).until_written(attempt)
    engine.runs.begin_turns(engine.runs.gate.due(key))
    return _described(engine, key, lines.line(key) or after)


def move_to_front(engine: Engine, given: OfTask) -> JsonObject:
    """Let the runs of a task that wait be the next in their line, and return the line and its position. Idempotent.

    Raises:
        CommandRefused: the task does not wait in a line.
        StoreBusy: others change the line all the time.
    """
    task = engine.recorder.load(given.key)
    waiting = () if task is None or task.has_ended else task.runs_pending(Pending.TURN)
    if task is None or task.line is None or not waiting:
        raise CommandRefused("The task does not wait in a line.")
    lines, name = _turns(engine).lines, task.line.line
    places = list[int]()
    for run in waiting:
        moved = partial(_moved, lines, name, Ticket(given.owner, given.task_id, run))
        places += _turns(engine).until_written(moved)
    line = lines.line(name) or Line(task.line.pool, terms_of(task.line).rules)
    return {**_described(engine, name, line), "position": min(places, default=None)}


def _turns(engine: Engine) -> Turns:
    """Return the gate, which has the lines."""
    gate = engine.runs.gate
    assert isinstance(gate, Turns)  # noqa: S101 - these commands are there where this extra is on
    return gate


def _moved(lines: Lines, name: str, ticket: Ticket, now: datetime) -> tuple[int, ...] | None:
    """Return the position of a run after it was moved, or nothing if it has no place; None: others were faster."""
    seen = lines.see(name, ticket)
    if seen.line is None or seen.place is None:
        return ()
    if not lines.change(name, seen.line, moved_to_front(seen.line, seen.place), now):
        return None
    return (lines.before(name, replace(seen.place, round=0), MOST_COUNTED) + 1,)


def _described(engine: Engine, key: str, line: Line) -> JsonObject:
    first = next(iter(_turns(engine).lines.first(key)), None) if line.waiting else None
    now = engine.recorder.clock.now()
    return {**facts_of(key, line), "firstWaitsMs": first and (now - first.joined_at) // MILLISECOND}


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


COMMANDS: Final[Commands] = {
    "list_lines": Command(TASKS, Fields, list_lines),
    "show_line": Command(TASKS, OfLine, show_line),
    "pause_line": Command(TASKS, Restriction, pause_line),
    "resume_line": Command(TASKS, OfLine, resume_line),
    "drain_line": Command(TASKS, Restriction, drain_line),
    "move_to_front": Command(TASKS, OfTask, move_to_front),
}
