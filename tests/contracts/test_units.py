"""What a task costs in DynamoDB's units is bounded, whatever its arguments and its result: the guard of decision 36."""

from itertools import product

import pytest

from benchmarks.cost.units import ARGUMENTS, KB, RESULTS, TaskUnits, table, units_of
from tests.docs.pages import ROOT

MARK = "<!-- units -->\n"


@pytest.mark.parametrize(("arguments", "result"), [*product(ARGUMENTS, RESULTS)])
def test_a_poll_is_one_unit_and_a_change_at_most_two(aws: None, arguments: int, result: int) -> None:
    units = units_of(arguments, result)

    assert (units.poll.read, units.ended_poll.read) == (1, 1)
    assert units.poll.calls == units.ended_poll.calls == ("GetItem",)
    assert max(units.check.written, units.progress.written) <= 2
    assert units.check.calls == units.progress.calls == ("PutItem",)


def test_small_calls_are_one_item(aws: None) -> None:
    units = units_of(100, 100)

    assert (units.creation.calls, units.creation.written) == (("PutItem",), 1)
    assert (units.end.calls, units.end.written) == (("PutItem",), 1)
    assert units.result.calls == ()


def test_large_texts_are_written_once_and_read_once(aws: None) -> None:
    units = units_of(256 * KB, 256 * KB)

    assert units.creation.calls == ("PutItem", "PutItem")
    assert units.end.calls == ("GetItem", "PutItem", "PutItem")
    assert units.result.calls == ("GetItem",)


def test_a_result_that_is_too_large_for_an_item_is_one_object(aws: None) -> None:
    units = units_of(100, 1_024 * KB)

    assert (units.end.calls, units.end.written) == (("PutObject", "PutItem"), 1)
    assert (units.result.calls, units.result.read) == (("GetObject",), 0)


def test_the_index_is_written_for_a_new_task_an_end_and_a_check_in_another_five_minutes(aws: None) -> None:
    units: TaskUnits = units_of(100, 100)

    written = (units.creation, units.check, units.progress, units.end)

    assert [one.index for one in written] == [1, 2, 0, 1]


def test_the_document_shows_the_table(aws: None) -> None:
    shown = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")

    assert f"{MARK}{table()}" in shown, "python -m benchmarks.cost.units"
