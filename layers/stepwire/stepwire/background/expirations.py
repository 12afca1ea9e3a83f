"""Clean up after tasks that expired before they ended.

No reader can see such a task any more, so its execution is stopped and its slot is freed. Both are idempotent, so
duplicate and late records are harmless.
"""

from collections.abc import Iterable

from msgspec import Struct

from stepwire.audit import AuditAction, AuditEntry
from stepwire.engine.assembly import Ports
from stepwire.tasks.ids import slot_names
from stepwire.tasks.runs import Pending, RunState
from stepwire.tasks.task import Task
from stepwire.tracing import follow


class Expirations(Struct, frozen=True):
    """Cleans up after expired tasks."""

    ports: Ports

    def record(self, task: Task) -> None:
        """Stop the executions and free the slots of an expired task, given as it was last saved.

        Raises:
            Exception: Step Functions or the store did not answer; the record must be delivered again.
        """
        follow(task.origin.trace)
        if task.has_ended:
            self._stop(task, task.runs_pending(Pending.STOP), "The task had ended before its execution began.")
            return
        if not task.awaits_confirmation:
            runs = [index for index, run in enumerate(task.runs) if run.state in {RunState.OPEN, RunState.REFUSED}]
            self._stop(task, runs, "The task expired.")
        self.ports.store.slots.release(task.owner, slot_names(task.task_id, task.slots), task.usage_shard)
        self.ports.audit(
            AuditEntry(AuditAction.EXPIRED, task.owner, task.work.tool, task.task_id, trace=task.origin.trace)
        )

    def _stop(self, task: Task, runs: Iterable[int], cause: str) -> None:
        for run in runs:
            self.ports.workflows.stop(task.execution_of(run), cause)
