"""Write the audit trail to the log: one line per entry, from which CloudWatch also extracts metrics (EMF).

Powertools' metrics are loaded with the first entry, or before a snapshot. Without sign-in, the id of a task is all that
a caller needs to read the task, so the log contains a digest of the id.
"""

import hashlib
import importlib
import os
from typing import Any, Final

from stepwire.audit import AuditAction, AuditEntry, EndSource

NAMESPACE: Final = "Stepwire"
_ENDS: Final = {
    "completed": "Completed",
    "completed_with_error": "Failed",
    "failed": "Failed",
    "cancelled": "Cancelled",
}
_COUNTED: Final = {
    AuditAction.CREATED: "Created",
    AuditAction.EXPIRED: "Expired",
    AuditAction.POLLED: "Polls",
    AuditAction.RETRIEVED: "Retrieved",
    AuditAction.CANCELLED: "CancelRequests",
    AuditAction.REFUSED: "Refused",
    AuditAction.UNSHAPED: "Unshaped",
    AuditAction.PRIMED: "Primed",
    AuditAction.RESUMED: "Resumed",
}
# The running sum is the number of active tasks.
_ACTIVE_CHANGE: Final = {AuditAction.CREATED: 1, AuditAction.ENDED: -1, AuditAction.EXPIRED: -1}
_DIGEST_LENGTH: Final = 32  # hexadecimal digits; 128 bits, as many as an id has at random
NO_TOOL: Final = "-"
"""The dimension `tool` of entries without a tool."""


def load_metrics() -> None:
    """Import what the first entry needs."""
    importlib.import_module("aws_lambda_powertools.metrics")


def write_audit_entry(entry: AuditEntry) -> None:
    """Write one entry, with its metrics by tool and, for an end, the task's duration.

    The dimension `service`, which identifies the stack, comes from POWERTOOLS_SERVICE_NAME.
    """
    from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit  # noqa: PLC0415 - most requests write no entry

    metrics: Any = EphemeralMetrics(namespace=NAMESPACE)
    metrics.add_dimension("tool", entry.tool or NO_TOOL)
    name = _ENDS[entry.outcome or ""] if entry.action is AuditAction.ENDED else _COUNTED[entry.action]
    metrics.add_metric(name, MetricUnit.Count, 1)
    if entry.duration is not None:
        metrics.add_metric("Duration", MetricUnit.Seconds, entry.duration.total_seconds())
    if entry.action in _ACTIVE_CHANGE:
        metrics.add_metric("ActiveChange", MetricUnit.Count, _ACTIVE_CHANGE[entry.action])
    if entry.source is not None:  # also 0, so that the average is the share of ends whose event was lost or late
        metrics.add_metric("Repaired", MetricUnit.Count, int(entry.source is EndSource.CHECK))
    for key, value in _shown(entry).items():
        metrics.add_metadata(key, value)
    metrics.flush_metrics()


def _shown(entry: AuditEntry) -> dict[str, str]:
    source = entry.source.value if entry.source else None
    told = {**_named(entry.task_id), "outcome": entry.outcome, "source": source, "client": entry.client}
    return {
        "audit": entry.action.value,
        "principal": entry.owner,
        **{key: value for key, value in told.items() if value is not None},
    }


def _named(task_id: str | None) -> dict[str, str]:
    if task_id is None:
        return {}
    if os.environ.get("AUTHORIZER") != "none":
        return {"task_id": task_id}
    return {"task_digest": hashlib.sha256(task_id.encode()).hexdigest()[:_DIGEST_LENGTH]}
