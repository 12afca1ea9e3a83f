"""`stepwire trace ID` at a terminal: the line of one task's life, from all that the account knows of it."""

from datetime import UTC, datetime
from typing import Any, Final

from stepwire_cli.account.connecting import endpoint_of
from stepwire_cli.account.lives import Life, Lives
from stepwire_cli.account.operating import status_of
from stepwire_cli.exits import Exit
from stepwire_cli.looking import task_of
from stepwire_cli.screen import Screen
from stepwire_cli.settings import Settings

_WIDTH: Final = 21  # of the names of sources


def show(settings: Settings, task_id: str, stack: str, principal: str | None, *, lines: int) -> int:
    """Print when what happened to a task, and where that was read.

    Without a principal, the table is searched for the task. `lines`: how many events of each execution to read.

    Raises:
        CommandError: the task cannot be found, or AWS cannot be asked.
    """
    screen, at = Screen(as_json=settings.as_json), datetime.now(UTC)
    endpoint = endpoint_of(settings, stack)
    tasks, task = task_of(endpoint, task_id, principal, screen)
    reads = Lives(endpoint.calls, endpoint, tasks.table, lines, lambda source: screen.progress("reading", source))
    life = reads.read(task, at)
    screen.pause()
    if screen.as_json:
        screen.json(as_json(life, at))
    else:
        _print(life, at, screen)
    for problem in life.problems:
        screen.say(problem, "warning")
    return Exit.DONE


def _print(life: Life, at: datetime, screen: Screen) -> None:
    task = life.task
    trace = task.origin.trace
    rows = (("task", task.task_id), ("tool", task.work.tool), ("status", status_of(task, at)))
    for name, value in (*rows, *((("trace", trace.id),) if trace else ())):
        screen.result(f"{name:<7}{value}")
    screen.result("")
    for one in life.moments:
        screen.result(
            f"{one.at:%Y-%m-%d %H:%M:%S}.{one.at.microsecond // 1000:03d}Z  {one.source:<{_WIDTH}}{one.words}"
        )


def as_json(life: Life, at: datetime) -> dict[str, Any]:
    """Return all of it as JSON."""
    task = life.task
    return {
        "taskId": task.task_id,
        "tool": task.work.tool,
        "principal": task.owner,
        "status": status_of(task, at),
        "traceId": None if task.origin.trace is None else task.origin.trace.id,
        "moments": [
            {"at": one.at.isoformat(timespec="milliseconds"), "source": one.source, "what": one.words}
            for one in life.moments
        ],
        "problems": list(life.problems),
    }
