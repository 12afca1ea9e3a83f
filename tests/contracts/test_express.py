"""Executions of EXPRESS state machines, against canned responses and the simulated account."""

import json
from datetime import timedelta
from itertools import count
from typing import Any

import boto3
import pytest
from botocore.config import Config

from stepwire.aws.clients import step_functions_client, sync_step_functions_client
from stepwire.aws.step_functions import StepFunctionsExpress, StepFunctionsWorkflows
from stepwire.aws.storage.limiter import CallerUsage
from stepwire.aws.storage.table import Table
from stepwire.engine.ports import CallRate
from stepwire.errors import NoEndInTime, StartRefused, StartRefusedForNow, StartUnclear
from stepwire.tasks.limiter import Limits, Refused
from stepwire.tasks.outcomes import ExecutionFailed, Succeeded
from stepwire.tasks.task import Execution
from stepwire_local.account.isolation import REGION
from stepwire_local.iam.clients import aws_client
from tests.contracts.test_step_functions_errors import CONNECT_TIMEOUT, READ_TIMEOUT, Wire, refusal
from tests.contracts.test_workflows import MACHINES
from tests.fake_express import InMemoryCallRate
from tests.fakes import START_OF_TIME, InMemoryTaskStore
from tests.kits import ALICE, BOB, state_machine_arn
from tests.tables import new_table

EXECUTION = Execution(state_machine_arn("Example"), "a-name")
_numbers = count(1)


def on(wire: Wire) -> StepFunctionsExpress:
    def client() -> Any:
        made = boto3.client(  # pyright: ignore[reportUnknownMemberType] - not all stubs are there
            "stepfunctions",
            region_name="eu-central-1",
            aws_access_key_id="nobody",
            aws_secret_access_key="nothing",
            config=Config(retries={"total_max_attempts": 1}),
        )
        events: Any = made.meta.events
        events.register_first("before-send.stepfunctions", wire)
        return made

    return StepFunctionsExpress(client)


@pytest.mark.parametrize(
    ("answer", "error", "reason"),
    [
        (refusal("StateMachineDoesNotExist"), StartRefused, "no longer exists"),
        (refusal("StateMachineTypeNotSupported"), StartRefused, "of another type than when the tool was registered"),
        (refusal("AccessDeniedException"), StartRefused, "this server may not start its state machine"),
        (refusal("ThrottlingException"), StartRefusedForNow, "in a few seconds"),
        (CONNECT_TIMEOUT, StartRefused, "could not be reached"),
    ],
)
def test_a_refusal_is_final(answer: Any, error: type[StartRefused], reason: str) -> None:
    with pytest.raises(StartRefused, match=reason) as refused:
        on(Wire([answer])).run(EXECUTION, "{}")

    assert type(refused.value) is error


@pytest.mark.parametrize("answer", [READ_TIMEOUT, refusal("InternalFailure", 500)], ids=["time-out", "server error"])
def test_after_a_timeout_the_outcome_is_unclear_and_there_is_no_retry(answer: Any) -> None:
    wire = Wire([answer, answer])

    with pytest.raises(StartUnclear) as silence:
        on(wire).run(EXECUTION, "{}")

    assert len(wire.asked) == 1
    assert isinstance(silence.value, NoEndInTime) is (answer is READ_TIMEOUT)


def test_the_client_waits_for_the_given_time_and_sends_one_request_to_the_endpoint_if_one_is_set(
    aws: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")

    config: Any = sync_step_functions_client(timedelta(seconds=15)).meta.config

    assert (config.read_timeout, config.retries["total_max_attempts"], config.inject_host_prefix) == (15, 1, False)


# --------------------------------------------------------------------------------------------- the simulated account


def machine(kind: str) -> str:
    made = aws_client("stepfunctions", REGION).create_state_machine(
        name=f"express-{next(_numbers)}",
        definition=json.dumps(MACHINES[kind]),
        roleArn="arn:aws:iam::123456789012:role/example",
        type="EXPRESS",
    )
    return made["stateMachineArn"]


def express(seconds: float = 10) -> StepFunctionsExpress:
    return StepFunctionsExpress(lambda: sync_step_functions_client(timedelta(seconds=seconds)))


def test_the_response_contains_the_end_of_the_execution(aws: None) -> None:
    assert express().run(Execution(machine("echoes"), "a"), '{"a": 1}') == Succeeded('{"a":1}')
    assert express().run(Execution(machine("fails"), "a"), "{}") == ExecutionFailed("Example.Broken", "on purpose")


def test_executions_with_one_name_run_separately(aws: None) -> None:
    once = Execution(machine("echoes"), "a")

    assert [express().run(once, text) for text in ("1", "2")] == [Succeeded("1"), Succeeded("2")]


def test_the_wait_ends_before_the_execution_does(aws: None) -> None:
    with pytest.raises(StartUnclear):
        express(0.05).run(Execution(machine("waits"), "a"), "{}")


def test_a_standard_state_machine_is_refused(aws: None) -> None:
    made = aws_client("stepfunctions", REGION).create_state_machine(
        name=f"standard-{next(_numbers)}",
        definition=json.dumps(MACHINES["echoes"]),
        roleArn="arn:aws:iam::123456789012:role/example",
    )

    with pytest.raises(StartRefused, match="of another type"):
        express().run(Execution(made["stateMachineArn"], "a"), "{}")


def test_a_task_is_refused_by_a_state_machine_that_has_become_express(aws: None) -> None:
    """No caller could follow it, and each repair would start it again."""
    with pytest.raises(StartRefused, match="is of type EXPRESS now"):
        StepFunctionsWorkflows(step_functions_client).start(Execution(machine("echoes"), "a"), "{}")


# ------------------------------------------------------------------------------------------------------------ the rate


@pytest.fixture(params=["in memory", "on DynamoDB"])
def rate(request: pytest.FixtureRequest, aws: None) -> CallRate:
    if request.param == "in memory":
        return InMemoryCallRate(InMemoryTaskStore())
    from stepwire.aws.clients import dynamodb_client  # noqa: PLC0415 - beside the account that it needs

    return CallerUsage(Table(new_table(), dynamodb_client))


def test_calls_are_counted_up_to_the_rate_of_a_minute(rate: CallRate) -> None:
    limits = Limits(per_minute=3)

    counted = [rate.count(ALICE, limits, START_OF_TIME) for _ in range(4)]

    assert counted == [None, None, None, Refused(timedelta(seconds=20))]
    assert rate.count(BOB, limits, START_OF_TIME) is None
    assert rate.count(ALICE, limits, START_OF_TIME + timedelta(seconds=20)) is None


def test_an_idle_caller_has_the_full_rate_again(rate: CallRate) -> None:
    limits = Limits(per_minute=1)

    assert rate.count(ALICE, limits, START_OF_TIME) is None
    assert rate.count(ALICE, limits, START_OF_TIME + timedelta(hours=1)) is None
    assert isinstance(rate.count(ALICE, limits, START_OF_TIME + timedelta(hours=1)), Refused)
