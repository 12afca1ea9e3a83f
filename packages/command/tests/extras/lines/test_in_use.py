"""What `stepwire upgrade --with` says of lines in which tasks wait, before it removes them."""

from datetime import timedelta

from msgspec.structs import replace

from packages.command.tests.operated import MACHINE, working
from packages.command.tests.table import AT, TableOfAnEndpoint
from stepwire.extras.lines.limits import Rules
from stepwire.extras.lines.rules import Change, Line
from stepwire.extras.lines.storage import DynamoDbLines
from stepwire.tasks.ids import TaskId
from stepwire.tasks.line import LineTerms
from stepwire.tasks.runs import Pending, Run


def test_tasks_that_wait_and_lines_that_are_paused_are_counted(table: TableOfAnEndpoint) -> None:
    task = replace(working(AT - timedelta(minutes=1)), line=LineTerms("line#warehouse", "pool:warehouse"))
    waiting = replace(task, task_id=TaskId("2" * 36), runs=(Run(MACHINE, pending=Pending.TURN),))
    table.hold(task, waiting)
    lines = DynamoDbLines(table.table)
    lines.change("line#warehouse", None, Change(Line("pool:warehouse", Rules(), is_paused=True)), AT)

    assert table.seen("lines") == {"tasks that wait for their turns": "1", "lines that are paused or drained": "1"}
