"""`stepwire task` of a task that waits for its turn."""

import json
from datetime import timedelta

from msgspec.structs import replace

from packages.command.tests import operated
from packages.command.tests.operated import ID, Stepwire, account, moment, working
from stepwire.tasks.line import InLine, LineTerms
from stepwire.tasks.runs import Pending, Run


def test_a_task_in_line_says_its_place_and_how_it_could_be_the_next(in_account: Stepwire) -> None:
    at = moment()
    line, place = LineTerms("line#warehouse", "pool:warehouse"), InLine(2, at + timedelta(minutes=59))
    task = replace(working(at), line=line, in_line=place, runs=(Run(operated.MACHINE, pending=Pending.TURN),))

    _, out, _ = in_account(account(task, status=None), "task", ID, "--json")

    shown = json.loads(out)
    assert shown["waitsFor"] == [
        "its turn in the line pool:warehouse: 2nd in line; about 50 minutes, as of the last look"
    ]
    starts = [
        "See how many run and wait in its line",
        "Let it be the next in its line",
        "See also what",
        "See the caller's",
    ]
    assert [one["what"][: len(start)] for one, start in zip(shown["next"], starts, strict=True)] == starts
