"""The account beside an endpoint: what its stacks answer for CloudFormation, and what is refused."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from packages.local.tests.conftest import TEMPLATE
from stepwire_local import LocalStack
from stepwire_local.operating import account_of

NAME = "operated"


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    with LocalStack(TEMPLATE, name=NAME, parameters={"Greeting": "moin <>&"}) as stack:
        yield stack


@pytest.fixture(scope="module")
def cloudformation(stack: LocalStack) -> Iterator[Any]:
    with account_of(stack) as account:
        session: Any = boto3.Session("local", "local", region_name="us-east-1")
        yield session.client("cloudformation", endpoint_url=account)


def test_a_stack_shows_its_outputs_and_parameters(stack: LocalStack, cloudformation: Any) -> None:
    (shown,) = cloudformation.describe_stacks(StackName=NAME)["Stacks"]

    parameters = {one["ParameterKey"]: one["ParameterValue"] for one in shown["Parameters"]}
    outputs = {one["OutputKey"]: one["OutputValue"] for one in shown.get("Outputs", ())}
    assert parameters["Greeting"] == "moin <>&"
    assert outputs == stack.deployments[0].outputs
    assert cloudformation.describe_stacks(StackName=shown["StackId"])["Stacks"] == [shown]


def test_a_resource_is_found_by_its_logical_id(stack: LocalStack, cloudformation: Any) -> None:
    found = cloudformation.describe_stack_resource(StackName=NAME, LogicalResourceId="ApiFunction")

    assert found["StackResourceDetail"]["PhysicalResourceId"] == stack.physical_ids["ApiFunction"]


@pytest.mark.parametrize(
    ("operation", "given", "code", "words"),
    [
        ("describe_stacks", {"StackName": "other"}, "ValidationError", "Stack with id other does not exist"),
        (
            "describe_stack_resource",
            {"StackName": NAME, "LogicalResourceId": "X"},
            "ValidationError",
            "Resource X does not exist",
        ),
        ("get_template", {"StackName": NAME}, "InvalidAction", "GetTemplate is not served here"),
        ("get_template", {"StackName": "other"}, "InvalidAction", "DescribeStacks and DescribeStackResource are"),
    ],
)
def test_what_is_not_there_is_refused_as_on_aws(
    cloudformation: Any, operation: str, given: dict[str, str], code: str, words: str
) -> None:
    with pytest.raises(ClientError, match=words) as refused:
        getattr(cloudformation, operation)(**given)

    assert refused.value.response.get("Error", {}).get("Code") == code


def test_it_takes_a_free_port_where_the_next_one_is_taken(stack: LocalStack) -> None:
    with account_of(stack) as first, account_of(stack) as second:
        assert first != second
