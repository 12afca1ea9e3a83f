"""`stepwire queue`: who waits for a tool with a limit, and what an operator does about it."""

from typing import Any, Final

from stepwire.background.commands import TASKS
from stepwire.codec import MILLISECOND
from stepwire.tasks.line import ordinal, span
from stepwire_cli.account.commanding import door_of
from stepwire_cli.account.connecting import endpoint_of
from stepwire_cli.account.tasks import Tasks, check_principal
from stepwire_cli.exits import Exit
from stepwire_cli.screen import Screen
from stepwire_cli.settings import Settings

_COMMANDS: Final = {
    "list": "list_lines",
    "show": "show_line",
    "pause": "pause_line",
    "resume": "resume_line",
    "drain": "drain_line",
    "front": "move_to_front",
}


def run(
    settings: Settings, action: str, stack: str, name: str = "", principal: str | None = None, *, is_new: bool = False
) -> int:
    """Do what an operator asks about lines, and print what they look like then.

    `name`: of the line, or its key; with `front`, a task's id, whose owner is searched for if no principal is given.

    Raises:
        CommandError: there is no such line or task, or AWS cannot be asked.
    """
    check_principal(principal)
    screen = Screen(as_json=settings.as_json)
    endpoint = endpoint_of(settings, stack)
    fields: dict[str, Any] = {}
    if action == "front":
        key = Tasks(endpoint.calls, endpoint.table()).key_of(name, principal)
        fields = {"owner": key.owner, "task_id": key.task_id}
    elif name:
        fields = {"line": name, **({"is_new": True} if is_new else {})}
    answer = door_of(endpoint).do(TASKS, _COMMANDS[action], **fields)
    if screen.as_json:
        screen.json(answer)
        return Exit.DONE
    if action == "front":
        screen.result(_moved(fields["task_id"], answer["position"]))
    lines = answer.get("lines", [answer])
    screen.result("\n".join(_said(line) for line in lines) or "Nobody waits, and no line is paused or drained.")
    if answer.get("more"):
        screen.say(f"{answer['more']:,} more lines are in use. What is paused or drained is shown first.")
    return Exit.DONE


def _moved(task_id: str, position: int | None) -> str:
    """Say where a task is after its move."""
    if position is None:
        return f"{task_id} has its turn already."
    where = "next in line" if position == 1 else f"{ordinal(position)} in line, behind others that were moved"
    return f"{task_id}: {where}. Its caller reads it within a minute."


def _said(line: dict[str, Any]) -> str:
    """Say in some words how a line stands, and who waits in it."""
    most = "" if line["most"] is None else f" of {line['most']}"
    waits = "" if line["firstWaitsMs"] is None else f", the first for {span(line['firstWaitsMs'] * MILLISECOND)}"
    marks = [word for word in ("paused", "drained") if line[word]]
    head = f"{line['pool']}  {line['line']}\n  {line['running']}{most} running, {line['waiting']} waiting{waits}"
    callers = (f"\n    {one['waiting']:>6}  {one['principal']}" for one in line.get("callers", ()))
    return "".join((head, *(f"; {word}" for word in marks), *callers))
