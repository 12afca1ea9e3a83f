"""What `stepwire upgrade --with` says of questions that wait for approvers, before it removes them."""

from datetime import timedelta

from msgspec.structs import replace

from packages.command.tests.extras.approvals.decided import asking_others, decided_by_others
from packages.command.tests.operated import asking
from packages.command.tests.table import AT, TableOfAnEndpoint, words_of
from stepwire.tasks.ids import TaskId
from stepwire.tasks.task import Task


def numbered(task: Task, number: int) -> Task:
    return replace(task, task_id=TaskId(f"{number:036}"))


def test_questions_to_others_are_counted_and_no_question_to_a_caller(table: TableOfAnEndpoint) -> None:
    at = AT - timedelta(minutes=1)
    tasks = (asking_others(at), asking_others(at), asking(at), decided_by_others(at))
    table.hold(*(numbered(task, number) for number, task in enumerate(tasks)))

    found = table.in_use("approvals")

    assert [one.seen for one in found] == ["2"]
    assert words_of(found).startswith(
        "approvals, questions that wait for others than the caller: 2. Without the extra,"
    )
