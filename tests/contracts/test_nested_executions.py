"""Which execution started another one: the claim in an input counts only if the starter's history confirms it."""

import json
from typing import Any

import pytest

from stepwire.aws.step_functions import execution_arn_of
from stepwire.aws.workflow_events import STARTER, NestedExecutions
from stepwire.errors import StarterUnproven, WorkflowsThrottled, WorkflowsUnavailable
from stepwire.tasks.task import Execution
from tests.contracts.step_functions_wire import READ_TIMEOUT, Wire, refusal
from tests.kits import state_machine_arn

CHILD = Execution(state_machine_arn("Child"), "a-child")
PARENT = Execution(state_machine_arn("Parent"), "a-parent")
CHILD_ARN, PARENT_ARN = execution_arn_of(CHILD), execution_arn_of(PARENT)


def nested(wire: Wire) -> NestedExecutions:
    return NestedExecutions(wire.workflows().build_client)


def described(starter: object = PARENT_ARN, text: str | None = None) -> tuple[int, dict[str, Any]]:
    given = json.dumps({STARTER: starter}) if text is None else text
    return 200, {"executionArn": CHILD_ARN, "status": "RUNNING", "startDate": 1785585600.0, "input": given}


def submitted(arn: str = CHILD_ARN, kind: str = "states") -> dict[str, Any]:
    details = {"resourceType": kind, "resource": "startExecution.sync:2", "output": json.dumps({"ExecutionArn": arn})}
    return {"timestamp": 1785585600.0, "type": "TaskSubmitted", "id": 4, "taskSubmittedEventDetails": details}


def history(*events: dict[str, Any], more: bool = False) -> tuple[int, dict[str, Any]]:
    return 200, {"events": list(events), **({"nextToken": "more"} if more else {})}


def test_a_starter_that_confirms_it_is_found() -> None:
    wire = Wire([described(), history(submitted("another"), submitted())])

    assert nested(wire).starter_of(CHILD) == PARENT
    assert [one["executionArn"] for one in wire.asked] == [CHILD_ARN, PARENT_ARN]


def test_a_start_further_back_is_found() -> None:
    assert nested(Wire([described(), history(more=True), history(submitted())])).starter_of(CHILD) == PARENT


@pytest.mark.parametrize(
    "events",
    [(), (submitted("arn:of:another"),), (submitted(kind="lambda"),)],
    ids=["no start", "of another one", "an output that only looks like one"],
)
def test_a_starter_whose_history_does_not_confirm_it_is_ignored(events: tuple[dict[str, Any], ...]) -> None:
    with pytest.raises(StarterUnproven):
        nested(Wire([described(), history(*events)])).starter_of(CHILD)


def test_a_limited_number_of_pages_is_read() -> None:
    wire = Wire([described(), *[history(more=True)] * 9])

    with pytest.raises(StarterUnproven):
        nested(wire).starter_of(CHILD)
    assert len(wire.asked) == 6


@pytest.mark.parametrize(
    "answer",
    [
        described(text="{}"),
        described(text="no JSON"),
        described(text="[]"),
        described(starter=7),
        described(starter="arn:aws:lambda:eu-central-1:123456789012:function:f"),
        described(starter=PARENT_ARN.replace("123456789012", "999999999999")),
        described(starter=PARENT_ARN.replace("eu-central-1", "us-east-1")),
        described(starter=state_machine_arn("Parent")),
        refusal("ExecutionDoesNotExist"),
        refusal("AccessDeniedException"),
    ],
)
def test_an_execution_that_names_no_starter_has_none(answer: Any) -> None:
    assert nested(Wire([answer])).starter_of(CHILD) is None


def test_an_invalid_execution_arn_makes_no_call() -> None:
    assert nested(Wire([])).starter_of(Execution("", "nonsense")) is None


def test_a_starter_that_may_not_be_read_is_ignored() -> None:
    with pytest.raises(StarterUnproven):
        nested(Wire([described(), refusal("AccessDeniedException")])).starter_of(CHILD)


@pytest.mark.parametrize(
    ("answer", "error"), [(refusal("ThrottlingException"), WorkflowsThrottled), (READ_TIMEOUT, WorkflowsUnavailable)]
)
def test_a_timeout_is_an_error(answer: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        nested(Wire([answer])).starter_of(CHILD)
