"""Write the audit trail to the log: one line per entry, from which CloudWatch can also extract metrics.

The line is in CloudWatch's Embedded Metric Format (EMF) with TOOL_METRICS=on; each metric of each tool costs money.
Written here and not by Powertools, whose import takes longer than all of a poll. Without sign-in, the id of a task is
all that a caller needs to read the task, so the log contains a digest of the id.
"""

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from stepwire.audit import AuditAction, AuditEntry, EndSource
from stepwire.tracing import followed

NAMESPACE: Final = "Stepwire"
ENDS: Final = {
    "completed": "Completed",
    "completed_with_error": "Failed",
    "failed": "Failed",
    "cancelled": "Cancelled",
}
_UNITS: Final = {"Duration": "Seconds"}
_DIGEST_LENGTH: Final = 32  # hexadecimal digits; 128 bits, as many as an id has at random
AUDIT_VERSION: Final = 1
"""Of the form of a line: a member that is taken away, or means something else, makes another one."""
NO_TOOL: Final = "-"
"""The dimension `tool` of entries without a tool."""


def write_audit_entry(entry: AuditEntry) -> None:
    """Write one entry, with its metrics by tool and, for an end, the task's duration."""
    # ASCII: a client may give itself a name that no encoding of a stream has.
    sys.stdout.write(json.dumps(line_of(entry), separators=(",", ":")) + "\n")


def line_of(entry: AuditEntry) -> dict[str, Any]:
    """Return the members of an entry's line, as `docs/audit.schema.json` has them.

    The trace is the request's or, if that has none, the one of the call that made the task.

    The dimension `service`, which identifies the stack, comes from POWERTOOLS_SERVICE_NAME.
    """
    service = os.environ.get("POWERTOOLS_SERVICE_NAME")
    dimensions = {"tool": entry.tool or NO_TOOL, **({"service": service} if service else {})}
    metrics: dict[str, float] = {entry.action.metric or ENDS[entry.outcome or ""]: entry.polls}
    if entry.duration is not None:
        metrics["Duration"] = entry.duration.total_seconds()
    if entry.action.active_change:
        metrics["ActiveChange"] = entry.action.active_change
    if entry.source is not None:  # also 0, so that the average is the share of ends whose event was lost or late
        metrics["Repaired"] = int(entry.source is EndSource.CHECK)
    trace = followed() or entry.trace
    told = {
        **named(entry.task_id),
        "trace_id": trace.id if trace else None,
        "outcome": entry.outcome,
        "source": entry.source.value if entry.source else None,
        "client": entry.client,
        "winner": entry.winner,
        **entry.details,
        "operator": entry.operator,
    }
    if entry.follow_up is not None:
        told |= {f"follow_up_{name}": value for name, value in named(entry.follow_up).items()}
    line = dict[str, Any]()
    if os.environ.get("TOOL_METRICS") == "on":
        line = metrics_in_line(dimensions, {name: _UNITS.get(name, "Count") for name in metrics})
    line |= {**dimensions, "audit": entry.action.word, "audit_version": AUDIT_VERSION, "at": _now()}
    line["principal"] = entry.owner
    line |= {name: value for name, value in told.items() if value is not None}
    line |= {name: [float(value)] for name, value in metrics.items()}
    return line


class SampledPolls:
    """Writes every entry, except most polls: a function instance writes its first, and then every `per_line`-th.

    Such a line counts the polls since the one before, whoever made them. Nearly all requests are polls, and a line for
    each would cost as much as the rest of a poll.
    """

    def __init__(self, per_line: int) -> None:
        self._per_line, self._due, self._unwritten = per_line, 1, 0

    def __call__(self, entry: AuditEntry) -> None:
        """Write an entry, or count it if it is a poll that is not due."""
        if entry.action is AuditAction.POLLED:
            self._unwritten += 1
            if self._unwritten < self._due:
                return
            entry = replace(entry, polls=self._unwritten)
            self._due, self._unwritten = self._per_line, 0
        write_audit_entry(entry)


def metrics_in_line(dimensions: Iterable[str], units: Mapping[str, str]) -> dict[str, Any]:
    """Return the member by which CloudWatch finds the metrics of a line, in its Embedded Metric Format.

    Args:
        dimensions: the members of the line that tell the metrics of one kind apart.
        units: the members of the line that are metrics, each with its unit.
    """
    described = {
        "Namespace": NAMESPACE,
        "Dimensions": [list(dimensions)],
        "Metrics": [{"Name": name, "Unit": unit} for name, unit in units.items()],
    }
    return {"_aws": {"Timestamp": _now(), "CloudWatchMetrics": [described]}}


def _now() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def named(task_id: str | None) -> dict[str, str]:
    """Return the member by which a line names a task: its id or, without sign-in, the digest of it."""
    if task_id is None:
        return {}
    if os.environ.get("AUTHORIZER") != "none":
        return {"task_id": task_id}
    return {"task_digest": task_digest(task_id)}


def task_digest(task_id: str) -> str:
    """Return what names a task in lines without telling its id."""
    return hashlib.sha256(task_id.encode()).hexdigest()[:_DIGEST_LENGTH]
