"""For tests/model/test_finding.py: what goes wrong if a part of what decides questions to others is left out."""

from typing import Final

from stepwire.aws.storage import task_store
from stepwire.engine import recorder
from stepwire.engine.upkeep import Upkeep
from stepwire.extras.approvals import service as approvals
from stepwire.extras.approvals.rules import Approver
from stepwire.principal import Principal
from stepwire.tasks import lifecycle
from stepwire.tasks.answers import Audience
from stepwire.tasks.task import Task
from tests.extras.approvals.deciding import ANN, EVE
from tests.extras.approvals.moves import meddle, open_form, vote
from tests.kits import ALICE, BOB
from tests.model.defect import Defect, always, left_out
from tests.model.machine import Machine


def _as_it_was(task: Task, _at: object) -> Task:
    return task


def _never_reminded(_upkeep: Upkeep, task: Task) -> Task:
    return task


def _ask_others(machine: Machine, tool: str = "approved", *, limited: bool = False) -> None:
    machine.call("modern", tool, None, 0)
    machine.finish(0)
    machine.ask(0, limited=limited)
    machine.finish(0)


def _have_somebody_asked(machine: Machine, person: Principal) -> None:
    open_form(machine, person, 0)
    machine.finish(0)


def _decide(machine: Machine, how: str = "right") -> None:
    vote(machine, 0, how)
    machine.finish(0)


def _let_the_caller_try(machine: Machine) -> None:
    _ask_others(machine)
    _have_somebody_asked(machine, ALICE)
    meddle(machine, 0, number=False)
    machine.finish(0)


def _let_somebody_else_try(machine: Machine) -> None:
    _ask_others(machine)
    _have_somebody_asked(machine, EVE)


def _approve_twice_at_once(machine: Machine) -> None:
    _ask_others(machine, "approved_by_two")
    _have_somebody_asked(machine, ANN)
    _send_at_once(machine, "right", "right")


def _approve_and_refuse_at_once(machine: Machine) -> None:
    _ask_others(machine)
    for person in (ANN, BOB):
        _have_somebody_asked(machine, person)
    _send_at_once(machine, "right", "declines")


def _send_at_once(machine: Machine, how: str, other: str) -> None:
    """Send two forms; both have read the task before either saves it."""
    vote(machine, 0, how)
    vote(machine, 1, other)
    for which in (0, 1):
        while machine.under_way[which].before != "PutItem task":
            machine.under_way[which].go_on()
    machine.finish_all()


def _vote_again_after_the_decision(machine: Machine) -> None:
    _ask_others(machine)
    _have_somebody_asked(machine, ANN)
    for _ in range(2):
        _decide(machine)


def _vote_too_late(machine: Machine) -> None:
    _ask_others(machine, limited=True)
    _have_somebody_asked(machine, ANN)
    vote(machine, 0, "right")
    machine.go_on(0, lags=False)  # it has read the task
    for _ in range(60):
        machine.pass_time(1)
    machine.finish(0)


def _miss_a_reminder(machine: Machine) -> None:
    _ask_others(machine)
    for _ in range(8):
        machine.pass_time(900)


DEFECTS: Final = {
    "who has called, where others decide": Defect(
        "somebody decides who may not|the caller decides what others must",
        [(Task, "asked_by", "nobody")],
        _let_the_caller_try,
        is_too_rare=True,
    ),
    "the audience of a question": Defect(
        "somebody decides who may not",
        [(Approver, "fits", always)],
        _let_somebody_else_try,
        is_too_rare=True,
    ),
    "who has voted": Defect(
        "one person counts twice", [(Audience, "counts", always)], _approve_twice_at_once, is_too_rare=True
    ),
    "the condition that a task is as it was read, where two decide": Defect(
        "a state is sent two answers|a decision changes",
        [(task_store, "_IS_AS_LOADED", "(attribute_exists(version) OR version = :version)")],
        _approve_and_refuse_at_once,
        is_too_rare=True,
    ),
    "what was decided": Defect(
        "a vote is forgotten|a question is hidden from its approver",
        [(approvals, "_decision_in", left_out)],
        _vote_again_after_the_decision,
        is_too_rare=True,
    ),
    "the end of a question": Defect(
        "an expired question is (decided|asked)",
        [(lifecycle, "as_of", _as_it_was), (recorder, "as_of", _as_it_was)],
        _vote_too_late,
        is_too_rare=True,
    ),
    "the reminders that the sweep sends": Defect(
        "a reminder is lost",
        [(Upkeep, "_readdressed", _never_reminded)],
        _miss_a_reminder,
        is_too_rare=True,
    ),
}
RUNS: Final = ()
"""Runs in which no part is left out, and that go well."""
