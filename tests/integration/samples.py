"""The sample events of the core in `events/`: the function of each, and its expected outcome.

An extra has those in `events/extras/NAME/`, in its module `samples`.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from tests.integration.stacks import SIGN_IN


@dataclass(frozen=True)
class Sample:
    """The function and the expected outcome of a sample event."""

    function: str
    answers: dict[str, Any] | None = None
    """A part of the function's result."""
    fails: str | None = None
    """The type of the error that it raises instead."""
    leaves: str = "working"
    """The status of the events' task after the function."""
    alias: str = ""
    """By which the function is invoked."""
    parameters: dict[str, str] = field(default_factory=dict[str, str])
    """The parameters of the stack that matter."""


@dataclass(frozen=True)
class OfExtra:
    """The sample events of an extra, by their names in `events/`."""

    taken: dict[str, Sample] = field(default_factory=dict[str, Sample])
    """By its functions, or by those of the core."""
    published: frozenset[str] = frozenset()
    """By its functions; none of them consumes these."""
    parameters: dict[str, str] = field(default_factory=dict[str, str])
    """Of a stack with sign-in, which then has functions that it has not otherwise."""
    by_name: frozenset[str] = frozenset()
    """Functions that are invoked by name, and by no event."""


SAMPLES: Final = {
    "command_given": Sample(
        "OperatorFunction",
        alias="tasks",
        answers={"refused": "The task has not ended: wait for its end, or let its caller cancel it."},
    ),
    "execution_aborted": Sample("ExecutionEventsFunction", leaves="cancelled"),
    "execution_failed": Sample("ExecutionEventsFunction", leaves="completed_with_error"),
    # Of a task that has not ended, this is its own execution.
    "execution_redriven": Sample("ExecutionEventsFunction"),
    "execution_running": Sample("ExecutionEventsFunction"),
    "execution_succeeded": Sample("ExecutionEventsFunction", leaves="completed"),
    # The function would fetch the output, but the execution does not exist here; EventBridge would retry the event.
    "execution_succeeded_output_left_out": Sample("ExecutionEventsFunction", fails="WorkflowsUnavailable"),
    "execution_timed_out": Sample("ExecutionEventsFunction", leaves="completed_with_error"),
    "http_get": Sample("McpFunction", {"statusCode": 405}),
    "http_get_metadata": Sample("MetadataFunction", {"statusCode": 200}, parameters=SIGN_IN),
    # The stack of these events has an issuer that is no user pool, so there is no mirror.
    "http_get_server_metadata": Sample("MetadataFunction", {"statusCode": 404}, parameters=SIGN_IN),
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
FOR_OTHERS: Final = frozenset({"task_status_changed"})
"""Events that our functions publish; none of them consumes these."""
