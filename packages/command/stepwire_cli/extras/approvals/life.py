"""What belongs to the life of a task: what approvers have decided, and the log of their page."""

from collections.abc import Iterator
from typing import Any, Final

from stepwire.tasks.task import Task
from stepwire_cli.account.lives import TABLE, Moment
from stepwire_cli.extras.approvals.history import lines

SOURCE: Final = TABLE
LOGS: Final = ("ApprovalsLogs",)
FIELDS: Final = ()
WORDS: Final[dict[str, dict[str, str]]] = {}


def moments(_calls: Any, _table: str, task: Task, _problems: list[str]) -> Iterator[Moment]:
    """Yield what others than the caller decided."""
    yield from (Moment(line.at, TABLE, line.words) for line in lines(task))
