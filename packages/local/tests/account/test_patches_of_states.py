"""What states compute and the errors with which they fail are as in AWS, thanks to the patches of moto."""

import json
import re
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from packages.local.tests.proving import PASS, proof
from packages.local.tests.simulated import Account, Answerer

# Why long: they prove that moto needs its patches, which only a change of moto or of a patch can change.
pytestmark = pytest.mark.long

JSONATA = {"QueryLanguage": "JSONata"}
GIVEN = {"prices": [3, 7, 9], "name": "Ann", "template": '{"name": "{}"}'}
SET = {"Type": "Pass", "Assign": {"order": {"none": None}}, "Next": "Choose"}


def ended(account: Account, *states: dict[str, Any], **settings: Any) -> Any:
    """Return how an execution of these states ends."""
    return account.ended(account.start(account.machine(*states, **settings), GIVEN))


def computed(account: Account, function: str) -> Any:
    """Return the result of an intrinsic function."""
    described = ended(account, {**PASS, "Parameters": {"result.$": function}})
    assert described["status"] == "SUCCEEDED", described
    return json.loads(described["output"])["result"]


@proof("expressions_may_name_their_context")
def test_an_expression_names_the_item_of_a_filter(account: Account) -> None:
    described = ended(account, {**PASS, "Output": "{% $states.input.prices[$ > 5] %}"}, **JSONATA)

    assert json.loads(described["output"]) == [7, 9]


@pytest.mark.parametrize("expression", ["$.name", "$$.name", "$eval('1')"])
def test_an_expression_has_no_input_at_its_top_and_evaluates_no_text(account: Account, expression: str) -> None:
    described = ended(account, {**PASS, "Output": f"{{% {expression} %}}"}, **JSONATA)

    assert (described["status"], described["error"]) == ("FAILED", "States.QueryEvaluationError")


@proof("texts_may_have_quotes")
def test_a_text_of_an_intrinsic_function_has_quotes_braces_and_backslashes(account: Account) -> None:
    results = [
        computed(account, r"States.Format('it\'s \{{}\} \\ {}', $.name, 1)"),
        computed(account, r"States.StringSplit('it\'s', '\'')"),
        computed(account, r"States.Array('\{', States.Format('\{\}'))"),
        computed(account, "States.Format($.template, $.name)"),
    ]

    assert results == ["it's {Ann} \\ 1", ["it", "s"], ["{", "{}"], '{"name": "Ann"}']


@proof("choices_fail_with_their_errors")
def test_a_choice_that_matches_no_rule_ends_the_execution(account: Account) -> None:
    described = uncaught(account, {"Variable": "$.name", "StringEquals": "Bob"})

    assert (described["status"], described["error"]) == ("FAILED", "States.Runtime")
    assert described["cause"].endswith(
        "Failed to transition out of the state. The state does not point to a next state."
    )


def uncaught(account: Account, rule: dict[str, Any]) -> Any:
    """Return how an execution ends that catches all errors of a branch whose Choice has this rule and no default."""
    choices = [{**rule, "Next": "End"}]
    states = {"Set": SET, "Choose": {"Type": "Choice", "Choices": choices}, "End": {"Type": "Succeed"}}
    both = {
        "Type": "Parallel",
        "Branches": [{"StartAt": "Set", "States": states}],
        "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Caught"}],
        "End": True,
    }
    caught = {"Type": "Succeed"}
    return account.ended(account.start(account.machine_of({"Both": both, "Caught": caught}), GIVEN))


def test_a_condition_that_is_neither_true_nor_false_fails(account: Account) -> None:
    choices = [{"Condition": "{% $states.input.name %}", "Next": "End"}]
    states = {"Choose": {"Type": "Choice", "Choices": choices}, "End": {"Type": "Succeed"}}

    described = account.ended(account.start(account.machine_of(states, **JSONATA), GIVEN))

    assert (described["status"], described["error"]) == ("FAILED", "States.QueryEvaluationError")


def chosen(account: Account, *rules: dict[str, Any]) -> Any:
    """Return how an execution ends whose Choice succeeds by a rule and fails by default."""
    choices = [{**rule, "Next": "Yes"} for rule in rules]
    states = {
        "Set": SET,
        "Choose": {"Type": "Choice", "Choices": choices, "Default": "No"},
        "Yes": {"Type": "Succeed"},
        "No": {"Type": "Fail", "Error": "Default"},
    }
    return account.ended(account.start(account.machine_of(states), GIVEN))


