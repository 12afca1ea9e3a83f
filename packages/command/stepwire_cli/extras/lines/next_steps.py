"""What an operator may do next about a task that waits in a line."""

from collections.abc import Iterator
from datetime import datetime

from stepwire.tasks.task import Task
from stepwire_cli.account.operating import Step, Where


def next_steps(task: Task, where: Where, at: datetime) -> Iterator[Step]:
    """Yield what may be done; nothing for a task that waits in no line."""
    if task.line is None or not task.waiting_runs(at):
        return
    show = where.stepwire("queue", "show", task.line.line, *where.of_stack)
    yield Step("See how many run and wait in its line, and whether it is paused:", show)
    front = where.stepwire("queue", "front", task.task_id, *where.of_stack, "--principal", task.owner)
    yield Step("Let it be the next in its line:", front)
