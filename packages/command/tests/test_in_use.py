"""What the command reads of an endpoint's table before an extra is removed."""

import re
import zlib
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from packages.command.tests.operated import completed, working
from packages.command.tests.table import AT, TableOfAnEndpoint
from stepwire.aws.storage.published_catalog import HEAD, key_of
from stepwire.aws.storage.table import Table
from stepwire.tasks.ids import TaskId
from stepwire.tasks.task import Task
from stepwire_cli.account.errors import AccountError
from stepwire_cli.deployment.in_use import MOST_PAGES, MOST_TASKS, Contents, Use, in_use
from stepwire_cli.deployment.stack import Stack
from stepwire_cli.extras import parts
from stepwire_local.account.isolation import REGION
from stepwire_local.iam.clients import aws_client

USE = Use("pictures", "nobody sees them.", "Print them first.", lambda contents: contents.tasks.count(lambda _task: 1))


def numbered(task: Task, number: int) -> Task:
    return replace(task, task_id=TaskId(f"{number:036}"))


def test_the_tasks_that_go_on_are_read_once_and_no_other(table: TableOfAnEndpoint) -> None:
    at = AT - timedelta(minutes=1)
    expired = replace(working(at), created_at=at - timedelta(days=8))
    table.hold(*(numbered(working(at), number) for number in range(150)))
    table.hold(numbered(completed(at), 150), numbered(expired, 151))
    contents = table.contents()

    counts = [contents.tasks.count(lambda _task: 1), contents.tasks.count(lambda task: task.has_ended)]

    assert counts == ["150", ""]
    assert table.calls == ["query"] * 4 + ["batch_get_item"] * 2


def test_of_many_tasks_some_are_counted_and_so_it_says(table: TableOfAnEndpoint) -> None:
    at = AT - timedelta(minutes=1)
    table.hold(*(numbered(working(at), number) for number in range(MOST_TASKS + 100)))
    contents = table.contents()

    some, none = contents.tasks.count(lambda _task: 2), contents.tasks.count(lambda _task: 0)

    least = re.fullmatch(r"at least ([0-9,]+)", some)
    assert least
    assert MOST_TASKS // 2 <= int(least[1].replace(",", "")) <= 2 * MOST_TASKS
    assert none == "perhaps some, for there is more than this command reads"
    assert table.calls.count("batch_get_item") <= MOST_TASKS / 100


def test_a_scan_ends_after_some_pages(table: TableOfAnEndpoint) -> None:
    table.put(*({"pk": {"S": str(number)}, "sk": {"S": "a"}} for number in range(MOST_PAGES + 1)))

    found = table.contents().items("Scan", Limit=1)

    assert found.count(lambda _item: 1) == f"at least {MOST_PAGES}"
    assert table.calls == ["scan"] * MOST_PAGES


def test_tools_that_need_an_extra_are_those_whose_manifests_name_it(table: TableOfAnEndpoint) -> None:
    table.table = Table(table.table.name, lambda: aws_client("dynamodb", REGION))  # the quick one takes no bytes
    nothing = table.contents().needed_by_tools
    text = (
        '{"format":1,"tools":[{"tool":{"name":"paint","extras":{"colour":{}}}},{"tool":{"name":"draw"}},'
        '{"tool":{"name":"glue","extras":{"colour":{},"taste":{}}}}]}'
    )
    names = {"L": [{"S": "one"}]}
    table.put(
        {**HEAD, "version": {"N": "1"}, "shards": names, "extras": {"M": {}}},
        {**key_of("one"), "tools": {"B": zlib.compress(text.encode())}},
    )

    assert nothing == {}
    assert table.contents().needed_by_tools == {"colour": ["paint", "glue"], "taste": ["glue"]}


def test_what_may_not_be_read_may_be_in_use(table: TableOfAnEndpoint) -> None:
    table.is_denied = True

    (found,) = in_use(table.contents(), ["colour"], lambda _name: [USE])

    assert found.words == (
        f"colour, pictures: this could not be looked up ({found.fault}). Without the extra, nobody sees them. Print "
        "them first."
    )
    assert "dynamodb:Query" in found.fault
    assert found.as_json()["seen"] is None


def test_a_stack_that_does_not_name_its_table_cannot_be_looked_into(table: TableOfAnEndpoint) -> None:
    with pytest.raises(AccountError, match="has no output TasksTable"):
        _ = Contents(table.contents().calls, Stack("stepwire"), AT).tasks


def test_the_page_says_what_is_lost_with_each_extra_that_holds_something() -> None:
    page = (Path(__file__).parents[3] / "docs" / "deploying.md").read_text(encoding="utf-8")
    table = page.partition("| without | what people lose")[2].partition("\n\n")[0]

    rows = re.findall(r"^\| \[`(\w+)`\]\(\S+\) \| .+\. \|$", table, re.MULTILINE)

    assert rows == sorted(part.__name__.split(".")[-2] for part in parts("in_use"))


def test_an_extra_with_nothing_in_use_is_not_named(table: TableOfAnEndpoint) -> None:
    assert in_use(table.contents(), ["colour"], lambda _name: [USE]) == ()
