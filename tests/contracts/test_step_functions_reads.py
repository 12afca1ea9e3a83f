"""How the adapter reads executions and delivers answers, and how it translates the errors of both.

The client is botocore's own, with its own retries; the tests replace only the HTTP layer.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import pytest
from msgspec.structs import replace
from mypy_boto3_stepfunctions import SFNClient

from stepwire.aws.clients import THROTTLED, step_functions_client
from stepwire.aws.step_functions import StepFunctionsWorkflows, execution_arn_of
from stepwire.engine.limiter import TIME_TO_ANSWER
from stepwire.errors import (
    KeyDenied,
    StartUnclear,
    WorkflowsThrottled,
    WorkflowsUnavailable,
)
from stepwire.tasks.events import StateEntered
from stepwire.tasks.outcomes import (
    Aborted,
    ExecutionFailed,
    ExecutionState,
    Running,
    Succeeded,
    TimedOut,
    Unreadable,
)
from stepwire.tasks.task import Execution, ItemCount
from tests.contracts.step_functions_wire import EXECUTION, READ_TIMEOUT, Wire, refusal
from tests.faults.boundary import without_retry_delays

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


# -------------------------------------------------------------------------------------------------------------- quotas

LOOKS: dict[str, Callable[[StepFunctionsWorkflows], object]] = {
    "describe": lambda workflows: workflows.describe(EXECUTION),
    "history": lambda workflows: workflows.current_state(EXECUTION),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=list(LOOKS))
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        *((refusal(code), WorkflowsThrottled) for code in sorted(THROTTLED)),
        (refusal("AccessDeniedException"), WorkflowsUnavailable),
        (refusal("InternalFailure", 500), WorkflowsUnavailable),
        (READ_TIMEOUT, WorkflowsUnavailable),
    ],
)
def test_a_throttled_read_differs_from_a_failed_one(
    look: Callable[[StepFunctionsWorkflows], object], answer: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        look(Wire([answer]).workflows())


@pytest.mark.parametrize("look", LOOKS.values(), ids=list(LOOKS))
def test_the_sdk_does_not_retry_a_throttled_read(
    look: Callable[[StepFunctionsWorkflows], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A6: a retry would use more of the exhausted quota, and delay the poll."""
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
    """B9: two attempts of 1 + 3 seconds without an answer; or two refusals, pauses of 1 and 2 seconds, and one such."""
    config: Any = real_client(monkeypatch).meta.config
    silence = config.connect_timeout + config.read_timeout

    longest = max(2 * silence + 1, 1 + 2 + silence)

    assert (config.retries["total_max_attempts"], config.read_timeout) == (3, 3)
    assert longest <= TIME_TO_ANSWER.total_seconds()
    assert 3 * longest < 29


REFUSED = refusal("ThrottlingException")
STARTED = (200, {"executionArn": EXECUTION.name, "startDate": 0})


@pytest.mark.parametrize(
    ("answers", "attempts"),
    [
        ([REFUSED, REFUSED, STARTED], 3),
        ([refusal("InternalFailure", 500), REFUSED, STARTED], 3),
        ([READ_TIMEOUT, STARTED], 2),
        ([READ_TIMEOUT, READ_TIMEOUT, STARTED], 2),
        ([READ_TIMEOUT, REFUSED, STARTED], 2),
        ([REFUSED, READ_TIMEOUT, STARTED], 2),
        ([REFUSED, REFUSED, REFUSED, STARTED], 3),
    ],
)
def test_a_refused_call_is_tried_three_times_and_one_without_an_answer_twice(
    monkeypatch: pytest.MonkeyPatch, answers: list[Any], attempts: int
) -> None:
    wire = Wire([*answers])
    client = real_client(monkeypatch)
    client.meta.events.register_first("before-send.sfn", cast(Any, wire))

    with without_retry_delays(), suppress(StartUnclear):
        StepFunctionsWorkflows(lambda: client).start(EXECUTION, "{}")

    assert len(wire.asked) == attempts


