"""What belongs to the life of a task: what approvers were asked and have decided, and the log of their page."""

from collections.abc import Iterator
from typing import Any, Final

from stepwire.audit import AuditAction
from stepwire.tasks.task import Task
from stepwire_cli.account.lives import TABLE, Moment
from stepwire_cli.extras.approvals.history import lines

SOURCE: Final = TABLE
LOGS: Final = ("ApprovalsLogs",)
FIELDS: Final = ()
WORDS: Final = {
    "audit": {
        AuditAction.ASKED.value: "others than its caller were asked",
        AuditAction.SEEN.value: "an approver was shown the question ({way})",
        AuditAction.APPROVED.value: "an approver approved ({way})",
        AuditAction.DECLINED.value: "an approver refused ({way})",
        AuditAction.UNDECIDED.value: "the question to others was closed: {outcome}",
    }
}


def moments(_calls: Any, _table: str, task: Task, _problems: list[str]) -> Iterator[Moment]:
    """Yield what others than the caller decided."""
    yield from (Moment(line.at, TABLE, line.words) for line in lines(task))
