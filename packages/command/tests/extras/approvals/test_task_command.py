"""`stepwire task` of a task that approvers decide."""

import json
from collections.abc import Callable
from datetime import datetime

import pytest

from packages.command.tests.extras.approvals.decided import asking_others, decided_by_others
from packages.command.tests.operated import ID, SECRET, TOKEN, Stepwire, account, moment
from packages.command.tests.test_task_command import section
from packages.command.tests.test_timeline import line, logged, seen
from stepwire.tasks.task import Task

Made = Callable[[datetime], Task]


@pytest.mark.parametrize("made", [asking_others, decided_by_others])
def test_what_the_caller_sent_and_received_is_shown_only_with_data(in_account: Stepwire, made: Made) -> None:
    _, plain, _ = in_account(account(made(moment())), "task", ID)
    _, whole, _ = in_account(account(made(moment())), "task", ID, "--data")

    assert SECRET not in plain
    assert SECRET in whole
    assert TOKEN not in plain + whole


@pytest.mark.parametrize(("made", "way"), [(asking_others, "tool"), (decided_by_others, "sign-in")])
def test_who_decided_in_the_caller_s_place_is_said_as_the_audit_names_them(
    in_account: Stepwire, made: Made, way: str
) -> None:
    words = f"approver 9a04e3b1c7d2f650 approved question 1, key approval ({way})"

    _, shown, _ = in_account(account(made(moment())), "task", ID)

    assert any(line.endswith(words) for line in section(shown, "What happened"))
    assert SECRET not in shown


def test_a_task_that_asks_others_says_who_decides_and_where(in_account: Stepwire) -> None:
    _, out, _ = in_account(account(asking_others(moment()), status="RUNNING"), "task", ID, "--json")

    waits = ["finance to decide question 1: a form, key approval, until ", "state Settle"]
    steps = [
        *("Only finance can decide question 1: with approvals_list", "Stop its execution", "List all events"),
        *("See also what the functions logged", "See the caller's"),
    ]
    shown = json.loads(out)
    assert [one[: len(start)] for one, start in zip(shown["waitsFor"], waits, strict=True)] == waits
    assert [one["what"][: len(start)] for one, start in zip(shown["next"], steps, strict=True)] == steps


def test_the_audit_says_in_the_life_of_a_task_who_saw_its_question(in_account: Stepwire) -> None:
    at = moment()

    moments, _ = seen(in_account, account(asking_others(at), **logged(line(at, audit="seen", way="link"))))

    assert [told for source, told in moments if source == "log mcp"] == ["an approver was shown the question (link)"]
