"""The audit in the log: one line an entry, which CloudWatch reads as metrics too (embedded metric format).

Nothing of Powertools is loaded before the first entry, or before a snapshot. Where nobody signs in, whoever knows the
id of a task has the task: then a digest stands for the id.
"""

import hashlib
import importlib
import os
from typing import Any, Final

from stepwire.audit import Action, Entry, Source

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
# Summed up, how many more tasks are active than before.
_ACTIVE_CHANGE: Final = {Action.CREATED: 1, Action.ENDED: -1, Action.EXPIRED: -1}
_DIGEST_LENGTH: Final = 32  # hexadecimal digits; 128 bits, as many as an id has at random
NO_TOOL: Final = "-"
"""The dimension `tool` of what belongs to none."""


def load_metrics() -> None:
    """Load what the first entry would."""
    importlib.import_module("aws_lambda_powertools.metrics")


def write_down(entry: Entry) -> None:
    """Write one entry, with its counts by tool and, of an end, how long the task took.

    The dimension `service`, which tells stacks apart, is POWERTOOLS_SERVICE_NAME.
    """
    from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit  # noqa: PLC0415 - most requests write nothing

    metrics: Any = EphemeralMetrics(namespace=NAMESPACE)
    metrics.add_dimension("tool", entry.tool or NO_TOOL)
    name = _ENDS[entry.outcome or ""] if entry.action is Action.ENDED else _COUNTED[entry.action]
    metrics.add_metric(name, MetricUnit.Count, 1)
    if entry.duration is not None:
        metrics.add_metric("Duration", MetricUnit.Seconds, entry.duration.total_seconds())
    if entry.action in _ACTIVE_CHANGE:
        metrics.add_metric("ActiveChange", MetricUnit.Count, _ACTIVE_CHANGE[entry.action])
    if entry.source is not None:  # 0 too, so that the average is the share of ends whose event did not come
        metrics.add_metric("Repaired", MetricUnit.Count, int(entry.source is Source.LOOK))
    for key, value in _shown(entry).items():
        metrics.add_metadata(key, value)
    metrics.flush_metrics()


def _shown(entry: Entry) -> dict[str, str]:
    source = entry.source.value if entry.source else None
    told = {**_named(entry.task_id), "outcome": entry.outcome, "source": source}
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
