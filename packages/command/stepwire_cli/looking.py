"""`stepwire task ID` at a terminal: one task of any caller, for the operator of its endpoint."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from stepwire.tasks.task import Task
from stepwire_cli.account.connecting import endpoint_of
from stepwire_cli.account.endpoint import Endpoint
from stepwire_cli.account.errors import AccountError
from stepwire_cli.account.operating import Where
from stepwire_cli.account.showing import Shown, as_json, history_rows, text_rows
from stepwire_cli.account.tasks import Executions, Tasks, check_principal
from stepwire_cli.exits import Exit
from stepwire_cli.screen import Screen
from stepwire_cli.settings import Settings

_MANY: Final = 1_000  # items of the table, before a search is worth a line


def show(settings: Settings, task_id: str, stack: str, principal: str | None, *, lines: int, with_data: bool) -> int:
    """Print what is known of a task.

    Without a principal, the table is searched for the task. `lines`: of its history.

    Raises:
        CommandError: the task cannot be found, or AWS cannot be asked.
    """
    screen = Screen(as_json=settings.as_json)
    endpoint = endpoint_of(settings, stack)
    tasks, task = task_of(endpoint, task_id, principal, screen)
    if with_data:
        task = tasks.with_data(task)
    screen.pause()
    run = None if task.awaits_confirmation else Executions(endpoint.calls, lines).read(task, with_output=with_data)
    where = _where(endpoint, settings)
    _print(Shown(task, run, where, datetime.now(UTC), lines, with_data), screen)
    return Exit.DONE


def task_of(endpoint: Endpoint, task_id: str, principal: str | None, screen: Screen) -> tuple[Tasks, Task]:
    """Return the tasks of an endpoint, and one of them.

    Raises:
        CommandError: the principal is none, or there is no such task.
    """
    check_principal(principal)

    def watch(items: int) -> None:
        if items > _MANY:
            screen.progress("searching", f"{items:,} items of the table")

    tasks = Tasks(endpoint.calls, endpoint.table(), watch)
    return tasks, tasks.find(task_id, principal)


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
    _section(screen, "What happened", history_rows(shown))
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
    for problem in shown.problems:
        screen.say(problem, "warning")


def _section(screen: Screen, title: str, rows: Sequence[str]) -> None:
    if rows:
        screen.heading(title)
    for row in rows:
        screen.result(f"  {row}")