def real_client(monkeypatch: pytest.MonkeyPatch) -> SFNClient:
    """Return the client that function mcp uses."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    return step_functions_client()


# ------------------------------------------------------------------------------------------------------------- history


def entered(name: str) -> dict[str, Any]:
    """Return the history event of entering a state."""
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
    passed = tuple(
        one["stateEnteredEventDetails"]["name"] for one in reversed(events) if "stateEnteredEventDetails" in one
    )

    assert wire.workflows().current_state(EXECUTION) == (state and StateEntered(state, passed=passed))


MAP_RUN = "arn:aws:states:eu-central-1:123456789012:mapRun:Example/Label:b2a1"
COUNTS = {
    **dict.fromkeys(("pending", "running", "resultsWritten"), 5),
    "succeeded": 30,
    "failed": 2,
    "timedOut": 1,
    "aborted": 1,
    "total": 100,
}


def begun() -> dict[str, Any]:
    return {**happened("MapRunStarted"), "mapRunStartedEventDetails": {"mapRunArn": MAP_RUN}}


def described() -> tuple[int, dict[str, Any]]:
    counts = {"itemCounts": COUNTS, "executionCounts": COUNTS}
    limits = {"maxConcurrency": 0, "toleratedFailurePercentage": 0, "toleratedFailureCount": 0}
    times = {"startDate": 1785585600.0, "status": "RUNNING"}
    return 200, {"mapRunArn": MAP_RUN, "executionArn": "arn", **counts, **limits, **times}


def test_the_items_of_a_distributed_map_are_counted() -> None:
    wire = Wire([(200, {"events": [begun(), entered("Convert")]}), described()])

    assert wire.workflows().current_state(EXECUTION) == StateEntered("Convert", ItemCount(34, 100, 4), ("Convert",))
    assert wire.asked[1] == {"mapRunArn": MAP_RUN}


@pytest.mark.parametrize("end", ["MapRunSucceeded", "MapRunFailed", "MapRunAborted"])
def test_a_distributed_map_that_has_ended_is_not_asked_about(end: str) -> None:
    wire = Wire([(200, {"events": [entered("Next"), happened(end), begun(), entered("Convert")]})])

    assert wire.workflows().current_state(EXECUTION) == StateEntered("Next", passed=("Convert", "Next"))
    assert len(wire.asked) == 1


@pytest.mark.parametrize("answer", [refusal("AccessDeniedException"), refusal("ResourceNotFound")])
def test_a_state_is_named_though_its_items_cannot_be_counted(answer: Any) -> None:
    wire = Wire([(200, {"events": [begun(), entered("Convert")]}), answer])

    assert wire.workflows().current_state(EXECUTION) == StateEntered("Convert", passed=("Convert",))


def test_only_the_newest_events_are_read_without_data() -> None:
    """X26: the server reads no data that the caller may not see."""
    wire = Wire([(200, {"events": []})])

    wire.workflows().current_state(EXECUTION)

    (asked,) = wire.asked
    assert asked == {
        "executionArn": execution_arn_of(EXECUTION),
        "reverseOrder": True,
        "maxResults": 25,
        "includeExecutionData": False,
    }


# ------------------------------------------------------------------------------------------------------ waiting states


@pytest.mark.parametrize("code", ["TaskTimedOut", "TaskDoesNotExist", "InvalidToken"])
def test_a_state_that_no_longer_waits_is_no_error(code: str) -> None:
    Wire([refusal(code)]).workflows().complete_callback("token", "{}")
    Wire([refusal(code)]).workflows().fail_callback("token", "Some.Error", "why")


@pytest.mark.parametrize("answer", [refusal("InvalidOutput"), refusal("ThrottlingException"), READ_TIMEOUT])
def test_any_other_error_leaves_a_state_waiting(answer: Any) -> None:
    """X8: the answer is stored, and the next reader delivers it."""
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


# ---------------------------------------------------------------------------------------------------------------- keys


def metadata(status: str) -> tuple[int, dict[str, Any]]:
    """Return the description of an execution without its data."""
    return 200, {"executionArn": execution_arn_of(EXECUTION), "status": status, "startDate": 1785585600.0}


@pytest.mark.parametrize("code", ["KmsAccessDeniedException", "KmsInvalidStateException"])
@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("RUNNING", Running()),
        ("SUCCEEDED", Unreadable()),
        ("TIMED_OUT", TimedOut()),
        ("ABORTED", Aborted()),
    ],
)
def test_a_denied_key_hides_an_output_and_not_an_end_and_its_operator_hears_of_it(
    code: str, status: str, state: ExecutionState
) -> None:
    wire, heard = Wire([refusal(code), metadata(status)]), list[Exception]()
    workflows = replace(wire.workflows(), report=heard.append)

    assert workflows.describe(EXECUTION) == state
    assert wire.asked[1] == {**wire.asked[0], "includedData": "METADATA_ONLY"}
    assert [type(one) for one in heard] == [KeyDenied]


def test_a_denied_key_hides_an_error_in_words_and_a_history() -> None:
    state = Wire([refusal("KmsAccessDeniedException"), metadata("FAILED")]).workflows().describe(EXECUTION)

    assert isinstance(state, ExecutionFailed)
    assert "may not use the key of its state machine" in state.cause
    with pytest.raises(KeyDenied):
        Wire([refusal("KmsAccessDeniedException")]).workflows().current_state(EXECUTION)