@proof("choices_need_their_paths")
@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ({"Variable": "$.force", "BooleanEquals": True}, "$.force"),
        ({"Variable": "$.force", "IsNull": True}, "$.force"),
        ({"Variable": "$.name", "StringEqualsPath": "$.other"}, "$.other"),
        ({"Variable": "$.name", "StringEqualsPath": "$$.Execution.Input.other"}, "$$.Execution.Input.other"),
        ({"Variable": "$order.other", "IsNull": True}, "$order.other"),
        ({"Variable": "$.name", "StringEqualsPath": "$order.other"}, "$order.other"),
    ],
)
def test_a_choice_about_what_is_missing_ends_the_execution(account: Account, rule: dict[str, Any], path: str) -> None:
    described = uncaught(account, rule)

    assert (described["status"], described["error"]) == ("FAILED", "States.Runtime")
    assert described["cause"].endswith(
        f"Invalid path '{path}': The choice state's condition path references an invalid value."
    )


@pytest.mark.parametrize(
    "rule",
    [
        {"Variable": "$.force", "IsPresent": False},
        {"Variable": "$order.other", "IsPresent": False},
        {"And": [{"Variable": "$order.none", "IsPresent": True}, {"Variable": "$order.none", "IsNull": True}]},
        {"Not": {"And": [{"Variable": "$.force", "IsPresent": True}, {"Variable": "$.force", "BooleanEquals": True}]}},
    ],
)
def test_a_choice_asks_whether_something_is_present(account: Account, rule: dict[str, Any]) -> None:
    assert chosen(account, rule)["status"] == "SUCCEEDED"


@proof("times_may_have_fractions_and_offsets")
@pytest.mark.parametrize(
    "rule",
    [
        {"Variable": "$$.Execution.StartTime", "TimestampGreaterThan": "2020-01-01T00:00:00+01:00"},
        {"Variable": "$$.State.EnteredTime", "IsTimestamp": True},
    ],
)
def test_a_choice_compares_times_with_fractions_and_offsets(account: Account, rule: dict[str, Any]) -> None:
    assert chosen(account, rule)["status"] == "SUCCEEDED"


def test_a_state_waits_until_a_time_with_an_offset(account: Account) -> None:
    assert ended(account, {"Type": "Wait", "Timestamp": "2020-01-01T00:00:00.5+01:00"})["status"] == "SUCCEEDED"


def test_a_state_waits_until_a_time_of_utc_wherever_it_runs(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        described = ended(account, {"Type": "Wait", "Timestamp": now})
    finally:
        monkeypatch.undo()
        time.tzset()

    assert described["status"] == "SUCCEEDED", "it would wait some hours for that time of New York"


@proof("intrinsic_functions_fail_with_their_error")
@pytest.mark.parametrize(
    "function",
    ["States.ArrayGetItem($.prices, 3)", "States.Base64Decode('/w==')", "States.Format('{} {}', $.name)"],
)
def test_an_intrinsic_function_fails_with_its_own_error(account: Account, function: str) -> None:
    described = ended(account, {**PASS, "Parameters": {"result.$": function}})

    assert (described["status"], described["error"]) == ("FAILED", "States.IntrinsicFailure")


def test_the_context_has_the_fields_of_aws(account: Account) -> None:
    described = ended(account, {**PASS, "Parameters": {"execution.$": "$$.Execution", "state.$": "$$.State"}})

    told = json.loads(described["output"])
    assert told["execution"]["RedriveCount"] == told["state"]["RetryCount"] == 0
    for moment in (told["execution"]["StartTime"], told["state"]["EnteredTime"]):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", moment)


@proof("missed_heartbeats_have_two_names")
def test_a_missed_heartbeat_is_caught_by_its_own_name(account: Account) -> None:
    asking = Answerer(account).state({}, HeartbeatSeconds=1)
    caught = [{"ErrorEquals": [name], "Next": "Caught"} for name in ("States.HeartbeatTimeout", "States.Timeout")]
    states = {
        "Ask": {**asking, "Catch": [{**caught[0], "Output": "missed"}, {**caught[1], "Output": "late"}], "End": True},
        "Caught": {"Type": "Pass", "End": True},
    }

    described = account.ended(account.start(account.machine_of(states, **JSONATA)))

    assert json.loads(described["output"]) == "missed"
