"""Task ids and execution names."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwire.principal import Principal
from stepwire.tasks.ids import (
    RANDOM_BYTES,
    TaskId,
    TaskKey,
    execution_name_of,
    execution_prefix_of,
    new_task_id,
    task_id_of,
    task_key_from_execution,
)
from tests.kits import ALICE
from tests.strategies import moments, principals, task_ids

LONGEST_EXECUTION_NAME = 80
ID = TaskId("01kyyk41g000000000000000000000000001")
NAME = execution_name_of(TaskKey(ALICE, ID), "sw-")
prefixes = st.from_regex(r"[a-z0-9]{1,11}-", fullmatch=True)
some_bytes = st.binary(min_size=RANDOM_BYTES, max_size=RANDOM_BYTES)


@given(moments, some_bytes)
def test_an_id_has_36_characters_and_is_well_formed(at: datetime, random: bytes) -> None:
    task_id = new_task_id(at, random)

    assert len(task_id) == 36
    assert task_id_of(task_id) == task_id


@given(moments, moments, some_bytes, some_bytes)
def test_ids_sort_by_age_to_the_millisecond(one: datetime, other: datetime, left: bytes, right: bytes) -> None:
    first, second = new_task_id(one, left), new_task_id(other, right)

    if one != other:
        assert (first < second) == (one < other)


def test_every_millisecond_sorts_after_the_one_before() -> None:
    moments = [datetime(2026, 8, 1, 12, tzinfo=UTC) + timedelta(milliseconds=count) for count in range(1000)]

    ids = [new_task_id(at, random) for at in moments for random in (b"\x00" * RANDOM_BYTES, b"\xff" * RANDOM_BYTES)]

    assert ids == sorted(ids)


@given(moments, some_bytes, some_bytes)
def test_ids_differ_in_every_random_bit(at: datetime, left: bytes, right: bytes) -> None:
    """X27: 128 bits of randomness reach the id."""
    assert (new_task_id(at, left) == new_task_id(at, right)) == (left == right)


@given(principals, task_ids, prefixes)
def test_step_functions_accepts_and_logs_an_execution_name(owner: Principal, task_id: TaskId, prefix: str) -> None:
    name = execution_name_of(TaskKey(owner, task_id), prefix)

    assert len(name) <= LONGEST_EXECUTION_NAME - len("-r99")
    assert re.fullmatch(r"[A-Za-z0-9-]+", name)
    assert name.startswith(prefix)


@given(principals, task_ids, prefixes)
def test_an_execution_name_leads_back_to_its_task(owner: Principal, task_id: TaskId, prefix: str) -> None:
    key = TaskKey(owner, task_id)

    assert task_key_from_execution(execution_name_of(key, prefix)) == key


@given(prefixes, prefixes, principals, task_ids)
def test_executions_of_another_endpoint_have_no_task_here(
    mine: str, other: str, owner: Principal, task_id: TaskId
) -> None:
    name = execution_name_of(TaskKey(owner, task_id), other)

    assert name.startswith(mine) == (mine == other)


@pytest.mark.parametrize("text", ["", "-", "sw", "Sw-", "s-w-", "twelve-chars-", "s w-"])
def test_an_invalid_prefix_is_refused(text: str) -> None:
    assert execution_prefix_of(text) is None


@pytest.mark.parametrize(
    "name",
    [
        "",
        "nightly-import",
        NAME + "-2",
        NAME + "\n",
        NAME.upper(),
        NAME.replace("-", "."),
        ALICE,
        NAME + "0",
        NAME.removeprefix("sw-"),
        f"{ALICE}-{ID}",
        f"sw-{'z' * 26}-{ID}",
    ],
)
def test_a_foreign_execution_name_has_no_task(name: str) -> None:
    assert task_key_from_execution(name) is None


@pytest.mark.parametrize(
    "text",
    ["", ID[:-1], ID + "0", ID.upper(), ID[:-1] + "u", ID[:-1] + "l", ID + "\n", " " + ID[1:], None, 7, [ID], {}],
)
def test_malformed_ids_are_refused(text: object) -> None:
    """X28: malformed ids never reach the store."""
    assert task_id_of(text) is None
