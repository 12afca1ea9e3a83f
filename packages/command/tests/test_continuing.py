"""`stepwire redrive ID`: what an operator reads, and what is asked of AWS."""

import json
from typing import Any

import pytest

from packages.command.tests.aws import Refusal
from packages.command.tests.operated import ADMIN, ID, NEXT, OWNER, Stepwire, continued
from stepwire_cli.exits import Exit

MADE = {"task_id": NEXT, "status": "working", "is_new": True, "has_begun": True}


def test_a_command_asks_the_function_and_says_which_task_follows(in_account: Stepwire) -> None:
    aws = continued()

    code, out, said = in_account(aws, "redrive", ID)

    assert (code, said) == (Exit.DONE, "")
    assert out == f"The workflow of task {ID} goes on as task {NEXT}. Its caller finds it in the list of tasks.\n"
    (sent,) = [given for operation, given in aws.calls if operation == "Invoke"]
    assert sent == {"alias": "tasks", "command": "redrive", "owner": OWNER, "task_id": ID, "operator": ADMIN}


def test_the_table_is_not_read_where_the_caller_is_known(in_account: Stepwire) -> None:
    aws = continued(GetCallerIdentity=Refusal("AccessDenied"))

    code, out, _ = in_account(aws, "redrive", ID, "--principal", OWNER, "--json")

    assert code == Exit.DONE
    assert json.loads(out) == {"follows": ID, **MADE}
    assert {operation for operation, _ in aws.calls} == {"DescribeStackResource", "GetCallerIdentity", "Invoke"}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({**MADE, "is_new": False}, "An earlier command did this, or the console; that task is working."),
        (
            {**MADE, "is_new": False, "status": "failed"},
            f"that task is failed; to continue that one: stepwire redrive {NEXT}.",
        ),
        ({**MADE, "has_begun": False}, "the next check of the task begins it"),
    ],
    ids=["repeated", "repeated, ended", "not begun"],
)
def test_it_says_how_the_new_task_stands(in_account: Stepwire, answer: Any, words: str) -> None:
    code, out, said = in_account(continued(Invoke={"done": answer}), "redrive", ID)

    assert code == Exit.DONE
    assert words in out + said


@pytest.mark.parametrize(("status", "shown"), [("completed", "completed, with an error"), ("failed", "failed")])
def test_what_step_functions_refused_is_no_success(in_account: Stepwire, status: str, shown: str) -> None:
    answer = {**MADE, "status": status}

    code, out, _ = in_account(continued(Invoke={"done": answer}), "redrive", ID)
    as_json, printed, _ = in_account(continued(Invoke={"done": answer}), "redrive", ID, "--json")

    assert (code, out) == (
        Exit.FAILED,
        f"The workflow of task {ID} was not redriven: task {NEXT}, made for it, has ended at once, as {shown}. "
        f"`stepwire task {NEXT}` says why.\n",
    )
    assert (as_json, json.loads(printed)) == (Exit.FAILED, {"follows": ID, **answer})


@pytest.mark.parametrize(
    ("answers", "code", "words"),
    [
        ({"Invoke": {"refused": "The task has not ended."}}, Exit.FAILED, "error: The task has not ended."),
        ({"Invoke": None}, Exit.FAILED, "deploy the version of the command"),
        ({"Invoke": Refusal("AccessDeniedException", status=403)}, Exit.SIGN_IN, "may not lambda:InvokeFunction"),
        ({"Query": {"Items": [], "ScannedCount": 0}, "Scan": {"Items": [], "ScannedCount": 0}}, Exit.UNKNOWN,
         "there is no task"),
    ],
    ids=["refused", "an earlier version", "not allowed", "no such task"],
)  # fmt: skip
def test_what_cannot_be_done_is_one_line(in_account: Stepwire, answers: Any, code: Exit, words: str) -> None:
    ended, out, said = in_account(continued(**answers), "redrive", ID)

    assert (ended, out) == (code, "")
    assert words in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("words", [("redrive", "nonsense"), ("redrive", ID, "--principal", "olga")])
def test_a_malformed_id_or_principal_asks_nothing_of_the_function(in_account: Stepwire, words: tuple[str, ...]) -> None:
    aws = continued()

    code, _, said = in_account(aws, *words)

    assert code == Exit.USAGE
    assert said.startswith("error: ")
    assert "Invoke" not in {operation for operation, _ in aws.calls}
