"""The composition root of function erasures, with which an operator erases what is held of a caller.

Whoever may invoke it may erase the ended tasks of anybody, and neither read nor block.

{"survey": hash, "after"?: text}
{"tasks": [{"task_id", "has_ended", "executions": [ARN], "kept_until": ISO 8601}], "after": text or null}

{"erase": hash, "operator"?: ARN}
{"items": int, "objects": int, "is_done": bool} or {"refused": reason}
"""

import os
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Final

from msgspec import to_builtins

from stepwire.audit import AuditAction, AuditEntry
from stepwire.aws.audit_log import write_audit_entry
from stepwire.aws.clients import patient_dynamodb_client, s3_client
from stepwire.aws.invocations import SystemClock, builds_once
from stepwire.aws.settings import required
from stepwire.aws.step_functions import execution_arn_of
from stepwire.aws.storage.holdings import ErasedObjects, Holdings, NotEnded
from stepwire.aws.storage.table import Table
from stepwire.json_text import JsonObject, as_object
from stepwire.principal import PRINCIPAL_PATTERN, Principal
from stepwire.tasks.task import Task

HISTORIES_KEPT: Final = timedelta(days=90)
"""How long Step Functions keeps the history of an execution after its end."""
BUDGET: Final = timedelta(seconds=15)
"""After that long, no further part is erased: the next command goes on."""
_MALFORMED: Final = "A command has one of survey and erase, with a hash of 32 hexadecimal digits."


class ErasuresHandler:
    """Handles function erasures."""

    @builds_once
    def __call__(self, event: dict[str, Any], _context: object) -> dict[str, Any]:
        """Say what there is of a caller, or erase a part of it. Each part is audited when it is done."""
        command = as_object(event.get("stepwire_command"))
        word = "erase" if "erase" in command else "survey"
        owner, after = str(command.get(word)), command.get("after")
        if not PRINCIPAL_PATTERN.fullmatch(owner) or not isinstance(after, str | None):
            return {"refused": _MALFORMED}
        holdings = Holdings(self._table, Principal(owner))
        if word == "survey":
            tasks, more = holdings.tasks(after)
            return {"tasks": [_remains_of(task, self._now()) for task in tasks], "after": more}
        return self._erase(holdings, command.get("operator"))

    def _erase(self, holdings: Holdings, operator: str | None) -> dict[str, Any]:
        until = self._now() + BUDGET
        try:
            erased = holdings.erase(self._objects, lambda: self._now() < until)
        except NotEnded as refused:
            return {"refused": _refusal(refused.task, self._now())}
        said = f"{erased.items} items, {erased.objects} large results; {'done' if erased.is_done else 'goes on'}"
        write_audit_entry(AuditEntry(AuditAction.ERASED, holdings.owner, outcome=said, operator=operator))
        return to_builtins(erased)

    def _now(self) -> datetime:
        return SystemClock().now()

    @cached_property
    def _table(self) -> Table:
        return Table(required(os.environ, "TABLE_NAME"), patient_dynamodb_client)

    @cached_property
    def _objects(self) -> ErasedObjects:
        return ErasedObjects(required(os.environ, "LARGE_RESULTS_BUCKET"), s3_client())


def _refusal(task: Task, at: datetime) -> str:
    if task.expires_at <= at:
        return (
            f"Task {task.task_id} has expired while it ran. DynamoDB removes it within days, and its execution is "
            "stopped then: repeat the command afterwards."
        )
    return f"Task {task.task_id} has not ended. Cancel what runs first: --cancel does."


def _remains_of(task: Task, at: datetime) -> JsonObject:
    """Return what Step Functions keeps of a task: the histories of its executions, with its arguments and results."""
    runs = () if task.awaits_confirmation else range(len(task.runs))
    executions = [execution_arn_of(one) for run in runs for one in task.executions_of(run)]
    kept_until = (task.last_updated_at if task.has_ended else at) + HISTORIES_KEPT
    return {
        "task_id": task.task_id,
        "has_ended": task.has_ended,
        "executions": executions,
        "kept_until": kept_until.isoformat(),
    }
