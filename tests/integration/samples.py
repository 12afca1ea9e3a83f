"""The sample events in `events/`: which function each is for, and what should come of it."""

import time
from dataclasses import dataclass, field
from typing import Any, Final

from tests.integration.stacks import SIGN_IN
from tests.recorded import recorded


@dataclass(frozen=True)
class Sample:
    """What a sample event is for, and what should come of it."""

    function: str
    answers: dict[str, Any] | None = None
    """Some of what the function returns."""
    fails: str | None = None
    """The type of the error that it raises instead."""
    leaves: str = "working"
    """The status of the task of which the events tell, once the function has returned."""
    parameters: dict[str, str] = field(default_factory=dict[str, str])
    """Of the stack, where they matter."""


SAMPLES: Final = {
    "execution_aborted": Sample("ExecutionEventsFunction", leaves="cancelled"),
    "execution_failed": Sample("ExecutionEventsFunction", leaves="completed_with_error"),
    "execution_running": Sample("ExecutionEventsFunction"),
    "execution_succeeded": Sample("ExecutionEventsFunction", leaves="completed"),
    # Its output would be fetched, but the execution does not exist here, so EventBridge would retry the event.
    "execution_succeeded_output_left_out": Sample("ExecutionEventsFunction", fails="WorkflowsUnavailable"),
    "execution_timed_out": Sample("ExecutionEventsFunction", leaves="completed_with_error"),
    "http_get": Sample("McpFunction", {"statusCode": 405}),
    "http_get_metadata": Sample("MetadataFunction", {"statusCode": 200}, parameters=SIGN_IN),
    "http_post_base64": Sample("McpFunction", {"statusCode": 200}),
    "http_post_headers_null": Sample("McpFunction", {"statusCode": 415}),
    "http_post_iam": Sample("McpFunction", {"statusCode": 200}, parameters=SIGN_IN),
    "http_post_jwt": Sample("McpFunction", {"statusCode": 200}, parameters=SIGN_IN),
    "http_post_jwt_without_subject": Sample("McpFunction", {"statusCode": 200}, parameters=SIGN_IN),
    "http_post_legacy": Sample("McpFunction", {"statusCode": 200}),
    "http_post_modern": Sample("McpFunction", {"statusCode": 200}),
    "input_requested": Sample("InputRequestsFunction", leaves="input_required"),
    "parameter_changed": Sample("CatalogFunction"),
    "progress_reported": Sample("ExecutionEventsFunction"),
    "schedule": Sample("SweepFunction"),
    "table_changed": Sample("StatusChangesFunction", {"batchItemFailures": []}),
    "tags_changed": Sample("CatalogFunction"),
    "task_expired": Sample("ExpirationsFunction", {"batchItemFailures": []}),
}
FOR_OTHERS: Final = {"task_status_changed"}
"""Events that our functions publish; none of them consumes these."""


def task_of_the_events() -> dict[str, Any]:
    """Give the item of the task of which the events tell, as it was before them, but made now, by whom forms reach."""
    (record,) = recorded("task_expired")["Records"]
    now = int(time.time())
    moments = {name: {"N": str(now * 1000)} for name in ("created_at", "last_updated_at", "checked_at")}
    origin = {"S": '[["form"],null,null]'}
    return {**record["dynamodb"]["OldImage"], **moments, "origin": origin, "expires_at": {"N": str(now + 3600)}}
