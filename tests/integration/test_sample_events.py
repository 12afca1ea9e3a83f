"""Every file in events/ is taken by the function that it is for, with the effect that it should have."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from local import FunctionError, LocalStack, never
from tests.integration.stacks import ROOT, SIGN_IN, Deployed, deployed
from tests.recorded import FOLDER, recorded
from tests.template.document import FUNCTION, resources

BUSY: Final = {"WaitSeconds": "0"}


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
    "check_refund": Sample("CheckRefundFunction", {"verdict": "ask", "item": "Office chair"}),
    "execution_aborted": Sample("ExecutionEventsFunction", leaves="cancelled"),
    "execution_failed": Sample("ExecutionEventsFunction", leaves="completed_with_error"),
    "execution_running": Sample("ExecutionEventsFunction"),
    "execution_succeeded": Sample("ExecutionEventsFunction", leaves="completed"),
    # Its output is to be fetched; but the execution is nobody's here, so EventBridge would deliver the event again.
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
    "make_refund": Sample("MakeRefundFunction", {"amount": "199.50"}),
    "profile_column": Sample("ProfileColumnFunction", {"name": "mass", "type": "integer"}),
    "progress_reported": Sample("ExecutionEventsFunction"),
    "read_dataset": Sample("ReadDatasetFunction", {"rows": 3, "source": "inline"}),
    "task_expired": Sample("ExpirationsFunction", {"batchItemFailures": []}),
}


@pytest.fixture(scope="module")
def stacks() -> Iterator[dict[bool, Deployed]]:
    """The root template, with sign-in and without."""
    template = ROOT / "template.yaml"
    with deployed(template, never, **BUSY) as anybody, deployed(template, never, **BUSY, **SIGN_IN) as guarded:
        yield {False: anybody, True: guarded}


def task_of_the_events() -> dict[str, Any]:
    """Give the item of the task of which the events tell, as it was before them, but made now, by whom forms reach."""
    (record,) = recorded("task_expired")["Records"]
    now = int(time.time())
    moments = {name: {"N": str(now * 1000)} for name in ("created_at", "last_updated_at", "checked_at")}
    origin = {"S": '[["form"],null,null]'}
    return {**record["dynamodb"]["OldImage"], **moments, "origin": origin, "expires_at": {"N": str(now + 3600)}}


def answer_of(stack: LocalStack, sample: Sample, event: dict[str, Any]) -> Any:
    """Invoke the function; None where it fails as it should."""
    if sample.fails is None:
        return stack.invoke(sample.function, event)
    with pytest.raises(FunctionError) as raised:
        stack.invoke(sample.function, event)
    assert raised.value.error_type == sample.fails
    return None


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_sample_event_has_its_effect(stacks: dict[bool, Deployed], name: str) -> None:
    sample, item = SAMPLES[name], task_of_the_events()
    stack = stacks[bool(sample.parameters)].stack
    table, tasks = stack.physical_ids["TasksTable"], stack.client("dynamodb")
    tasks.put_item(TableName=table, Item=item)

    answer = answer_of(stack, sample, recorded(name))

    assert answer == (sample.answers and answer | sample.answers)
    left = tasks.get_item(TableName=table, Key={key: item[key] for key in ("pk", "sk")})["Item"]
    assert left["status"]["S"] == sample.leaves


def test_every_sample_event_is_tried_here() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(SAMPLES)


def test_every_function_of_the_template_has_a_sample_event() -> None:
    assert {sample.function for sample in SAMPLES.values()} == {one.logical_id for one in resources(FUNCTION)}
