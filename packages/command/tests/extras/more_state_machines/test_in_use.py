"""What `stepwire upgrade --with` says of tasks on state machines without the tag, before it may not ask about them."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from packages.command.tests.operated import MACHINE, working
from packages.command.tests.table import AT, TableOfAnEndpoint
from stepwire.tasks.ids import TaskId
from stepwire.tasks.runs import Run

ROLE = "arn:aws:iam::111122223333:role/Settle"


@pytest.mark.parametrize(
    ("arns", "count"), [("", ["1"]), (MACHINE.replace("Invoices", "*"), ["3"]), (f"{MACHINE}2", ["1"])]
)
def test_tasks_that_run_on_one_are_counted(arns: str, count: list[str], table: TableOfAnEndpoint) -> None:
    at = AT - timedelta(minutes=1)
    for number, run in enumerate((Run(MACHINE), Run(f"{MACHINE}:live"), Run(f"{MACHINE}3", role=ROLE))):
        table.hold(replace(working(at), task_id=TaskId(f"{number:036}"), runs=(run,)))

    found = table.in_use("more_state_machines", parameters={"StateMachineArns": arns})

    assert [one.seen for one in found] == count
