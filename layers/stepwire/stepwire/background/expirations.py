"""Clean up after tasks that expired before they ended.

No reader can see such a task any more, so its execution is stopped and its slot is freed. Both are idempotent, so
duplicate and late records are harmless.
"""

from msgspec import Struct

from stepwire.audit import AuditAction, AuditEntry
from stepwire.engine.assembly import Engine
from stepwire.engine.runs import BEGUN_TOO_LATE
from stepwire.tasks.runs import Pending, Run, RunState
from stepwire.tasks.task import Task
from stepwire.tracing import follow


def _may_run(run: Run) -> bool:
    return run.state in {RunState.OPEN, RunState.REFUSED} and run.pending is not Pending.TURN


class Expirations(Struct, frozen=True):
    """Cleans up after expired tasks."""

    engine: Engine

    def record(self, task: Task) -> None:
        """Stop the executions and free the slot of an expired task, given as it was last saved.

        Raises:
            Exception: Step Functions or the store did not answer; the record must be delivered again.
        """
        follow(task.origin.trace)
        if task.has_ended:
            self.engine.runs.abandon(task, task.runs_pending(Pending.STOP), BEGUN_TOO_LATE)
            return
        if not task.awaits_confirmation:
            runs = [index for index, run in enumerate(task.runs) if _may_run(run)]
            self.engine.runs.abandon(task, runs, "The task expired.")
        recorder = self.engine.recorder
        recorder.store.slots.release(task.owner, frozenset({task.task_id}), task.usage_shard)
        recorder.audit(
            AuditEntry(AuditAction.EXPIRED, task.owner, task.work.tool, task.task_id, trace=task.origin.trace)
        )
