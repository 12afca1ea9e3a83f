"""What an operator may do next about a task that asks approvers: nothing, they decide."""

from collections.abc import Iterator
from datetime import datetime

from stepwire.tasks.task import Task
from stepwire_cli.account.operating import Step, Where


def next_steps(task: Task, _where: Where, _at: datetime) -> Iterator[Step]:
    """Yield who decides each question that is not the caller's, and where."""
    for one in task.questions:
        if not one.audience.is_caller:
            place = "with approvals_list in an agent of theirs, or with the link that they were sent"
            yield Step(f"Only {one.audience.name} can decide question {one.number}: {place}.")
