"""A function gets a task token and answers it before or after it returns; the execution continues as in AWS."""

import json
from typing import Any

import pytest
from moto.stepfunctions.parser.asl.eval.callback.callback import HeartbeatEndpoint

from packages.local.tests.proving import PASS, proof
from packages.local.tests.simulated import Account, Answerer
from tests.waiting import until

# Why long: they prove that moto needs its patches, which only a change of moto or of a patch can change.
pytestmark = pytest.mark.long

JSONATA = {"QueryLanguage": "JSONata"}
CAUGHT = {"Type": "Wait", "Seconds": 1}
TIMED_OUT = ["States.Timeout"]


@pytest.fixture
def answerer(account: Account) -> Answerer:
    return Answerer(account)


def caught(*names: str) -> list[dict[str, Any]]:
    return [{"ErrorEquals": list(names), "Output": "{% $states.errorOutput %}", "Next": "S1"}]


def one(state: dict[str, Any]) -> dict[str, Any]:
    return {"StartAt": "Ask", "States": {"Ask": {**state, "End": True}}}


def output(account: Account, execution: str) -> Any:
    described = account.ended(execution)
    assert described["status"] == "SUCCEEDED", described
    return json.loads(described["output"])


def test_an_answer_before_the_function_returns_is_the_result(account: Account, answerer: Answerer) -> None:
    execution = account.start(
        account.machine(answerer.state({"succeed": {"answer": 42}}, Output="{% $states.result %}"))
    )

    assert output(account, execution) == {"answer": 42}
    (given,) = answerer.given()
    assert given["execution"] == execution


def test_an_answer_does_not_wait_for_another(account: Account, answerer: Answerer, impatient_threads: None) -> None:
    machine = account.machine(answerer.state({"succeed": "{% $states.input %}"}))

    executions = [account.start(machine, number) for number in range(20)]

    assert [output(account, execution) for execution in executions] == list(range(20))


def test_a_refusal_before_the_function_returns_can_be_caught(account: Account, answerer: Answerer) -> None:
    asking = answerer.state({"fail": "Stepwire.InputNotSupported"}, Catch=caught("Stepwire.InputNotSupported"))
    execution = account.start(account.machine(asking, CAUGHT))

    assert output(account, execution) == {"Error": "Stepwire.InputNotSupported", "Cause": "the function says so"}


@pytest.mark.parametrize("how", ["parallel", "map"])
def test_each_branch_has_its_own_token(account: Account, answerer: Answerer, how: str) -> None:
    branches = [one(answerer.state({"succeed": number})) for number in range(4)]
    item = one(answerer.state({"succeed": "{% $states.input %}"}))
    around: dict[str, dict[str, Any]] = {
        "parallel": {"Type": "Parallel", "Branches": branches},
        "map": {"Type": "Map", "Items": [0, 1, 2, 3], "ItemProcessor": item},
    }
    execution = account.start(account.machine(around[how], **JSONATA))

    assert output(account, execution) == [0, 1, 2, 3]
    given = answerer.given(4)
    assert len({event["token"] for event in given}) == 4
    assert {event["execution"] for event in given} == {execution}


@pytest.mark.parametrize("how", ["parallel", "map"])
def test_a_branch_is_answered_from_outside(account: Account, answerer: Answerer, how: str) -> None:
    branches = [one(answerer.state({"number": number})) for number in (7, 8)]
    item = one(answerer.state({"number": "{% $states.input %}"}))
    around: dict[str, dict[str, Any]] = {
        "parallel": {"Type": "Parallel", "Branches": branches},
        "map": {"Type": "Map", "Items": [7, 8], "ItemProcessor": item},
    }
    execution = account.start(account.machine(around[how], **JSONATA))

    for event in answerer.given(2):
        account.workflows.send_task_success(taskToken=event["token"], output=json.dumps({"of": event["number"]}))

    assert output(account, execution) == [{"of": 7}, {"of": 8}]


@proof("errors_of_branches_keep_their_names")
def test_a_time_limit_in_a_branch_can_be_caught_around_it(account: Account) -> None:
    answerer = Answerer(account)
    # The other branch only passes: an answer to it would race against the time limit, and be refused after it.
    branches = [one(answerer.state({}, TimeoutSeconds=1)), one(PASS)]
    around = {"Type": "Parallel", "Branches": branches, "Catch": caught(*TIMED_OUT)}
    execution = account.start(account.machine(around, CAUGHT, **JSONATA))

    assert output(account, execution)["Error"] == "States.Timeout"


def test_a_time_limit_of_an_item_can_be_caught_around_it(account: Account, answerer: Answerer) -> None:
    item = one(answerer.state({}, TimeoutSeconds=1))
    around = {"Type": "Map", "Items": [1, 2], "ItemProcessor": item, "Catch": caught(*TIMED_OUT)}
    execution = account.start(account.machine(around, CAUGHT, **JSONATA))

    assert output(account, execution)["Error"] == "States.Timeout"


