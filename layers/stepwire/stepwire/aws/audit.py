"""The audit in the log: one line an entry, which CloudWatch reads as metrics too (embedded metric format).

Nothing of Powertools is loaded before the first entry, or before a snapshot.
"""

import importlib
from typing import Any, Final

from stepwire.audit import Action, Entry

NAMESPACE: Final = "Stepwire"
_ENDS: Final = {
    "completed": "Completed",
    "completed_with_error": "Failed",
    "failed": "Failed",
    "cancelled": "Cancelled",
}
_COUNTED: Final = {
    Action.CREATED: "Created",
    Action.EXPIRED: "Expired",
    Action.POLLED: "Polls",
    Action.RETRIEVED: "Retrieved",
    Action.CANCELLED: "CancelRequests",
    Action.REFUSED: "Refused",
}
_NO_TOOL: Final = "-"


def load_metrics() -> None:
    """Load what the first entry would."""
    importlib.import_module("aws_lambda_powertools.metrics")


def write_down(entry: Entry) -> None:
    """Write one entry, with its count by tool and, of an end, how long the task took."""
    from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit  # noqa: PLC0415 - most requests write nothing

    metrics: Any = EphemeralMetrics(namespace=NAMESPACE)
    metrics.add_dimension("tool", entry.tool or _NO_TOOL)
    name = _ENDS[entry.outcome or ""] if entry.action is Action.ENDED else _COUNTED[entry.action]
    metrics.add_metric(name, MetricUnit.Count, 1)
    if entry.duration is not None:
        metrics.add_metric("Duration", MetricUnit.Seconds, entry.duration.total_seconds())
    for key, value in _shown(entry).items():
        metrics.add_metadata(key, value)
    metrics.flush_metrics()


def _shown(entry: Entry) -> dict[str, str]:
    told = {"task_id": entry.task_id, "outcome": entry.outcome}
    return {
        "audit": entry.action.value,
        "principal": entry.owner,
        **{key: value for key, value in told.items() if value is not None},
    }
