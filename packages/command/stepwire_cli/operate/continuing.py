"""`stepwire redrive ID`: an ended task's work goes on as a new task."""

from typing import Any, Final

from stepwire.background.commands import TASKS
from stepwire_cli.account.commanding import door_of
from stepwire_cli.account.connecting import endpoint_of
from stepwire_cli.account.tasks import Tasks, check_principal
from stepwire_cli.exits import Exit
from stepwire_cli.screen import Screen
from stepwire_cli.settings import Settings

_MEMBERS: Final = ("task_id", "status", "is_new", "has_begun")
"""Of the answer. A repeated command is answered with the same task, which is then not new."""
_OPEN: Final = frozenset({"working", "input_required"})


def redrive(settings: Settings, task_id: str, stack: str, principal: str | None) -> int:
    """Redrive a task, and print the task that follows it.

    Without a principal, the table is searched for the task.

    Raises:
        CommandError: the task cannot be found or continued, or AWS cannot be asked.
    """
    check_principal(principal)
    screen = Screen(as_json=settings.as_json)
    endpoint = endpoint_of(settings, stack)
    key = Tasks(endpoint.calls, endpoint.table()).key_of(task_id, principal)
    made = door_of(endpoint).do(TASKS, "redrive", owner=key.owner, task_id=key.task_id)
    code = Exit.FAILED if _is_refused(made) else Exit.DONE
    if screen.as_json:
        screen.json({"follows": key.task_id, **{name: made[name] for name in _MEMBERS}})
        return code
    screen.result(_said(made, key.task_id))
    if not made["has_begun"]:
        screen.say(
            "Step Functions did not take it now: the next check of the task begins it, within minutes.", "warning"
        )
    return code


def _said(made: dict[str, Any], old: str) -> str:
    new, status = made["task_id"], made["status"]
    words = f"The workflow of task {old} goes on as task {new}."
    if made["is_new"] and status in _OPEN:
        return f"{words} Its caller finds it in the list of tasks."
    if _is_refused(made):
        outcome = "completed, with an error" if status == "completed" else status
        return (
            f"The workflow of task {old} was not redriven: task {new}, made for it, has ended at once, as {outcome}. "
            f"`stepwire task {new}` says why."
        )
    again = "" if status in _OPEN else f"; to continue that one: stepwire redrive {new}"
    return f"{words} An earlier command did this, or the console; that task is {status}{again}."


def _is_refused(made: dict[str, Any]) -> bool:
    """Tell whether Step Functions refused: then the new task has ended at once, with the error of the old one."""
    return made["is_new"] and made["status"] not in _OPEN
