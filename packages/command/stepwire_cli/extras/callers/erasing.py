"""The erasure of what is held of one caller, with the operator's own rights to the table and the bucket.

The rules: what remains elsewhere is named before the tasks are erased that lead to it, so an interruption loses no
name. An erasure may end anywhere, and the next one erases what is left: what leads to something else is erased after
it. The audit trail has its beginning before anything is erased.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from stepwire.aws.step_functions import execution_arn_of
from stepwire.aws.storage.items import TASK_PREFIX, task_of
from stepwire.aws.storage.table import Item, all_of
from stepwire.extras.callers.commands import ERASURES
from stepwire.extras.callers.holdings import keys_of
from stepwire.tasks.task import Task
from stepwire_cli.account.commanding import Door
from stepwire_cli.account.errors import AccountError
from stepwire_cli.extras.callers.holding import Held

HISTORIES_KEPT: Final = timedelta(days=90)
"""How long Step Functions keeps the history of an execution after its end."""


@dataclass
class Erased:
    """How much was erased so far."""

    items: int = 0
    objects: int = 0


@dataclass(frozen=True)
class Left:
    """What Step Functions keeps of a task: the histories of its executions, with its arguments and results."""

    executions: tuple[str, ...]
    """Their ARNs."""
    until: datetime


@dataclass(frozen=True)
class Erasure:
    """The erasure of a caller."""

    held: Held
    bucket: str
    door: Door

    def left(self) -> Iterator[Left]:
        """Yield what is left of each task elsewhere."""
        for task in self.held.tasks():
            runs = () if task.awaits_confirmation else range(len(task.runs))
            executions = tuple(execution_arn_of(one) for run in runs for one in task.executions_of(run))
            yield Left(executions, (task.last_updated_at if task.has_ended else _now()) + HISTORIES_KEPT)

    def erased(self) -> Iterator[Erased]:
        """Erase everything; yield how much that is, after each part.

        Raises:
            AccountError: a task has not ended, the erasure cannot be noted in the audit trail, or AWS refuses a call.
        """
        for task in self.held.tasks():
            if not task.has_ended:
                raise AccountError(_refusal(task))
        done = Erased()
        self._note("begins", done)
        try:
            for _ in self._parts(done):
                yield done
        except BaseException:  # also an interrupt from the keyboard, and one who stops to iterate
            self._note("goes on", done)
            raise
        self._note("done", done)

    def _parts(self, done: Erased) -> Iterator[None]:
        calls, owner = self.held.calls, self.held.owner
        for page in self.held.objects(self.bucket):
            all_of(partial(calls.call, "s3", "DeleteObject", Bucket=self.bucket, Key=key) for key in page)
            done.objects += len(page)
            yield
        while page := self.held.page():
            for task in (task_of(item) for item in page if item["sk"]["S"].startswith(TASK_PREFIX)):
                if not task.has_ended:
                    raise AccountError(_refusal(task))  # created meanwhile
            self._delete([key for item in page for key in keys_of(owner, item)])
            done.items += len(page)
            yield

    def _delete(self, keys: Sequence[Item]) -> None:
        """Delete items; those that nothing leads to afterwards come last, so that a fault before them repeats all."""
        calls, owner = self.held.calls, self.held.owner
        elsewhere = [key for key in keys if key["pk"]["S"] != owner]
        for part in (elsewhere, [key for key in keys if key["pk"]["S"] == owner]):
            all_of(partial(calls.call, "dynamodb", "DeleteItem", TableName=self.held.table, Key=key) for key in part)

    def _note(self, state: str, done: Erased) -> None:
        self.door.do(
            ERASURES, "note_erasure", owner=self.held.owner, state=state, items=done.items, objects=done.objects
        )


def _refusal(task: Task) -> str:
    if task.expires_at <= _now():
        return (
            f"Task {task.task_id} has expired while it ran. DynamoDB removes it within days, and its execution is "
            "stopped then: repeat the command afterwards."
        )
    return f"Task {task.task_id} has not ended. Cancel what runs first: --cancel does."


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Remains:
    """What is left of a caller outside of the table and the bucket."""

    executions: int = 0
    until: str = ""

    def note(self, kept_until: str) -> None:
        """Count an execution."""
        self.executions += 1
        self.until = max(self.until, kept_until)

    def rows(self) -> Iterator[str]:
        """Yield what an operator must know."""
        yield "What remains, and for how long:"
        if self.executions:
            yield (
                f"  Step Functions: the histories of the {self.executions:,} executions above, with their input and "
                f"output, until {self.until[:10]} at the latest"
            )
        yield "  logs: the hash and the ids of tasks, as long as the log groups keep their lines (LogRetentionDays)"
        yield "  backups: the table can be restored to any second of the last 35 days"
        yield "  elsewhere: what workflows stored themselves, and what receivers of webhooks were sent"
