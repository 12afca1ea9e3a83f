"""Clean up after tasks that expired before they ended.

No reader can see such a task any more, so its execution is stopped and its slot is freed. Both are idempotent, so
duplicate and late records are harmless.
"""

from collections.abc import Iterable

from msgspec import Struct

from stepwire.audit import AuditAction, AuditEntry
from stepwire.engine.assembly import Ports
from stepwire.engine.recorder import Recorder
from stepwire.engine.runs import Runs
from stepwire.tasks.ids import slot_names
from stepwire.tasks.runs import Pending, Run, RunState
from stepwire.tasks.task import Task
from stepwire.tracing import follow


def _may_run(run: Run) -> bool:
    return run.state in {RunState.OPEN, RunState.REFUSED} and run.pending is not Pending.TURN


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
            self._give_back(task)
            return
        if not task.awaits_confirmation:
            runs = [index for index, run in enumerate(task.runs) if _may_run(run)]
            self._stop(task, runs, "The task expired.")
            self._give_back(task)
        self.ports.store.slots.release(task.owner, slot_names(task.task_id, task.slots), task.usage_shard)
        self.ports.audit(
            AuditEntry(AuditAction.EXPIRED, task.owner, task.work.tool, task.task_id, trace=task.origin.trace)
        )

    def _give_back(self, task: Task) -> None:
        """Give back the turns and places of a task. Who gets a turn is woken, and begins in another function."""
        if task.line is None:
            return
        recorder = Recorder(self.ports.store, self.ports.clock, self.ports.audit)
        runs = Runs(recorder, self.ports.workflows, self.ports.wake_ups, self.ports.report)
        runs.give_back(task, range(len(task.runs)), later=True)

    def _stop(self, task: Task, runs: Iterable[int], cause: str) -> None:
        for run in runs:
            self.ports.workflows.stop(task.execution_of(run), cause)
