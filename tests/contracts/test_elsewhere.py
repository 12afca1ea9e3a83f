"""State machines of another account and Region, under a role there, as far as the simulated AWS has accounts."""

import json
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from stepwire.aws.catalog_function import KnownTags, TaggedStateMachines
from stepwire.aws.clients import step_functions_client, step_functions_client_elsewhere, sts_client
from stepwire.aws.elsewhere import ClientsElsewhere, assumed
from stepwire.aws.step_functions import StepFunctionsWorkflows
from stepwire.errors import RoleDenied, StartRefused, StopRefused
from stepwire.manifests.registration import CONSENT
from stepwire.tasks.outcomes import Aborted, Running
from stepwire.tasks.task import Execution
from stepwire_local.account.engine import ACCOUNT
from stepwire_local.account.isolation import REGION
from tests.contracts.test_workflows import MACHINES
from tests.fakes import FixedClock
from tests.kits import state_machine_arn

OTHER, FAR = "222222222222", "eu-west-1"
ROLE = f"arn:aws:iam::{OTHER}:role/stepwire"
NOW = datetime(2026, 8, 1, 12, tzinfo=UTC)
_numbers = count(1)


class Sts:
    """A token service whose credentials last an hour from a moment that the test moves."""

    def __init__(self) -> None:
        self.now, self.asked = NOW, list[tuple[str, str]]()

    def assume(self, role: str, external_id: str) -> Any:
        self.asked.append((role, external_id))
        return {"Credentials": {"Expiration": self.now + timedelta(hours=1), "number": len(self.asked)}}

    def clients(self) -> ClientsElsewhere:
        def build(region: str, credentials: Any) -> Any:
            return (region, credentials["number"])

        return ClientsElsewhere("an id", self.assume, build, lambda: self.now)


def test_a_role_is_assumed_once_with_the_external_id_for_each_region() -> None:
    sts = Sts()
    clients = sts.clients()

    built = [clients.client(region, ROLE) for region in (FAR, FAR, REGION, FAR)]

    assert built == [(FAR, 1), (FAR, 1), (REGION, 2), (FAR, 1)]
    assert sts.asked == [(ROLE, "an id")] * 2


def test_credentials_are_replaced_before_they_expire() -> None:
    sts = Sts()
    clients = sts.clients()
    clients.client(FAR, ROLE)
    sts.now += timedelta(minutes=54)
    clients.client(FAR, ROLE)
    sts.now += timedelta(minutes=1)

    clients.client(FAR, ROLE)

    assert len(sts.asked) == 2


# ----------------------------------------------------------------------------------------------- the simulated account


def elsewhere() -> ClientsElsewhere:
    return ClientsElsewhere(
        "an id", lambda role, external_id: assumed(sts_client(), role, external_id), step_functions_client_elsewhere
    )


def machine_elsewhere(endpoint: str = "") -> str:
    """Make a state machine as its owner in the other account does, and return its ARN."""
    credentials = assumed(sts_client(), f"arn:aws:iam::{OTHER}:role/owner", "owner")["Credentials"]
    states: Any = boto3.client(  # pyright: ignore[reportUnknownMemberType] - not all stubs are there
        "stepfunctions",
        region_name=FAR,
        aws_access_key_id=credentials["AccessKeyId"],
        aws_secret_access_key=credentials["SecretAccessKey"],
        aws_session_token=credentials["SessionToken"],
    )
    made = states.create_state_machine(
        name=f"elsewhere-{next(_numbers)}",
        definition=json.dumps(MACHINES["waits"]),
        roleArn=f"arn:aws:iam::{OTHER}:role/example",
        tags=[{"key": CONSENT, "value": endpoint}],
    )
    return made["stateMachineArn"]


def test_an_execution_elsewhere_is_started_followed_and_stopped_there(aws: None) -> None:
    workflows = StepFunctionsWorkflows(step_functions_client, elsewhere=elsewhere().client)
    execution = Execution(machine_elsewhere(), "a-name", role=ROLE)
    assert f":{FAR}:{OTHER}:" in execution.state_machine_arn

    workflows.start(execution, "{}")
    workflows.start(execution, "{}")

    assert workflows.describe(execution) == Running()
    assert workflows.stop(execution, "the test is over")
    assert workflows.describe(execution) == Aborted()


# L11
@pytest.mark.parametrize(("function", "session"), [("prod-McpFunction-1a", "prod-McpFunction-1a"), ("", "stepwire")])
def test_a_session_elsewhere_is_named_after_the_function(function: str, session: str) -> None:
    asked: list[str] = []

    class Sts:
        def assume_role(self, **parameters: str) -> None:
            asked.append(parameters["RoleSessionName"])

    assumed(Sts(), "a role", "an id", function)

    assert asked == [session]


def test_without_the_role_nothing_elsewhere_is_started(aws: None) -> None:
    workflows = StepFunctionsWorkflows(step_functions_client, elsewhere=elsewhere().client)

    with pytest.raises(StartRefused):
        workflows.start(Execution(machine_elsewhere(), "a-name"), "{}")


def test_a_function_that_runs_nothing_elsewhere_says_so() -> None:
    with pytest.raises(StartRefused, match="runs no state machines in eu-central-1 by a role"):
        StepFunctionsWorkflows(step_functions_client).start(Execution(state_machine_arn("A"), "a", role=ROLE), "{}")


def test_consent_and_examination_are_those_of_the_other_account(aws: None) -> None:
    machines = TaggedStateMachines(
        "mine",
        ("arn:*",),
        lambda: None,
        step_functions_client,
        KnownTags(FixedClock().now),
        elsewhere=elsewhere().client,
    )
    tagged, foreign = machine_elsewhere("mine"), machine_elsewhere("another")

    assert machines.tags_of(tagged, ROLE) == {CONSENT: "mine"}
    assert machines.tags_of(foreign, ROLE)[CONSENT] == "another", "a list of names here is no consent elsewhere"
    assert machines.examine(tagged, ROLE).kind.value == "STANDARD"
    assert ACCOUNT not in tagged


@pytest.mark.parametrize("call", ["start", "describe", "stop"])
def test_a_role_that_may_not_be_assumed_is_told_apart(call: str) -> None:
    def denied(_region: str, _role: str) -> Any:
        metadata: Any = {"HTTPStatusCode": 403, "RetryAttempts": 0}
        error: Any = {"Error": {"Code": "AccessDenied", "Message": "AWS's own words"}, "ResponseMetadata": metadata}
        raise ClientError(error, "AssumeRole")

    workflows = StepFunctionsWorkflows(step_functions_client, elsewhere=denied)
    execution = Execution(state_machine_arn("A"), "a", role=ROLE)
    calls: dict[str, Any] = {
        "start": lambda: workflows.start(execution, "{}"),
        "describe": lambda: workflows.describe(execution),
        "stop": lambda: workflows.stop(execution, "why"),
    }
    kinds: dict[str, type[Exception]] = {"start": StartRefused, "describe": RoleDenied, "stop": StopRefused}

    with pytest.raises(kinds[call]) as refused:
        calls[call]()

    assert call == "describe" or "may not assume the role of its state machine" in str(refused.value)
