"""What the adapter makes of Step Functions' errors: refused, unclear, silent, or no error at all.

The client is botocore's own, with its own retries; only the wire under it is ours.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, cast

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.config import Config
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)
from mypy_boto3_stepfunctions import SFNClient

from stepwire.aws.clients import step_functions_client
from stepwire.aws.throttling import THROTTLED
from stepwire.aws.workflows.step_functions import StepFunctionsWorkflows, execution_arn_of
from stepwire.engine.waiting import TIME_TO_ANSWER
from stepwire.errors import (
    StartRefused,
    StartRefusedForNow,
    StartUnclear,
    StopThrottled,
    WorkflowsThrottled,
    WorkflowsUnavailable,
)
from stepwire.tasks.outcomes import Missing, Running, Succeeded
from stepwire.tasks.task import Execution
from tests.kits import state_machine_arn

EXECUTION = Execution(state_machine_arn("Example"), "a-name")
STARTED = (200, {"executionArn": execution_arn_of(EXECUTION), "startDate": 1785585600.0})
CONNECT_TIMEOUT = ConnectTimeoutError(endpoint_url="https://states.example")
READ_TIMEOUT = ReadTimeoutError(endpoint_url="https://states.example")
NO_CONNECTION = EndpointConnectionError(endpoint_url="https://states.example")


def refusal(code: str, status: int = 400) -> tuple[int, dict[str, Any]]:
    """Make an error of Step Functions."""
    return status, {
        "__type": f"com.amazonaws.swf.service.v2.model#{code}",
        "message": "AWS's own words, arn:aws:secret",
    }


SILENT = [
    refusal("ThrottlingException"),
    refusal("AccessDeniedException"),
    refusal("InternalFailure", 500),
    READ_TIMEOUT,
]
SILENCES = ["throttled", "denied", "server error", "time-out"]


class _Body(BytesIO):
    def stream(self, **_: object) -> Any:
        yield self.read()


@dataclass
class Wire:
    """What Step Functions answers, try by try; no try reaches the network."""

    answers: list[tuple[int, dict[str, Any]] | Exception]
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def __call__(self, request: Any, **_: object) -> AWSResponse:
        self.asked.append(json.loads(request.body))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        status, body = answer
        raw = _Body(json.dumps(body).encode())
        headers = HTTPHeaders.from_pairs([("content-type", "application/x-amz-json-1.0")])
        return AWSResponse(request.url, status, headers, raw)

    def workflows(self) -> StepFunctionsWorkflows:
        """Put the adapter on this wire; its client tries as often as there are answers."""
        return StepFunctionsWorkflows(self._client)

    def _client(self) -> SFNClient:
        client = boto3.client(  # pyright: ignore[reportUnknownMemberType] - not all stubs are there
            "stepfunctions",
            region_name="eu-central-1",
            aws_access_key_id="nobody",
            aws_secret_access_key="nothing",
            config=Config(retries={"mode": "standard", "total_max_attempts": len(self.answers)}),
        )
        client.meta.events.register_first("before-send.stepfunctions", cast(Any, self))
        return client


# --------------------------------------------------------------------------------------------------------------- start


def test_a_start_sends_the_name_and_the_unchanged_input() -> None:
    wire = Wire([STARTED])

    wire.workflows().start(EXECUTION, '{"b": 1,  "a":"\\u00fc"}')

    assert wire.asked == [
        {"stateMachineArn": EXECUTION.state_machine_arn, "name": "a-name", "input": '{"b": 1,  "a":"\\u00fc"}'}
    ]


def test_an_existing_execution_counts_as_started() -> None:
    Wire([refusal("ExecutionAlreadyExists")]).workflows().start(EXECUTION, "{}")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("StateMachineDoesNotExist", "its state machine no longer exists"),
        ("StateMachineDeleting", "its state machine is being deleted"),
        ("InvalidExecutionInput", "Step Functions does not accept the arguments as input"),
        ("ExecutionLimitExceeded", "too many workflows are running; try again later"),
        ("ThrottlingException", "too many workflows are being started; try again in a few seconds"),
        ("AccessDeniedException", "this server may not start its state machine"),
        ("SomethingNew", "Step Functions refused it (SomethingNew)"),
    ],
)
def test_a_refusal_of_the_first_attempt_is_certain_and_has_our_message(code: str, reason: str) -> None:
    with pytest.raises(StartRefused) as refused:
        Wire([refusal(code)]).workflows().start(EXECUTION, "{}")

    assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("code", "passes"),
    [("ThrottlingException", True), ("ExecutionLimitExceeded", True), ("AccessDeniedException", False)],
)
def test_a_refusal_because_of_a_quota_is_temporary(code: str, *, passes: bool) -> None:
    with pytest.raises(StartRefused) as refused:
        Wire([refusal(code)]).workflows().start(EXECUTION, "{}")

    assert isinstance(refused.value, StartRefusedForNow) is passes


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_server_error_leaves_a_start_unclear(status: int) -> None:
    with pytest.raises(StartUnclear):
        Wire([refusal("ServiceUnavailable", status)]).workflows().start(EXECUTION, "{}")


@pytest.mark.parametrize(
    "error", [CONNECT_TIMEOUT, READ_TIMEOUT, NO_CONNECTION], ids=lambda error: type(error).__name__
)
def test_no_response_leaves_a_start_unclear(error: Exception) -> None:
    with pytest.raises(StartUnclear):
        Wire([error]).workflows().start(EXECUTION, "{}")


def test_a_start_that_cannot_even_be_sent_is_refused() -> None:
    with pytest.raises(StartRefused) as refused:
        Wire([NoCredentialsError()]).workflows().start(EXECUTION, "{}")

    assert refused.value.reason == "this server is not set up to call Step Functions"


@pytest.mark.parametrize("first", [READ_TIMEOUT, refusal("InternalFailure", 500)], ids=["time-out", "server error"])
def test_a_refusal_after_a_retry_leaves_a_start_unclear(first: Any) -> None:
    """The first try may have been heard."""
    wire = Wire([first, refusal("ExecutionLimitExceeded")])

    with pytest.raises(StartUnclear):
        wire.workflows().start(EXECUTION, "{}")

    assert wire.answers == []


def test_a_start_that_a_retry_finds_done_succeeds() -> None:
    wire = Wire([READ_TIMEOUT, refusal("ExecutionAlreadyExists")])

    wire.workflows().start(EXECUTION, "{}")

    assert wire.answers == []


# ------------------------------------------------------------------------------------------------------------ describe


@pytest.mark.parametrize(
    ("report", "state"),
    [
        ({"status": "RUNNING"}, Running()),
        ({"status": "PENDING_REDRIVE"}, Running()),
        ({"status": "SUCCEEDED", "output": "{}"}, Succeeded("{}")),
    ],
)
def test_describe_returns_the_executions_state(report: dict[str, Any], state: object) -> None:
    wire = Wire([(200, report)])

    assert wire.workflows().describe(EXECUTION) == state
    assert wire.asked == [{"executionArn": "arn:aws:states:eu-central-1:123456789012:execution:Example:a-name"}]


def test_an_execution_that_step_functions_does_not_know_is_missing() -> None:
    assert Wire([refusal("ExecutionDoesNotExist")]).workflows().describe(EXECUTION) == Missing()


@pytest.mark.parametrize("answer", SILENT, ids=SILENCES)
def test_any_other_error_makes_step_functions_unavailable(answer: Any) -> None:
    with pytest.raises(WorkflowsUnavailable):
        Wire([answer]).workflows().describe(EXECUTION)


# ---------------------------------------------------------------------------------------------------------------- stop


def test_stopping_an_unknown_execution_does_nothing() -> None:
    Wire([refusal("ExecutionDoesNotExist")]).workflows().stop(EXECUTION, "why")


@pytest.mark.parametrize(
    ("code", "error"), [("ThrottlingException", StopThrottled), ("AccessDeniedException", ClientError)]
)
def test_a_failed_stop_raises(code: str, error: type[Exception]) -> None:
    """T23: no task is called cancelled whose work goes on."""
    with pytest.raises(error):
        Wire([refusal(code)]).workflows().stop(EXECUTION, "why")


# -------------------------------------------------------------------------------------------------------------- quotas

LOOKS: dict[str, Callable[[StepFunctionsWorkflows], object]] = {
    "describe": lambda workflows: workflows.describe(EXECUTION),
    "history": lambda workflows: workflows.current_state(EXECUTION),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=list(LOOKS))
@pytest.mark.parametrize("code", sorted(THROTTLED))
def test_a_throttled_read_differs_from_a_failed_one(
    look: Callable[[StepFunctionsWorkflows], object], code: str
) -> None:
    with pytest.raises(WorkflowsThrottled):
        look(Wire([refusal(code)]).workflows())


@pytest.mark.parametrize("look", LOOKS.values(), ids=list(LOOKS))
def test_the_sdk_does_not_retry_a_throttled_read(
    look: Callable[[StepFunctionsWorkflows], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A6: a quota that is used up is not used up more, and the poll does not wait for it."""
    wire = Wire([refusal("ThrottlingException")] * 5)
    client = real_client(monkeypatch)
    client.meta.events.register_first("before-send.sfn", cast(Any, wire))

    with pytest.raises(WorkflowsThrottled):
        look(StepFunctionsWorkflows(lambda: client))

    assert len(wire.asked) == 1


