"""Spans of deliveries to webhooks. Loaded only with Spans on."""

import time
from typing import Final

from stepwire.aws.spans import Span, new_span_id, of_task, write_span
from stepwire.extras.events.delivering import Delivery
from stepwire.extras.events.subscription import Verdict

_CLIENT: Final = 3
"""The kind of a span that calls somebody else (OTLP)."""


def write_delivery(delivery: Delivery) -> None:
    """Write the span of an attempt to deliver an event to a webhook."""
    if delivery.trace is None:
        return
    ended = time.time_ns()
    began = ended - int(delivery.took.total_seconds() * 1_000_000_000)
    attributes = {"stepwire.event": delivery.event, **of_task(delivery.task_id)}
    error = "" if delivery.verdict is Verdict.DELIVERED else delivery.verdict.value
    own = delivery.trace.with_span(new_span_id())
    write_span(Span(f"webhook {delivery.event}", _CLIENT, own, delivery.trace, began, ended, attributes, error))
