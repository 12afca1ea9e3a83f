"""What approvers have decided, in the history of a task."""

from collections.abc import Iterator

from stepwire.tasks.task import Task
from stepwire_cli.account.histories import Line


def lines(task: Task) -> Iterator[Line]:
    """Yield what others than the caller decided, each by the audit's name; the cause is what they are called."""
    decided = [(one.number, one.key, one.answers) for one in task.inputs.decisions]
    open_ones = [(one.number, one.key, one.answers) for one in task.questions]
    for number, key, votes in (*decided, *open_ones):
        for vote in votes:
            verb = "approved" if vote.agrees else "refused"
            words = f"approver {vote.by} {verb} question {number}, key {key} ({vote.way})"
            yield Line(vote.at, words, vote.name)
