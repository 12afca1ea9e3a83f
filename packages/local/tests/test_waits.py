"""`longest_wait` shortens every wait of a workflow, wherever it is and however it is written."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from packages.local.tests.applications import Application, function, resource, served
from tests.waiting import until

AN_HOUR = 3600
FAR = "2999-01-01T00:00:00Z"
GIVEN = {"seconds": AN_HOUR, "until": FAR, "items": [1, 2, 3]}
FAILS_TWICE = """
calls = []

def handler(event, context):
    calls.append(event)
    if len(calls) % 3:
        raise ValueError("not yet")
    return len(calls)
"""


def wait(**written: Any) -> dict[str, Any]:
    return {"Type": "Wait", **written}


def within(state: dict[str, Any], **settings: Any) -> dict[str, Any]:
    """Return a workflow, or a part of one, of a single state."""
    return {"StartAt": "Only", "States": {"Only": {**state, "End": True}}, **settings}


def retried(**call: Any) -> dict[str, Any]:
    retry = {"ErrorEquals": ["ValueError"], "IntervalSeconds": AN_HOUR, "MaxAttempts": 3, "BackoffRate": 2}
    return {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Retry": [retry], **call}


DISTRIBUTED = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}
NAME = {"FunctionName": {"Ref": "Fails"}}
DEFINITIONS = {
    "Seconds": within(wait(Seconds=AN_HOUR)),
    "SecondsPath": within(wait(SecondsPath="$.seconds")),
    "Timestamp": within(wait(Timestamp=FAR)),
    "TimestampPath": within(wait(TimestampPath="$.until")),
    "SecondsExpression": within(wait(Seconds="{% $states.input.seconds %}"), QueryLanguage="JSONata"),
    "TimestampExpression": within(wait(Timestamp="{% $states.input.until %}"), QueryLanguage="JSONata"),
    "Parallel": within({"Type": "Parallel", "Branches": [within(wait(Seconds=AN_HOUR)), within(wait(Timestamp=FAR))]}),
    "Map": within({"Type": "Map", "ItemsPath": "$.items", "ItemProcessor": within(wait(Seconds=AN_HOUR))}),
    "DistributedMap": within(
        {
            "Type": "Map",
            "Items": "{% $states.input.items %}",
            "ItemProcessor": {**within(wait(Seconds=AN_HOUR)), **DISTRIBUTED},
        },
        QueryLanguage="JSONata",
    ),
    "Retry": within(retried(Parameters=NAME)),
    "RetryOfExpressions": within(retried(Arguments=NAME), QueryLanguage="JSONata"),
    "RetryInAMap": within(
        {"Type": "Map", "ItemsPath": "$.items", "MaxConcurrency": 1, "ItemProcessor": within(retried(Parameters=NAME))}
    ),
}


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    rights = [{"LambdaInvokePolicy": NAME}, {"Statement": {"Effect": "Allow", "Action": "states:*", "Resource": "*"}}]
    machines = {
        name: resource("Serverless::StateMachine", Definition=definition, Policies=rights)
        for name, definition in DEFINITIONS.items()
    }
    express = resource("Serverless::StateMachine", Definition=DEFINITIONS["Seconds"], Type="EXPRESS")
    resources = {"Fails": function("fails"), "Express": express, **machines}
    folder = tmp_path_factory.mktemp("waits")
    with served(folder, resources, {"fails/app.py": FAILS_TWICE}, longest_wait=0.01) as one:
        yield one


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_wait_is_shortened(application: Application, name: str) -> None:
    workflows = application.stack.client("stepfunctions")
    given = {"stateMachineArn": application.stack.physical_ids[name], "input": json.dumps(GIVEN)}

    execution = workflows.start_execution(**given)["executionArn"]
    ended = until(lambda: (one := workflows.describe_execution(executionArn=execution))["status"] != "RUNNING" and one)

    assert ended["status"] == "SUCCEEDED", ended


def test_one_of_an_express_workflow_is_shortened_too(application: Application) -> None:
    workflows = application.stack.client("stepfunctions")

    ended = workflows.start_sync_execution(stateMachineArn=application.stack.physical_ids["Express"])

    assert ended["status"] == "SUCCEEDED"
