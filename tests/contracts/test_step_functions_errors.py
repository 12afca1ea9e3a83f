"""How the adapter translates the errors of calls that start or stop an execution.

The client is botocore's own, with its own retries; the tests replace only the HTTP layer.
"""

from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
)

from stepwire.aws.step_functions import execution_arn_of
from stepwire.errors import (
    StartRefused,
    StartRefusedForNow,
    StartUnclear,
    StopRefused,
    StopThrottled,
)
from tests.contracts.step_functions_wire import EXECUTION, READ_TIMEOUT, Wire, refusal

STARTED = (200, {"executionArn": execution_arn_of(EXECUTION), "startDate": 1785585600.0})
CONNECT_TIMEOUT = ConnectTimeoutError(endpoint_url="https://states.example")
NO_CONNECTION = EndpointConnectionError(endpoint_url="https://states.example")


# --------------------------------------------------------------------------------------------------------------- start


def test_a_start_sends_the_name_and_the_unchanged_input() -> None:
    wire = Wire([STARTED])

    wire.workflows().start(EXECUTION, '{"b": 1,  "a":"\\u00fc"}')

    assert wire.asked == [
        {"stateMachineArn": EXECUTION.state_machine_arn, "name": "a-name", "input": '{"b": 1,  "a":"\\u00fc"}'}
    ]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("StateMachineDoesNotExist", "its state machine no longer exists"),
        ("InvalidArn", "its state machine is in another Region"),
        ("StateMachineDeleting", "its state machine is being deleted"),
        ("InvalidExecutionInput", "Step Functions does not accept the arguments as input"),
        ("ExecutionLimitExceeded", "too many workflows are running; try again later"),
        ("ThrottlingException", "too many workflows are being started; try again in a few seconds"),
        ("AccessDeniedException", "this server may not start its state machine"),
        ("KmsAccessDeniedException", "this server may not use the key of its state machine"),
        ("KmsInvalidStateException", "the key of its state machine is disabled"),
        ("SomethingNew", "Step Functions refused it (SomethingNew)"),
    ],
)
def test_a_refusal_of_the_first_attempt_is_final_and_has_our_message(code: str, reason: str) -> None:
    with pytest.raises(StartRefused) as refused:
        Wire([refusal(code)]).workflows().start(EXECUTION, "{}")

    assert refused.value.reason == reason
    assert isinstance(refused.value, StartRefusedForNow) is (code in {"ThrottlingException", "ExecutionLimitExceeded"})


@pytest.mark.parametrize(
    "error",
    [CONNECT_TIMEOUT, READ_TIMEOUT, NO_CONNECTION, *(refusal("ServiceUnavailable", one) for one in (500, 502, 504))],
)
def test_no_response_and_a_server_error_leave_a_start_unclear(error: Any) -> None:
    with pytest.raises(StartUnclear):
        Wire([error]).workflows().start(EXECUTION, "{}")


def test_a_start_that_cannot_even_be_sent_is_refused() -> None:
    with pytest.raises(StartRefused) as refused:
        Wire([NoCredentialsError()]).workflows().start(EXECUTION, "{}")

    assert refused.value.reason == "this server is not set up to call Step Functions"


@pytest.mark.parametrize("first", [READ_TIMEOUT, refusal("InternalFailure", 500)], ids=["time-out", "server error"])
def test_a_refusal_after_a_retry_leaves_a_start_unclear(first: Any) -> None:
    """The first attempt may have succeeded."""
    wire = Wire([first, refusal("ExecutionLimitExceeded")])

    with pytest.raises(StartUnclear):
        wire.workflows().start(EXECUTION, "{}")

    assert wire.answers == []


def test_a_start_that_a_retry_finds_done_succeeds() -> None:
    wire = Wire([READ_TIMEOUT, refusal("ExecutionAlreadyExists")])

    wire.workflows().start(EXECUTION, "{}")

    assert wire.answers == []


# ---------------------------------------------------------------------------------------------------------------- stop


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("ThrottlingException", StopThrottled),
        ("AccessDeniedException", StopRefused),
        ("KmsAccessDeniedException", StopRefused),
        ("KmsInvalidStateException", StopRefused),
        ("ValidationException", ClientError),
    ],
)
def test_a_failed_stop_raises(code: str, error: type[Exception]) -> None:
    """T23: a task is not cancelled while its execution runs."""
    with pytest.raises(error):
        Wire([refusal(code)]).workflows().stop(EXECUTION, "why")
