"""`stepwire queue`: what an operator reads, and what is asked of AWS."""

import json
from typing import Any

import pytest

from packages.command.tests.operated import ADMIN, ID, OWNER, Stepwire, continued
from stepwire_cli.exits import Exit

LINE = {
    "line": "line#0123",
    "pool": "settle_invoices",
    "running": 5,
    "most": 5,
    "waiting": 12,
    "firstWaitsMs": 240_000,
    "tookMs": 60_000,
    "paused": False,
    "drained": False,
}


def asked(words: tuple[str, ...], answer: Any, in_account: Stepwire) -> tuple[dict[str, Any], str]:
    aws = continued(Invoke={"done": answer})
    code, out, said = in_account(aws, "queue", *words)
    assert (code, said) == (Exit.DONE, "")
    (sent,) = [given for operation, given in aws.calls if operation == "Invoke"]
    return dict(sent), out


def test_the_lines_in_which_somebody_waits_are_listed(in_account: Stepwire) -> None:
    sent, out = asked(
        ("list",), {"lines": [LINE, {**LINE, "pool": "train", "most": None, "paused": True}], "more": 0}, in_account
    )

    assert sent == {"alias": "tasks", "command": "list_lines", "operator": ADMIN}
    assert out == (
        "settle_invoices  line#0123\n  5 of 5 running, 12 waiting, the first for 4 minutes\n"
        "train  line#0123\n  5 running, 12 waiting, the first for 4 minutes; paused\n"
    )


def test_an_endpoint_where_nobody_waits_says_so(in_account: Stepwire) -> None:
    out = asked(("list",), {"lines": [], "more": 0}, in_account)[1]

    assert out == "Nobody waits, and no line is paused or drained.\n"


def test_lines_that_are_not_shown_are_counted(in_account: Stepwire) -> None:
    code, _, said = in_account(continued(Invoke={"done": {"lines": [LINE], "more": 20}}), "queue", "list")

    assert (code, said) == (Exit.DONE, "20 more lines are in use. What is paused or drained is shown first.\n")


@pytest.mark.parametrize("action", ["pause", "drain"])
def test_a_line_may_be_changed_before_the_first_call(in_account: Stepwire, action: str) -> None:
    sent, _ = asked((action, "train", "--before-first-call"), LINE, in_account)

    assert sent == {
        "alias": "tasks", "command": f"{action}_line", "line": "train", "is_new": True, "operator": ADMIN
    }  # fmt: skip


@pytest.mark.parametrize(
    ("position", "words"),
    [
        (1, "next in line. Its caller reads it within a minute."),
        (2, "2nd in line, behind others that were moved. Its caller reads it within a minute."),
    ],
)
def test_a_task_that_was_moved_says_where_it_is(in_account: Stepwire, position: int, words: str) -> None:
    _, out = asked(("front", ID, "--principal", OWNER), {**LINE, "position": position}, in_account)

    assert out.startswith(f"{ID}: {words}\n{LINE['pool']}  ")


@pytest.mark.parametrize("action", ["show", "pause", "resume", "drain"])
def test_a_line_is_shown_and_changed_by_its_name(in_account: Stepwire, action: str) -> None:
    answer = {**LINE, "callers": [{"principal": OWNER, "waiting": 12}]}

    sent, out = asked((action, "settle_invoices"), answer, in_account)

    assert sent == {"alias": "tasks", "command": f"{action}_line", "line": "settle_invoices", "operator": ADMIN}
    assert out.endswith(f"\n        12  {OWNER}\n")


def test_a_task_is_moved_to_the_front(in_account: Stepwire) -> None:
    answer = {**LINE, "position": 1}
    aws = continued(Invoke={"done": answer})

    code, out, _ = in_account(aws, "queue", "front", ID, "--principal", OWNER, "--json")

    (sent,) = [given for operation, given in aws.calls if operation == "Invoke"]
    assert code == Exit.DONE
    assert sent == {
        "alias": "tasks", "command": "move_to_front", "owner": OWNER, "task_id": ID, "operator": ADMIN
    }  # fmt: skip
    assert json.loads(out) == answer


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"refused": "There is no line train."}, "error: There is no line train."),
        (None, "deploy the version of the command"),
    ],
)
def test_what_cannot_be_done_is_one_line(in_account: Stepwire, answer: Any, words: str) -> None:
    code, out, said = in_account(continued(Invoke=answer), "queue", "show", "train")

    assert (code, out) == (Exit.FAILED, "")
    assert words in said
