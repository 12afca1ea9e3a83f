"""What became of each state, from the histories of executions on the simulated account."""

from typing import Any

import pytest

from packages.local.tests.console.machines import Json, choice, machine, passing
from packages.local.tests.simulated import Account
from stepwire_local.console.definitions import END, START
from stepwire_local.console.visits import LONGEST, Course, course_of, shortened
from tests.waiting import until

FAIL: Json = {"Type": "Fail", "Error": "Broken", "Cause": "on purpose"}


def ran(account: Account, definition: Json, given: Any = None) -> Course:
    execution = account.start(account.machine_of(definition["States"]), given)
    account.ended(execution)
    return course(account, execution, definition)


def course(account: Account, execution: str, definition: Json) -> Course:
    events = account.workflows.get_execution_history(executionArn=execution, maxResults=1000)["events"]
    stopped = account.describe(execution).get("stopDate")
    return course_of(events, start=definition["StartAt"], ended=stopped.isoformat() if stopped else "")


def statuses(course: Course) -> dict[str, str]:
    return {name: state["status"] for name, state in course.states().items()}


def items(*names: str, **states: Json) -> Json:
    return {"Type": "Map", "ItemsPath": "$.items", "ItemProcessor": machine(names[0], **states), "End": True}


IN_TWO = {"Type": "Parallel", "Branches": [machine("A", A=passing("B"), B=passing()), machine("C", C=passing())]}


@pytest.mark.parametrize(
    ("definition", "seen"),
    [
        (machine("A", A=passing("B"), B=passing()), {"A": "succeeded", "B": "succeeded"}),
        (machine("A", A=passing("B"), B=FAIL), {"A": "succeeded", "B": "failed"}),
        (machine("P", P={**IN_TWO, "Next": "Z"}, Z=passing()), dict.fromkeys("PABCZ", "succeeded")),
        (
            machine("P", P={"Type": "Parallel", "Branches": [machine("A", A=FAIL)], "End": True}),
            {"P": "failed", "A": "failed"},
        ),
        (
            machine(
                "P",
                P={
                    "Type": "Parallel",
                    "Branches": [machine("A", A=FAIL)],
                    "Catch": [{"ErrorEquals": ["Broken"], "Next": "Z"}],
                    "End": True,
                },
                Z=passing(),
            ),
            {"P": "caught", "A": "failed", "Z": "succeeded"},
        ),
    ],
    ids=["passed", "failed", "branches", "a failed branch", "a caught branch"],
)
def test_states_show_what_became_of_them(account: Account, definition: Json, seen: dict[str, str]) -> None:
    assert statuses(ran(account, definition)) == seen


def test_the_ways_that_were_taken_are_known(account: Account) -> None:
    definition = machine("A", A=choice("B", "C", default="D"), B=passing("D"), C=passing("D"), D=passing())

    taken = ran(account, definition, {"n": 1}).taken

    assert taken == {(START, "A"), ("A", "C"), ("C", "D"), ("D", END)}


def test_each_item_of_a_map_is_a_visit_with_its_own_input_and_output(account: Account) -> None:
    definition = machine("M", M=items("A", A=passing("B"), B=passing()))

    found = ran(account, definition, {"items": [1, 2, 3]})

    assert {name: state["visits"] for name, state in found.states().items()} == {"M": 1, "A": 3, "B": 3}
    assert sorted(visit["input"] for visit in found.visits_of("B")) == ["1", "2", "3"]
    assert all(visit["input"] == visit["output"] for visit in found.visits_of("B"))
    assert ("A", "B") in found.taken


def test_an_item_that_fails_fails_the_map(account: Account) -> None:
    definition = machine("M", M=items("A", A=choice("B", default="Bad"), B=passing(), Bad=FAIL))

    found = ran(account, definition, {"items": [{"n": 0}, {"n": 7}]})

    assert statuses(found)["M"] == statuses(found)["Bad"] == "failed"
    assert found.visits_of("Bad")[0]["cause"] == "on purpose"
    assert found.states()["Bad"]["error"] == "Broken"


def test_an_execution_that_waits_says_so_and_one_that_is_stopped_too(account: Account) -> None:
    definition = machine("A", A=passing("W"), W={"Type": "Wait", "Seconds": 600, "End": True})
    execution = account.start(account.machine_of(definition["States"]))
    until(lambda: "W" in statuses(course(account, execution, definition)))

    waiting = statuses(course(account, execution, definition))
    account.workflows.stop_execution(executionArn=execution)
    account.ended(execution)

    assert waiting == {"A": "succeeded", "W": "waiting"}
    assert statuses(course(account, execution, definition)) == {"A": "succeeded", "W": "aborted"}


def test_a_task_that_is_tried_again_counts_its_tries_and_a_caught_one_shows_its_error(account: Account) -> None:
    retry = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 1}]
    task = {
        "Type": "Task",
        "Resource": "arn:aws:states:::sqs:sendMessage",
        "Parameters": {"QueueUrl": "https://sqs.us-east-1.amazonaws.com/123456789012/gone", "MessageBody": "x"},
        "Retry": retry,
        "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Z"}],
        "End": True,
    }

    found = ran(account, machine("T", T=task, Z=passing()))

    assert statuses(found) == {"T": "caught", "Z": "succeeded"}
    assert found.states()["T"]["tries"] == 2
    assert found.visits_of("T")[0]["error"]
    assert ("T", "Z") in found.taken


def test_long_data_are_cut() -> None:
    assert shortened('{"a":1}') == '{\n  "a": 1\n}'
    assert shortened("x" * (LONGEST + 5)).endswith("5 more characters")
