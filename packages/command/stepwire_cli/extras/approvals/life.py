"""What belongs to the life of a task: what approvers were asked and have decided, and the log of their page."""

from collections.abc import Iterator
from typing import Any, Final

from stepwire.extras.approvals.audit import APPROVED, ASKED, DECLINED, SEEN, UNDECIDED
from stepwire.tasks.task import Task
from stepwire_cli.account.lives import TABLE, Moment

LOGS: Final = ("ApprovalsLogs",)
FIELDS: Final = ("way",)
WORDS: Final = {
    "audit": {
        ASKED.word: "others than its caller were asked",
        SEEN.word: "an approver was shown the question ({way})",
        APPROVED.word: "an approver approved ({way})",
        DECLINED.word: "an approver refused ({way})",
        UNDECIDED.word: "the question to others was closed: {outcome}",
    }
}


def moments(_calls: Any, _table: str, task: Task, _problems: list[str]) -> Iterator[Moment]:
    """Yield what others than the caller decided, each by the audit's name; the cause is what they are called."""
    decided = [(one.number, one.key, one.answers) for one in task.inputs.decisions]
    open_ones = [(one.number, one.key, one.answers) for one in task.questions]
    for number, key, votes in (*decided, *open_ones):
        for vote in votes:
            verb = "approved" if vote.agrees else "refused"
            words = f"approver {vote.by} {verb} question {number}, key {key} ({vote.way})"
            yield Moment(vote.at, TABLE, words, vote.name)
