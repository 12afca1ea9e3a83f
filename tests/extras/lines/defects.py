"""For tests/model/test_finding.py: what goes wrong if a part of the lines is left out."""

from collections.abc import Sequence
from typing import Final

from stepwire.engine.runs import Runs
from stepwire.extras.lines import storage as lines
from stepwire.extras.lines import turns as gate
from stepwire.extras.lines.turns import Turns
from stepwire.tasks.task import Task
from tests.model.defect import Defect, left_out
from tests.model.machine import Machine


def _call_at_once(machine: Machine) -> None:
    """Two calls ask for the only turn of a line at the same moment."""
    machine.call("modern", "limited", None, 0)
    machine.finish(0)
    machine.end(0, "well")
    machine.deliver(0, comes_again=False)
    machine.finish(0)
    for which in (0, 1):
        machine.call("modern", "limited", None, which)
        while machine.under_way[which].before != "TransactWriteItems line":
            machine.under_way[which].go_on()
    machine.finish_all()


def _die_before_the_turn_is_given_back(machine: Machine) -> None:
    for _ in range(2):
        machine.call("modern", "limited", None, 0)
        machine.finish(0)
    machine.end(0, "well")
    machine.deliver(0, comes_again=False)
    while machine.under_way and machine.under_way[0].before != "TransactGetItems line":
        machine.under_way[0].go_on()
    machine.die(0)


def _die_before_the_called_run_begins(machine: Machine) -> None:
    for _ in range(2):
        machine.call("modern", "limited", None, 0)
        machine.finish(0)
    machine.end(0, "well")
    machine.deliver(0, comes_again=False)
    while machine.under_way and machine.under_way[0].before != "TransactWriteItems line":
        machine.under_way[0].go_on()
    machine.go_on(0, lags=False)
    machine.die(0)


def _call_two_limited(machine: Machine) -> None:
    for _ in range(2):
        machine.call("modern", "limited", None, 0)
        machine.finish(0)


def _cancel_in_line(machine: Machine) -> None:
    for _ in range(3):
        machine.call("modern", "limited", None, 0)
        machine.finish(0)
    machine.cancel("modern", 0)
    machine.finish(0)


def _die_before_the_place_is_left(machine: Machine) -> None:
    for _ in range(3):
        machine.call("modern", "limited", None, 0)
        machine.finish(0)
    machine.cancel("modern", 1)
    while machine.under_way and machine.under_way[0].before != "TransactGetItems line":
        machine.under_way[0].go_on()
    machine.die(0)


def _nothing_left_behind(*_args: object) -> tuple[()]:
    return ()


def _never_mended(*_args: object) -> tuple[()]:
    return ()


def _always_in_turn(_runs: Runs, task: Task, runs: Sequence[int], **_how: object) -> tuple[Task, Sequence[int]]:
    return task, runs


DEFECTS: Final = {
    "the turn that a run needs": Defect(
        "more executions run than the limit allows|a line stands still",
        [(Runs, "_in_turn", _always_in_turn)],
        _call_two_limited,
    ),
    "the condition that a line is as it was read": Defect(
        "more executions run than the limit allows|a line is counted wrong|a line stands still",
        [(lines, "_IS_AS_READ", "attribute_exists(version) OR version = :version")],
        _call_at_once,
        is_too_rare=True,
    ),
    "the repair of a line": Defect(
        "a line stands still|a line is counted wrong",
        [(Turns, "mend", _never_mended)],
        _die_before_the_turn_is_given_back,
        is_too_rare=True,
    ),
    "the place that a cancelled run leaves": Defect(
        "a line is counted wrong|a line stands still|an end is lost",
        [(Runs, "_give_back", left_out), (Turns, "mend", _never_mended)],
        _cancel_in_line,
        is_too_rare=True,
    ),
    "the repair of a place that a process left behind": Defect(
        "a line is counted wrong",
        [(gate, "left_behind", _nothing_left_behind)],
        _die_before_the_place_is_left,
        is_too_rare=True,
    ),
}
RUNS: Final = (_die_before_the_called_run_begins, _die_before_the_place_is_left)
"""Runs in which no part is left out, and that go well."""
