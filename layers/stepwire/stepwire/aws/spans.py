"""Spans of OpenTelemetry, each one line of the log: of a task from its call to its end.

Loaded only with Spans on, so that a cold start pays nothing while it is off. A line is OTLP in JSON, which a collector
reads as it is; `service`, `span`, `trace_id` and `milliseconds` beside it are for Logs Insights.

The rule: no argument, result, message, claim or token is in a span. What its trace does not sample is not written.
"""

import os
import sys
import time
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from stepwire.audit import Audit, AuditAction, AuditEntry
from stepwire.aws.audit_log import named
from stepwire.json_text import JsonObject, write
from stepwire.tracing import Trace

INTERNAL: Final = 1
SERVER: Final = 2
_ERROR: Final = {"code": 2}
_UNKNOWN: Final = "-"

Value = str | int


def with_tasks(audit: Audit) -> Audit:
    """Return an audit that also writes the span of each task that ends."""

    def written(entry: AuditEntry) -> None:
        audit(entry)
        if entry.action is AuditAction.ENDED:
            write_task(entry)

    return written


def write_task(entry: AuditEntry) -> None:
    """Write the span of a task that has ended, from its creation to its end, below the request that made it."""
    if entry.trace is None or entry.duration is None:
        return
    ended, tool = time.time_ns(), entry.tool or _UNKNOWN
    began = ended - int(entry.duration.total_seconds() * 1_000_000_000)
    outcome = entry.outcome or ""
    attributes = {"gen_ai.tool.name": tool, "stepwire.outcome": outcome, **of_task(entry.task_id)}
    error = "" if outcome == "completed" else outcome
    own = entry.trace.with_span(new_span_id())
    write_span(Span(f"task {tool}", INTERNAL, own, entry.trace, began, ended, attributes, error))


def new_span_id() -> str:
    """Return the id of a new part of a trace."""
    return os.urandom(8).hex()


def of_task(task_id: str | None) -> dict[str, str]:
    """Return the attributes that name a task."""
    return {f"stepwire.{name}": value for name, value in named(task_id).items()}


class Span(Struct, frozen=True):
    """A part of a trace."""

    name: str
    kind: int
    """Its number in OTLP."""
    trace: Trace
    """With the id of the span itself."""
    parent: Trace | None
    """At the span above it; None: there is none."""
    began: int
    """Nanoseconds since 1970."""
    ended: int
    attributes: Mapping[str, Value]
    error: str
    """Its type; empty: none."""


def write_span(span: Span) -> None:
    """Write a span unless its trace is not sampled."""
    trace, error = span.trace, span.error
    if not trace.is_sampled:
        return
    service = os.environ.get("POWERTOOLS_SERVICE_NAME", "")
    about = {"service.name": service, "faas.name": os.environ.get("AWS_LAMBDA_FUNCTION_NAME", "")}
    written = {
        "traceId": trace.id,
        "spanId": trace.span_id,
        **({"parentSpanId": span.parent.span_id} if span.parent else {}),
        **({"traceState": trace.state} if trace.state else {}),
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.began),
        "endTimeUnixNano": str(span.ended),
        "attributes": _listed({**span.attributes, **({"error.type": error} if error else {})}),
        **({"status": _ERROR} if error else {}),
    }
    scoped = {"scope": {"name": "stepwire"}, "spans": [written]}
    line = {
        "service": service,
        "span": span.name,
        "trace_id": trace.id,
        "milliseconds": (span.ended - span.began) // 1_000_000,
        "resourceSpans": [{"resource": {"attributes": _listed(about)}, "scopeSpans": [scoped]}],
    }
    sys.stdout.write(write(line) + "\n")


def _listed(attributes: Mapping[str, Value]) -> list[JsonObject]:
    """Return attributes as OTLP lists them; an integer is a text there."""
    return [
        {"key": key, "value": {"stringValue": value} if isinstance(value, str) else {"intValue": str(value)}}
        for key, value in attributes.items()
    ]
