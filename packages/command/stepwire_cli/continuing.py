"""`stepwire redrive ID` and `stepwire restart ID`: an ended task's work goes on, or begins again, as a new task."""

from dataclasses import asdict
from typing import Final

from stepwire.engine.follow_ups import Means
from stepwire_cli.account.commanding import TASKS
from stepwire_cli.account.connecting import connected
from stepwire_cli.account.endpoint import Endpoint
from stepwire_cli.account.follow_ups import FollowUp, follow_up
from stepwire_cli.account.tasks import Tasks, check_principal
from stepwire_cli.exits import Exit
from stepwire_cli.screen import Screen
from stepwire_cli.settings import Settings

_OPEN: Final = frozenset({"working", "input_required"})
_DONE: Final = {
    Means.REDRIVE: "The workflow of task {old} goes on as task {new}.",
    Means.RESTART: "The work of task {old} begins again as task {new}.",
}


def follow(settings: Settings, means: str, task_id: str, stack: str, principal: str | None) -> int:
    """Redrive or restart a task, and print the task that follows it.

    Without a principal, the table is searched for the task.

    Raises:
        CommandError: the task cannot be found or continued, or AWS cannot be asked.
    """
    check_principal(principal)
    screen = Screen(as_json=settings.as_json)
    calls = connected(settings.profile, settings.region)
    endpoint = Endpoint(calls, stack)
    key = Tasks(calls, endpoint.table()).key_of(task_id, principal)
    made = follow_up(calls, endpoint.physical_id(TASKS), Means(means), key)
    if screen.as_json:
        screen.json({"follows": key.task_id, **asdict(made)})
        return Exit.DONE
    screen.result(_said(made, Means(means), key.task_id))
    if not made.has_begun:
        screen.say(
            "Step Functions did not take it now: the next check of the task begins it, within minutes.", "warning"
        )
    return Exit.DONE


def _said(made: FollowUp, means: Means, old: str) -> str:
    words = _DONE[means].format(old=old, new=made.task_id)
    if made.is_new and made.status in _OPEN:
        return f"{words} Its caller finds it in the list of tasks."
    if made.is_new:
        return f"{words} It has ended at once, as {made.status}: `stepwire task {made.task_id}` says why."
    again = "" if made.status in _OPEN else f"; to continue that one: stepwire {means.value} {made.task_id}"
    return f"{words} An earlier command did this, or the console; that task is {made.status}{again}."
