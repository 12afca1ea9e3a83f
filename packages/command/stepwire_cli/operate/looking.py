"""`stepwire task ID` at a terminal: one task of any caller and its timeline, for the operator of its endpoint."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from stepwire_cli.account.connecting import endpoint_of
from stepwire_cli.account.endpoint import Endpoint
from stepwire_cli.account.errors import AccountError
from stepwire_cli.account.lives import Lives
from stepwire_cli.account.operating import Where
from stepwire_cli.account.showing import Shown, as_json, text_rows, timeline_rows
from stepwire_cli.account.tasks import Tasks, check_principal
from stepwire_cli.exits import Exit
from stepwire_cli.screen import Screen
from stepwire_cli.settings import Settings

_MANY: Final = 1_000  # items of the table, before a search is worth a line


@dataclass(frozen=True)
class Wanted:
    """What the command line says."""

    task_id: str
    stack: str
    principal: str | None
    """None: the table is searched for the task."""
    lines: int
    """How many moments of the timeline to show."""
    with_logs: bool
    with_data: bool


def show(settings: Settings, wanted: Wanted) -> int:
    """Print what is known of a task.

    Raises:
        CommandError: the task cannot be found, or AWS cannot be asked.
    """
    check_principal(wanted.principal)
    screen = Screen(as_json=settings.as_json)
    endpoint = endpoint_of(settings, wanted.stack)

    def watch(items: int) -> None:
        if items > _MANY:
            screen.progress("searching", f"{items:,} items of the table")

    tasks = Tasks(endpoint.calls, endpoint.table(), watch)
    task, at = tasks.find(wanted.task_id, wanted.principal), datetime.now(UTC)
    if wanted.with_data:
        task = tasks.with_data(task)
    if wanted.with_logs:
        screen.progress("reading", "what the functions logged")
    lives = Lives(endpoint.calls, endpoint, tasks.table, wanted.lines, wanted.with_logs, wanted.with_data)
    life, where = lives.read(task, at), _where(endpoint, settings)
    screen.pause()
    _print(Shown(task, life, where, at, wanted.lines, wanted.with_logs, wanted.with_data), screen)
    return Exit.DONE


def _where(endpoint: Endpoint, settings: Settings) -> Where:
    """Return how commands name the endpoint; what cannot be found out is left out of them."""
    url = _if_allowed(endpoint.output, "McpEndpoint")
    sweep = _if_allowed(endpoint.physical_id, "SweepFunction")
    return Where(endpoint.name, settings.profile, settings.region, url, sweep)


def _if_allowed(ask: Callable[[str], str], name: str) -> str:
    try:
        return ask(name)
    except AccountError:
        return ""


def _print(shown: Shown, screen: Screen) -> None:
    if screen.as_json:
        screen.json(as_json(shown))
        return
    for line in text_rows(shown):
        screen.result(line)
    _section(screen, "It waits for", shown.waits)
    _section(screen, "What happened", timeline_rows(shown))
    if shown.with_data:
        _section(
            screen,
            "What its caller sent and received",
            json.dumps(shown.data(), indent=2, ensure_ascii=False).splitlines(),
        )
    _section(
        screen,
        "What may be done",
        [row for step in shown.steps for row in (step.words, step.command and f"  {step.command}") if row],
    )
    for problem in shown.life.problems:
        screen.say(problem, "warning")


def _section(screen: Screen, title: str, rows: Sequence[str]) -> None:
    if rows:
        screen.heading(title)
    for row in rows:
        screen.result(f"  {row}")
