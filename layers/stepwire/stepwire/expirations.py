"""Let go of what belonged to tasks that expired while they ran.

Nobody can see such a task any more, so its execution is stopped and its slot is free. Told twice, or late, this changes
nothing: an execution is stopped once, and a slot that is free stays free.
"""

from dataclasses import dataclass

from stepwire.audit import Action, Audit, Entry, unheard
from stepwire.ports import TaskStore, Workflows
from stepwire.tasks.task import Task


@dataclass(frozen=True)
class Expirations:
    """Looks after the rest of tasks that are gone."""

    store: TaskStore
    workflows: Workflows
    audit: Audit = unheard

    def record(self, task: Task) -> None:
        """Take note that a task expired; it is given as it was last saved.

        Raises:
            Exception: Step Functions or the store gave no answer; it is to be told again.
        """
        if task.may_begin:
            self.workflows.stop(task.execution, "The task was cancelled before its execution began.")
        if task.has_ended:
            return
        if not task.awaits_confirmation:
            self.workflows.stop(task.execution, "The task expired.")
        self.store.release(task.owner, frozenset({task.task_id}))
        self.audit(Entry(Action.EXPIRED, task.owner, task.work.tool, task.task_id))
