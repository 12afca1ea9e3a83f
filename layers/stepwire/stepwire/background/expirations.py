"""Clean up after tasks that expired before they ended.

No reader can see such a task any more, so its execution is stopped and its slot is freed. Both are idempotent, so
duplicate and late records are harmless.
"""

from msgspec import Struct

from stepwire.audit import AuditAction, AuditEntry
from stepwire.engine.assembly import Ports
from stepwire.tasks.ids import slot_names
from stepwire.tasks.task import Task


class Expirations(Struct, frozen=True):
    """Cleans up after expired tasks."""

    ports: Ports

    def record(self, task: Task) -> None:
        """Stop the executions and free the slots of an expired task, given as it was last saved.

        Raises:
            Exception: Step Functions or the store did not answer; the record must be delivered again.
        """
        if task.may_begin:
            self._stop(task, "The task had ended before its execution began.")
        if task.has_ended:
            return
        if not task.awaits_confirmation:
            self._stop(task, "The task expired.")
        self.ports.store.release(task.owner, slot_names(task.task_id, task.slots), task.usage_shard)
        self.ports.audit(AuditEntry(AuditAction.EXPIRED, task.owner, task.work.tool, task.task_id))

    def _stop(self, task: Task, cause: str) -> None:
        for execution in task.to_be_stopped:
            self.ports.workflows.stop(execution, cause)
