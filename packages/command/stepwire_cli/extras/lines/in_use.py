"""What of lines is in use: tasks that wait for their turns, and lines that an operator has restricted."""

from typing import Final

from stepwire.extras.lines.storage import LINES, RESTRICTED
from stepwire.tasks.runs import Pending
from stepwire.tasks.task import Task
from stepwire_cli.deployment.in_use import Contents, Use


def _waiting(contents: Contents) -> str:
    return contents.tasks.count(_waits)


def _waits(task: Task) -> int:
    return bool(task.line is not None and task.runs_pending(Pending.TURN))


def _restricted(contents: Contents) -> str:
    values = {":pk": {"S": LINES}}
    found = contents.items("Query", KeyConditionExpression="pk = :pk", ExpressionAttributeValues=values)
    return found.count(lambda item: RESTRICTED in item)


USES: Final = (
    Use(
        "tasks that wait for their turns",
        "no limit holds: each begins as soon as it is polled, or the sweep finds it.",
        "Let the lines become empty first: `stepwire queue drain` refuses new calls, and `stepwire queue list` shows "
        "who waits.",
        _waiting,
    ),
    Use(
        "lines that are paused or drained",
        "nobody is held back; what was paused or drained is so again when the extra is back.",
        "Look whether their reason is over first: `stepwire queue list`.",
        _restricted,
    ),
)
