"""The list of blocked callers in the table, and the function that writes it."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from stepwire.aws.blocks_function import BlocksHandler
from stepwire.aws.storage.blocks import LIST, Block, DynamoDbBlocks, block_in, record_key
from stepwire.aws.storage.table import Table
from stepwire.engine.blocks import MOST_BLOCKED, Blocks, without_task
from stepwire.principal import Caller, Principal
from stepwire_local.account.engine import shared_account
from tests.kits import ALICE, BOB
from tests.simulated.dynamodb import quick_dynamodb_client
from tests.tables import new_table

AT = datetime(2026, 11, 25, 12, tzinfo=UTC)
ADMIN = "arn:aws:sts::123456789012:assumed-role/operators/olga"


@pytest.fixture
def blocks() -> Iterator[DynamoDbBlocks]:
    with shared_account():
        yield DynamoDbBlocks(Table(new_table(), quick_dynamodb_client))


@pytest.fixture
def handler(blocks: DynamoDbBlocks, monkeypatch: pytest.MonkeyPatch) -> BlocksHandler:
    monkeypatch.setenv("TABLE_NAME", blocks.table.name)
    made = BlocksHandler()
    vars(made)["_blocks"] = blocks
    return made


def filled(blocks: DynamoDbBlocks, count: int) -> None:
    """Block so many other callers."""
    others = [number.to_bytes(16, "big").hex() for number in range(1, count + 1)]
    blocks.table.put({**LIST, "callers": {"SS": others}})


def test_nobody_is_blocked_before_the_first(blocks: DynamoDbBlocks) -> None:
    assert blocks.read() == frozenset()
    assert not blocks.unblock(ALICE)
    assert blocks.read() == frozenset()


def test_a_block_is_listed_and_noted_until_it_is_undone(blocks: DynamoDbBlocks) -> None:
    first = Block(AT, ADMIN, "Floods us.")
    assert blocks.block(ALICE, first)
    assert blocks.block(BOB, Block(AT))
    assert blocks.block(ALICE, Block(datetime.max.replace(tzinfo=UTC), "somebody else"))

    both, noted = blocks.read(), block_in(blocks.table.get(record_key(ALICE)))
    were_blocked = [blocks.unblock(ALICE) for _ in range(2)]

    assert were_blocked == [True, False]
    assert both == {ALICE, BOB}
    assert noted == first
    assert blocks.read() == {BOB}
    assert blocks.table.get(record_key(ALICE)) is None


def test_a_full_list_takes_nobody_but_those_who_are_on_it(blocks: DynamoDbBlocks) -> None:
    filled(blocks, MOST_BLOCKED)
    known = Principal((1).to_bytes(16, "big").hex())

    assert not blocks.block(ALICE, Block(AT, ADMIN))
    assert blocks.block(known, Block(AT, ADMIN))
    assert len(blocks.read()) == MOST_BLOCKED
    assert blocks.table.get(record_key(ALICE)) is None


def test_thousands_fit_into_one_item_and_cost_a_request_nothing(blocks: DynamoDbBlocks) -> None:
    filled(blocks, MOST_BLOCKED)
    reads = list[None]()

    def read() -> frozenset[str]:
        reads.append(None)
        return blocks.read()

    known = Blocks(without_task(read), lambda _fault: None)
    known.check(Caller(ALICE), AT)
    began = time.process_time()
    for _ in range(10_000):
        known.check(Caller(ALICE), AT)

    assert 32 * MOST_BLOCKED < 409_600
    assert len(reads) == 1
    assert time.process_time() - began < 1  # milliseconds in fact


# --------------------------------------------------------------------------------------------------------- the function


def test_a_command_is_obeyed_and_audited(
    handler: BlocksHandler, blocks: DynamoDbBlocks, capsys: pytest.CaptureFixture[str]
) -> None:
    command = {"block": [ALICE, BOB], "reason": "Floods us.", "operator": ADMIN}

    answers = [handler({"stepwire_command": one}, None) for one in (command, command, {"unblock": [BOB]})]

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["blocked"] for one in answers] == [True, True, False]
    assert blocks.read() == {ALICE}
    assert [(one["audit"], one["principal"], one.get("operator"), one.get("outcome")) for one in lines] == [
        *[("blocked", ALICE, ADMIN, "Floods us."), ("blocked", BOB, ADMIN, "Floods us.")] * 2,
        ("unblocked", BOB, None, None),
    ]
    assert lines[0]["CallersBlocked"] == [1.0]


@pytest.mark.parametrize(
    "command",
    [None, {}, {"block": []}, {"block": ALICE}, {"block": ["list"]}, {"block": [ALICE.upper()]}, {"block": [1]},
     {"block": [ALICE] * 11}, {"erase": [ALICE]}, {"block": [ALICE], "reason": "two\nlines"},
     {"block": [ALICE], "reason": ""}, {"block": [ALICE], "reason": 1}, {"block": [ALICE], "reason": "x" * 201}],
)  # fmt: skip
def test_what_is_no_command_changes_nothing(handler: BlocksHandler, blocks: DynamoDbBlocks, command: Any) -> None:
    assert "refused" in handler({"stepwire_command": command}, None)
    assert blocks.read() == frozenset()


def test_a_full_list_is_said(
    handler: BlocksHandler, blocks: DynamoDbBlocks, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(blocks, MOST_BLOCKED)

    answer = handler({"stepwire_command": {"block": [ALICE]}}, None)

    assert "5,000 callers are blocked" in answer["refused"]
    assert capsys.readouterr().out == ""
