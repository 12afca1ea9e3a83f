"""Paths give what they give in AWS, and the context object can be read everywhere, thanks to the patches of moto."""

import json
import re
from typing import Any

import pytest
from jsonpath_ng.parser import JsonPathParser

from packages.local.tests.proving import calls_of, proof
from packages.local.tests.simulated import Account

# Why long: they prove that moto needs its patches, which only a change of moto or of a patch can change.
pytestmark = pytest.mark.long

DATA = {"a": [{"b": 1, "c": [7]}], "d": {"b": 2}, "detail-type": "x"}


def picked(account: Account, path: str, given: Any = DATA) -> Any:
    """Return what a path gives of an input."""
    state = {"Type": "Pass", "Parameters": {"found.$": path}}
    return json.loads(account.ended(account.start(account.machine(state), given))["output"])["found"]


@proof("definite_paths_give_one_value")
def test_a_path_through_an_index_gives_the_value(account: Account) -> None:
    assert picked(account, "$.a[0].b") == 1


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$.a[0]", {"b": 1, "c": [7]}),
        ("$.a[0].c[0]", 7),
        ("$.a[0].c", [7]),
        ("$['a'][0]['b']", 1),
        ("$.detail-type", "x"),
        ("$.a[*].b", [1]),
        ("$.a[0:1].b", [1]),
        ("$.a[*]", [{"b": 1, "c": [7]}]),
        ("$.a[?(@.b == 1)].b", [1]),
        ("$.a[?(@.b == 9)]", []),
        ("$.nothing[*]", []),
        ("$..c", [[7]]),
    ],
)
def test_a_path_that_can_match_once_gives_a_value_and_any_other_a_list(
    account: Account, path: str, found: object
) -> None:
    assert picked(account, path) == found


@pytest.mark.parametrize("path", ["$.a[5].b", "$.d[0]", "$.nothing"])
def test_a_path_to_nothing_fails(account: Account, path: str) -> None:
    state = {"Type": "Pass", "Parameters": {"found.$": path}}

    described = account.ended(account.start(account.machine(state), DATA))

    assert described["status"] == "FAILED"


@proof("choices_compare_with_the_context")
def test_a_choice_compares_with_the_context(account: Account) -> None:
    rule = {"Variable": "$.count", "NumericLessThanPath": "$$.Execution.Input.limit", "Next": "Below"}
    states = {
        "Choose": {"Type": "Choice", "Choices": [rule], "Default": "Above"},
        "Below": {"Type": "Pass", "End": True},
        "Above": {"Type": "Fail"},
    }

    described = account.ended(account.start(account.machine_of(states), {"count": 1, "limit": 2}))

    assert described["status"] == "SUCCEEDED"


@proof("the_context_tells_of_the_execution")
def test_the_start_of_an_execution_is_text(account: Account) -> None:
    wait = {"Type": "Wait", "TimestampPath": "$$.Execution.StartTime"}

    described = account.ended(account.start(account.machine(wait, {"Type": "Pass", "OutputPath": "$$.Execution"})))

    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", json.loads(described["output"])["StartTime"])


@proof("error_names_may_be_anything")
def test_a_workflow_may_invent_an_error_of_step_functions(account: Account) -> None:
    inner = {"StartAt": "Fail", "States": {"Fail": {"Type": "Fail", "Error": "States.Invented"}}}
    states = {
        "Both": {
            "Type": "Parallel",
            "Branches": [inner],
            "Catch": [{"ErrorEquals": ["States.Invented"], "Next": "Caught"}],
            "End": True,
        },
        "Caught": {"Type": "Pass", "End": True},
    }

    assert account.ended(account.start(account.machine_of(states)))["status"] == "SUCCEEDED"


@proof("paths_are_parsed_once")
def test_the_paths_of_a_state_and_of_an_event_are_parsed_once(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = account.machine({"Type": "Pass", "Result": 1, "ResultPath": "$.b"})
    queue = account.queue()
    account.rule_to(f"arn:aws:sqs:us-east-1:123456789012:{queue.rpartition('/')[2]}", {"source": ["us"]})

    def happen(number: int) -> list[Any]:
        given = {"Source": "us", "DetailType": "it", "Detail": json.dumps({"number": number})}
        account.rules.put_events(Entries=[given])
        (sent,) = account.messages(queue)
        return [json.loads(account.ended(account.start(machine, {"a": number}))["output"]), sent["detail"]]

    first = happen(1)
    parsers = calls_of(JsonPathParser, "__init__", monkeypatch)
    second = happen(2)

    assert [first, second] == [[{"a": number, "b": 1}, {"number": number}] for number in (1, 2)]
    assert parsers == []
