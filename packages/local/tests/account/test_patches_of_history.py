"""The history of an execution is as in AWS: its events have AWS's names, and their data can be left out."""

from typing import Any

import pytest

from packages.local.tests.proving import PASS, WAIT, proof
from packages.local.tests.simulated import Account
from stepwire_local.activity import Activity, heard_by
from tests.waiting import until

# Why long: they prove that moto needs its patches, which only a change of moto or of a patch can change.
pytestmark = pytest.mark.long

ONE_PASS: dict[str, Any] = {"StartAt": "Inner", "States": {"Inner": {"Type": "Pass", "End": True}}}
DATA = {"input", "inputDetails", "output", "outputDetails"}


def history(account: Account, execution: str, **settings: Any) -> list[Any]:
    asked: dict[str, Any] = {"reverseOrder": True, "maxResults": 50, "includeExecutionData": False, **settings}
    return account.workflows.get_execution_history(executionArn=execution, **asked)["events"]


def details(event: dict[str, Any]) -> list[dict[str, Any]]:
    return [value for value in event.values() if isinstance(value, dict)]


@proof("history_can_leave_out_data")
def test_a_history_without_data_has_names_only(account: Account) -> None:
    execution = account.start(account.machine(PASS), {"secret": "of the caller"})
    account.ended(execution)

    events = history(account, execution)

    assert not [name for event in events for detail in details(event) for name in detail if name in DATA]
    assert "secret" not in str(events)
    assert [detail["name"] for event in events for detail in details(event) if "name" in detail] == ["S0", "S0"]


@proof("states_are_told_of")
def test_each_state_and_status_is_told_of(account: Account) -> None:
    told: list[Activity] = []

    with heard_by(told.append):
        execution = account.start(account.machine(PASS, {"Type": "Fail", "Error": "Bad", "Cause": "a reason"}))
        account.ended(execution)
        until(lambda: told[-1].kind == "execution" and len(told) > 1)

    name = execution.rpartition(":")[2]
    assert [(one.kind, one.target, one.about) for one in told] == [
        ("execution", "RUNNING", name),
        ("state", "S0", name),
        ("state", "S1", name),
        ("execution", "FAILED", f"{name} Bad: a reason"),
    ]


def test_a_history_includes_execution_data_by_default(account: Account) -> None:
    execution = account.start(account.machine(PASS), {"a": 1})
    account.ended(execution)

    (started,) = account.workflows.get_execution_history(executionArn=execution, maxResults=1)["events"]

    assert started["executionStartedEventDetails"]["input"] == '{"a": 1}'


def test_entering_each_kind_of_state_has_its_own_event_type(account: Account) -> None:
    function = account.function()
    machine = account.machine(
        PASS,
        {"Type": "Wait", "Seconds": 0},
        {"Type": "Task", "Resource": function.settings.arn},
        {"Type": "Parallel", "Branches": [ONE_PASS]},
        {"Type": "Map", "ItemProcessor": ONE_PASS},
    )
    execution = account.start(machine)
    account.ended(execution)

    entered = [event for event in reversed(history(account, execution)) if event["type"].endswith("StateEntered")]

    assert [(event["type"], event["stateEnteredEventDetails"]["name"]) for event in entered] == [
        ("PassStateEntered", "S0"),
        ("WaitStateEntered", "S1"),
        ("TaskStateEntered", "S2"),
        ("ParallelStateEntered", "S3"),
        ("PassStateEntered", "Inner"),
        ("MapStateEntered", "S4"),
        ("PassStateEntered", "Inner"),
    ]


@pytest.mark.parametrize(
    ("state", "last"),
    [
        ({**PASS, "End": True}, "ExecutionSucceeded"),
        ({"Type": "Fail", "Error": "E"}, "ExecutionFailed"),
        ({**WAIT, "End": True}, "ExecutionTimedOut"),
    ],
)
def test_the_last_event_is_the_end_of_the_execution(account: Account, state: dict[str, Any], last: str) -> None:
    execution = account.start(account.machine_of({"S0": state}, TimeoutSeconds=1))
    account.ended(execution)

    until(lambda: history(account, execution, maxResults=1)[0]["type"] == last)


def test_choice_and_end_states_have_events_too(account: Account) -> None:
    always = {"Variable": "$.a", "IsPresent": True, "Next": "S1"}
    machine = account.machine_of({"S0": {"Type": "Choice", "Choices": [always]}, "S1": {"Type": "Succeed"}})
    execution = account.start(machine, {"a": 1})
    account.ended(execution)

    kinds = [event["type"] for event in history(account, execution, reverseOrder=False)]

    assert [kind for kind in kinds if kind.endswith("Entered")] == ["ChoiceStateEntered", "SucceedStateEntered"]


def test_a_running_execution_has_a_history(account: Account) -> None:
    execution = account.start(account.machine(WAIT))

    newest = until(lambda: [event for event in history(account, execution) if event["type"] == "WaitStateEntered"])

    assert newest[0]["stateEnteredEventDetails"]["name"] == "S0"


def test_an_unknown_execution_has_no_history(account: Account) -> None:
    execution = account.start(account.machine(PASS))
    gone = execution.rpartition(":")[0] + ":gone"

    with pytest.raises(account.workflows.exceptions.ExecutionDoesNotExist):
        history(account, gone)