def test_the_sdk_retries_a_read_after_a_server_error(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire([refusal("InternalFailure", 500), (200, {"events": []})])
    client = real_client(monkeypatch)
    client.meta.events.register_first("before-send.sfn", cast(Any, wire))

    StepFunctionsWorkflows(lambda: client).current_state(EXECUTION)

    assert len(wire.asked) == 2


def test_an_aws_call_fits_into_the_time_that_a_wait_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """B9: two tries of 1 + 3 seconds, and the pause between them, which standard retries keep below a second."""
    config: Any = real_client(monkeypatch).meta.config
    tries: int = config.retries["total_max_attempts"]

    longest = tries * (config.connect_timeout + config.read_timeout) + (tries - 1)

    assert (tries, config.read_timeout) == (2, 3)
    assert longest <= TIME_TO_ANSWER.total_seconds()
    assert 3 * longest < 29


def real_client(monkeypatch: pytest.MonkeyPatch) -> SFNClient:
    """Build the client that function mcp has."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    return step_functions_client()


# ------------------------------------------------------------------------------------------------------------- history


def entered(name: str) -> dict[str, Any]:
    """Make an event of a history."""
    return {**happened("TaskStateEntered"), "stateEnteredEventDetails": {"name": name}}


def happened(kind: str) -> dict[str, Any]:
    return {"timestamp": 1785585600.0, "type": kind, "id": 1}


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ([happened("TaskScheduled"), entered("Second"), happened("TaskStateExited"), entered("First")], "Second"),
        ([happened("TaskScheduled")], None),
        ([], None),
        ([happened("ExecutionStarted")], None),
        ([happened("ExecutionSucceeded"), entered("Last")], None),
        ([happened("ExecutionFailed"), entered("Last")], None),
        ([happened("ExecutionAborted"), entered("Last")], None),
        ([happened("ExecutionTimedOut"), entered("Last")], None),
    ],
)
def test_the_current_state_is_the_one_entered_last(events: list[Any], state: str | None) -> None:
    wire = Wire([(200, {"events": events})])

    assert wire.workflows().current_state(EXECUTION) == state


def test_only_the_newest_events_are_read_without_data() -> None:
    """X26: nobody reads what the caller may not see."""
    wire = Wire([(200, {"events": []})])

    wire.workflows().current_state(EXECUTION)

    (asked,) = wire.asked
    assert asked == {
        "executionArn": execution_arn_of(EXECUTION),
        "reverseOrder": True,
        "maxResults": 25,
        "includeExecutionData": False,
    }


def test_the_state_of_an_execution_that_step_functions_does_not_know_is_not_known() -> None:
    assert Wire([refusal("ExecutionDoesNotExist")]).workflows().current_state(EXECUTION) is None


@pytest.mark.parametrize("answer", SILENT, ids=SILENCES)
def test_any_other_error_leaves_the_state_unknown_for_now(answer: Any) -> None:
    with pytest.raises(WorkflowsUnavailable):
        Wire([answer]).workflows().current_state(EXECUTION)


# ------------------------------------------------------------------------------------------------------ waiting states


def test_an_answer_is_sent_unchanged_to_its_token() -> None:
    wire = Wire([(200, {}), (200, {})])
    workflows = wire.workflows()

    workflows.complete_callback("token", '{"action":"accept"}')
    workflows.fail_callback("token", "Some.Error", "why")

    assert wire.asked == [
        {"taskToken": "token", "output": '{"action":"accept"}'},
        {"taskToken": "token", "error": "Some.Error", "cause": "why"},
    ]


@pytest.mark.parametrize("code", ["TaskTimedOut", "TaskDoesNotExist", "InvalidToken"])
def test_a_state_that_no_longer_waits_is_no_error(code: str) -> None:
    Wire([refusal(code)]).workflows().complete_callback("token", "{}")
    Wire([refusal(code)]).workflows().fail_callback("token", "Some.Error", "why")


@pytest.mark.parametrize("answer", [*SILENT, refusal("InvalidOutput")], ids=[*SILENCES, "refused"])
def test_any_other_error_leaves_a_state_waiting(answer: Any) -> None:
    """X8: the answer is kept, and delivered by the next reader."""
    with pytest.raises(WorkflowsUnavailable):
        Wire([answer]).workflows().complete_callback("token", "{}")
    with pytest.raises(WorkflowsUnavailable):
        Wire([answer]).workflows().fail_callback("token", "Some.Error", "why")


# ----------------------------------------------------------------------------------------------------------------- ARN


@pytest.mark.parametrize(
    ("state_machine", "execution"),
    [
        (
            "arn:aws:states:eu-central-1:123456789012:stateMachine:Example",
            "arn:aws:states:eu-central-1:123456789012:execution:Example:a-name",
        ),
        (
            "arn:aws-cn:states:cn-north-1:123456789012:stateMachine:stateMachine",
            "arn:aws-cn:states:cn-north-1:123456789012:execution:stateMachine:a-name",
        ),
    ],
)
def test_the_arn_of_an_execution_derives_from_its_state_machine(state_machine: str, execution: str) -> None:
    assert execution_arn_of(Execution(state_machine, "a-name")) == execution
