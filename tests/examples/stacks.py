"""The endpoint and the examples' stack beside it on the local stack, with a bucket to profile from."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import yaml

from stepwire_client import Pace
from stepwire_local import LocalStack
from stepwire_local.cloudformation.template import parse
from stepwire_local.lambdas.environment import machine_variables, separate_function_environments
from stepwire_local.lambdas.functions import Function
from stepwire_local.lambdas.invocations import FunctionSettings
from tests.waiting import until

ROOT: Final = Path(__file__).parents[2]
EXAMPLES: Final = ROOT / "examples" / "template.yaml"
PENGUINS: Final = ROOT / "examples" / "data" / "penguins-raw.csv"
BUCKET: Final = "datasets"
BRISK: Final = Pace(longest=timedelta(seconds=0.1))
"""For clients of a stack with PollsPerSecond=0: they wait less than the manifests ask for."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Execution:
    """The end of an execution."""

    status: str
    output: Json | None
    error: str | None
    cause: str | None
    reports: list[Json]
    """Its progress reports, in order."""


@contextmanager
def stack_with_bucket() -> Generator[LocalStack]:
    """Serve both stacks, and create the bucket."""
    parameters = {"ProfileBucketName": BUCKET, "PollsPerSecond": "0"}
    with LocalStack(ROOT / "stack.yaml", others=[EXAMPLES], parameters=parameters) as stack:
        stack.client("s3").create_bucket(Bucket=BUCKET)
        yield stack


def function_alone(logical_id: str, **variables: str) -> Function:
    """Return a function of the examples that needs nothing of a stack."""
    properties = parse(EXAMPLES)["Resources"][logical_id]["Properties"]
    folder = EXAMPLES.parent / properties["CodeUri"]
    given = {**machine_variables(), **variables}
    separate_function_environments()
    return Function(FunctionSettings(logical_id, "arn", folder, properties["Handler"], timeout=30, variables=given))


def store(stack: LocalStack, key: str, content: bytes) -> str:
    """Put a file into the bucket; return its URI."""
    stack.client("s3").put_object(Bucket=BUCKET, Key=key, Body=content)
    return f"s3://{BUCKET}/{key}"


def manifest_of(tool: str) -> Json:
    """Read the manifest that the stack registers a tool with."""
    resources = parse(EXAMPLES)["Resources"].values()
    texts = [one["Properties"]["Value"]["Fn::Sub"] for one in resources if one["Type"] == "AWS::SSM::Parameter"]
    return next(manifest for manifest in map(yaml.safe_load, texts) if manifest["name"] == tool)


def execute(stack: LocalStack, arguments: Json, machine: str | None = None) -> Execution:
    """Run profile_dataset, or another state machine, to its end."""
    client = stack.client("stepfunctions")
    started = client.start_execution(stateMachineArn=machine or _machine(stack), input=json.dumps(arguments))
    arn = started["executionArn"]
    until(lambda: client.describe_execution(executionArn=arn)["status"] != "RUNNING")
    execution = client.describe_execution(executionArn=arn)
    output = execution.get("output")
    return Execution(
        status=execution["status"],
        output=json.loads(output) if output else None,
        error=execution.get("error"),
        cause=execution.get("cause"),
        reports=_reports(client, arn),
    )


def without_event_bus(stack: LocalStack) -> str:
    """Create a copy of profile_dataset whose reports cannot be sent; return its ARN."""
    client = stack.client("stepfunctions")
    real = client.describe_state_machine(stateMachineArn=_machine(stack))
    definition = real["definition"].replace('"Source": "stepwire"', '"Source": "stepwire", "EventBusName": "nowhere"')
    assert definition != real["definition"]
    made = client.create_state_machine(name="no_audit", definition=definition, roleArn=real["roleArn"])
    return made["stateMachineArn"]


def _reports(client: Any, arn: str) -> list[Json]:
    pages = client.get_paginator("get_execution_history").paginate(executionArn=arn)
    scheduled = [event.get("taskScheduledEventDetails", {}) for page in pages for event in page["events"]]
    put = [json.loads(details["parameters"]) for details in scheduled if details.get("resource") == "putEvents"]
    return [entry["Detail"] for parameters in put for entry in parameters["Entries"]]


def _machine(stack: LocalStack) -> str:
    return stack.physical_ids["ProfileDataset"]
