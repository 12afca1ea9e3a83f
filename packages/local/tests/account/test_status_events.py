"""Status change events: their content, and how a test can lose, repeat, delay and reorder them."""

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from packages.local.tests.conftest import TEMPLATE
from stepwire_local import LocalStack, StatusEvent, after, at_once, never, twice
from tests.waiting import until


@pytest.fixture
def fresh(stack: LocalStack) -> Iterator[LocalStack]:
    table = stack.client("dynamodb")
    for item in table.scan(TableName=stack.outputs["Tasks"])["Items"]:
        table.delete_item(TableName=stack.outputs["Tasks"], Key={"pk": item["pk"]})
    yield stack
    stack.events = at_once


def start(stack: LocalStack, given: Any) -> str:
    machine = stack.outputs["Workflow"]
    started = stack.client("stepfunctions").start_execution(stateMachineArn=machine, input=json.dumps(given))
    return started["executionArn"]


def ended(stack: LocalStack, execution: str) -> Any:
    def look() -> Any:
        described = stack.client("stepfunctions").describe_execution(executionArn=execution)
        return None if described["status"] == "RUNNING" else described

    return until(look)


def arrived(stack: LocalStack, execution: str) -> list[dict[str, Any]]:
    items = stack.client("dynamodb").scan(TableName=stack.outputs["Tasks"])["Items"]
    events = [json.loads(item["event"]["S"]) for item in items]
    return [event for event in events if event["detail"]["executionArn"] == execution]


def statuses(stack: LocalStack, execution: str) -> Counter[str]:
    return Counter(event["detail"]["status"] for event in arrived(stack, execution))


def event_of(stack: LocalStack, execution: str, status: str) -> dict[str, Any]:
    def look() -> Any:
        return next((event for event in arrived(stack, execution) if event["detail"]["status"] == status), None)

    return until(look)


def test_an_event_has_the_fields_that_aws_gives_it(fresh: LocalStack) -> None:
    execution = start(fresh, {"x": 1})
    described = ended(fresh, execution)

    event = event_of(fresh, execution, "SUCCEEDED")

    assert {name: event[name] for name in ("source", "detail-type", "account", "region", "resources")} == {
        "source": "aws.states",
        "detail-type": "Step Functions Execution Status Change",
        "account": "123456789012",
        "region": "us-east-1",
        "resources": [execution],
    }
    assert event["detail"] == {
        "executionArn": execution,
        "stateMachineArn": fresh.outputs["Workflow"],
        "stateMachineVersionArn": None,
        "stateMachineAliasArn": None,
        "name": execution.rpartition(":")[2],
        "status": "SUCCEEDED",
        "startDate": int(described["startDate"].timestamp() * 1000),
        "stopDate": int(described["stopDate"].timestamp() * 1000),
        "input": '{"x": 1}',
        "inputDetails": {"included": True},
        "output": described["output"],
        "outputDetails": {"included": True},
        "error": None,
        "cause": None,
        "redriveCount": 0,
        "redriveDate": None,
        "redriveStatus": "NOT_REDRIVABLE",
        "redriveStatusReason": "Execution is SUCCEEDED and cannot be redriven",
    }


def test_the_event_of_a_running_execution_has_no_stop_date(fresh: LocalStack) -> None:
    execution = start(fresh, {"x": 1})

    detail = event_of(fresh, execution, "RUNNING")["detail"]

    assert (detail["stopDate"], detail["output"], detail["outputDetails"]) == (None, None, None)


def test_the_event_of_a_failed_execution_has_its_error_and_cause(fresh: LocalStack) -> None:
    execution = start(fresh, {"break": "it"})

    detail = event_of(fresh, execution, "FAILED")["detail"]

    assert (detail["error"], detail["output"], detail["redriveStatus"]) == ("KeyError", None, "REDRIVABLE")
    assert json.loads(detail["cause"])["errorMessage"] == "'it'"


def test_a_stopped_execution_is_reported_once(fresh: LocalStack) -> None:
    execution = start(fresh, {"seconds": 600})
    fresh.client("stepfunctions").stop_execution(executionArn=execution, error="Enough", cause="of it")

    detail = event_of(fresh, execution, "ABORTED")["detail"]

    assert (detail["error"], detail["cause"]) == ("Enough", "of it")
    assert statuses(fresh, execution)["ABORTED"] == 1


@pytest.mark.parametrize(
    ("size", "input_included", "output_included"),
    [(100_000, True, True), (130_000, False, True), (254_500, False, False)],
)
def test_data_above_the_size_limit_are_left_out(
    fresh: LocalStack, size: int, input_included: bool, output_included: bool
) -> None:
    execution = start(fresh, {"text": "a" * size})
    described = ended(fresh, execution)
    assert described["status"] == "SUCCEEDED"

    detail = event_of(fresh, execution, "SUCCEEDED")["detail"]

    assert (detail["inputDetails"]["included"], detail["outputDetails"]["included"]) == (
        input_included,
        output_included,
    )
    assert (detail["input"] is not None, detail["output"] is not None) == (input_included, output_included)


def test_events_can_be_lost(fresh: LocalStack) -> None:
    fresh.events = never
    lost = start(fresh, {})
    ended(fresh, lost)

    fresh.events = at_once
    kept = start(fresh, {})
    until(lambda: statuses(fresh, kept)["SUCCEEDED"])

    assert not arrived(fresh, lost)


def test_events_can_be_repeated(fresh: LocalStack) -> None:
    fresh.events = twice

    execution = start(fresh, {})

    until(lambda: statuses(fresh, execution) == {"RUNNING": 2, "SUCCEEDED": 2})


def test_events_can_be_late(fresh: LocalStack) -> None:
    fresh.events = after(0.3)
    begun = time.monotonic()

    execution = start(fresh, {})
    until(lambda: arrived(fresh, execution))

    assert time.monotonic() - begun >= 0.3


def test_events_can_overtake_each_other(fresh: LocalStack) -> None:
    def end_first(event: StatusEvent) -> Iterable[float]:
        return (3600.0,) if event.status == "RUNNING" else (0.0,)

    fresh.events = end_first
    execution = start(fresh, {})
    until(lambda: statuses(fresh, execution)["SUCCEEDED"])

    assert statuses(fresh, execution)["RUNNING"] == 0


def test_each_stack_has_its_own_delivery_of_events() -> None:
    with LocalStack(TEMPLATE, events=never) as silent, LocalStack(TEMPLATE) as usual:
        lost, kept = start(silent, {}), start(usual, {})
        until(lambda: statuses(usual, kept)["SUCCEEDED"])

        assert not arrived(silent, lost)