def test_an_answer_after_the_time_limit_is_refused(account: Account, answerer: Answerer) -> None:
    asking = answerer.state({}, TimeoutSeconds=1, Catch=caught(*TIMED_OUT))
    execution = account.start(account.machine(asking, CAUGHT, **JSONATA))
    (given,) = answerer.given()
    until(lambda: entered(account, execution, "WaitStateEntered"))

    with pytest.raises(account.workflows.exceptions.TaskTimedOut):
        account.workflows.send_task_success(taskToken=given["token"], output="1")

    assert output(account, execution)["Error"] == "States.Timeout"


def test_a_time_limit_counts_from_the_start_of_the_task(account: Account, answerer: Answerer) -> None:
    asking = answerer.state({"seconds": 0.8}, TimeoutSeconds=1, Catch=caught(*TIMED_OUT))
    execution = account.start(account.machine(asking, CAUGHT, **JSONATA))
    (given,) = answerer.given()
    until(lambda: entered(account, execution, "WaitStateEntered"))

    with pytest.raises(account.workflows.exceptions.TaskTimedOut):
        account.workflows.send_task_success(taskToken=given["token"], output="1")


@proof("tokens_live_for_one_attempt")
def test_a_retry_has_its_own_token(account: Account) -> None:
    answerer = Answerer(account)
    again = [{"ErrorEquals": ["Again"], "IntervalSeconds": 1, "MaxAttempts": 1}]
    execution = account.start(account.machine(answerer.state({}, Retry=again)))

    (first,) = answerer.given()
    account.workflows.send_task_failure(taskToken=first["token"], error="Again")
    (second,) = answerer.given()
    assert first["token"] != second["token"]
    account.workflows.send_task_success(taskToken=second["token"], output='"at last"')

    assert output(account, execution) == "at last"


@proof("early_answers_end_the_wait")
def test_an_early_answer_counts_in_a_task_with_heartbeats(account: Account, request: pytest.FixtureRequest) -> None:
    answerer = Answerer(account)
    seconds = 1 if request.node.callspec.params["account"] else 600  # without the patch the wait ends with its limit
    execution = account.start(account.machine(answerer.state({"succeed": 1}, HeartbeatSeconds=seconds)))

    assert output(account, execution) == 1


def test_heartbeats_keep_a_task_alive(account: Account, answerer: Answerer, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[int] = []
    wait: Any = HeartbeatEndpoint.clear_and_wait

    def counted(self: Any) -> bool:
        waits.append(self._heartbeat_seconds)
        return wait(self)

    monkeypatch.setattr(HeartbeatEndpoint, "clear_and_wait", counted)
    execution = account.start(account.machine(answerer.state({}, HeartbeatSeconds=600)))
    (given,) = answerer.given()

    def beat() -> bool:
        account.workflows.send_task_heartbeat(taskToken=given["token"])
        return len(waits) > 3  # each heartbeat restarts the time limit

    until(beat)
    account.workflows.send_task_success(taskToken=given["token"], output='"well"')

    assert output(account, execution) == "well"


def test_a_missed_heartbeat_is_a_timeout(account: Account, answerer: Answerer) -> None:
    asking = answerer.state({}, HeartbeatSeconds=1, Catch=caught(*TIMED_OUT))
    execution = account.start(account.machine(asking, CAUGHT, **JSONATA))
    (given,) = answerer.given()
    until(lambda: entered(account, execution, "WaitStateEntered"))

    with pytest.raises(account.workflows.exceptions.TaskTimedOut):
        account.workflows.send_task_heartbeat(taskToken=given["token"])

    assert output(account, execution)["Error"] == "States.Timeout"


@pytest.mark.parametrize("how", ["alone", "parallel", "map"])
def test_no_token_is_valid_after_a_stop(account: Account, answerer: Answerer, how: str) -> None:
    asking = answerer.state({})
    states: dict[str, dict[str, Any]] = {
        "alone": asking,
        "parallel": {"Type": "Parallel", "Branches": [one(asking)]},
        "map": {"Type": "Map", "Items": [1], "ItemProcessor": one(asking)},
    }
    execution = account.start(account.machine(states[how], **JSONATA))
    (given,) = answerer.given()
    account.workflows.stop_execution(executionArn=execution)

    with pytest.raises(account.workflows.exceptions.TaskTimedOut):
        account.workflows.send_task_success(taskToken=given["token"], output="1")

    assert account.describe(execution)["status"] == "ABORTED"


def test_no_token_is_valid_after_another_branch_has_failed(account: Account, answerer: Answerer) -> None:
    branches = [one(answerer.state({"name": "left"})), one(answerer.state({"name": "right"}))]
    around = {"Type": "Parallel", "Branches": branches, "Catch": caught("Enough")}
    execution = account.start(account.machine(around, CAUGHT, **JSONATA))
    left, right = answerer.given(2)
    account.workflows.send_task_failure(taskToken=left["token"], error="Enough")
    until(lambda: entered(account, execution, "WaitStateEntered"))

    with pytest.raises(account.workflows.exceptions.TaskTimedOut):
        account.workflows.send_task_success(taskToken=right["token"], output="1")


def entered(account: Account, execution: str, kind: str) -> bool:
    history = account.workflows.get_execution_history(executionArn=execution, includeExecutionData=False)
    return any(event["type"] == kind for event in history["events"])
