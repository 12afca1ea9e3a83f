"""The list of blocked callers in the table, and the commands that write it."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from stepwire.aws.storage.table import Table
from stepwire.background.commands import obeyed
from stepwire.extras.callers.blocks import MOST_BLOCKED, Blocks
from stepwire.extras.callers.commands import BLOCKS, ERASURES, commands_of
from stepwire.extras.callers.storage import LIST, Block, DynamoDbBlocks, block_in, record_key
from stepwire.principal import Principal
from stepwire_local.account.engine import shared_account
from tests.kits import ALICE, BOB, World
from tests.simulated.dynamodb import quick_dynamodb_client
from tests.tables import new_table

AT = datetime(2026, 11, 25, 12, tzinfo=UTC)
ADMIN = "arn:aws:sts::123456789012:assumed-role/operators/olga"


@pytest.fixture
def blocks() -> Iterator[DynamoDbBlocks]:
    with shared_account():
        yield DynamoDbBlocks(Table(new_table(), quick_dynamodb_client))


@dataclass
class Operator:
    """An operator of a stack with this list."""

    blocks: DynamoDbBlocks
    world: World = field(default_factory=World)

    def command(self, command: str, **fields: Any) -> dict[str, Any]:
        """Give a command."""
        event = {"command": command, "operator": ADMIN, **fields}
        return obeyed(event, BLOCKS, commands_of(self.blocks), self.world.engine)


@pytest.fixture
def operator(blocks: DynamoDbBlocks) -> Operator:
    return Operator(blocks)


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

    known = Blocks(read, lambda _fault: None)
    known(AT, ALICE)
    began = time.process_time()
    for _ in range(10_000):
        known(AT, ALICE)

    assert 32 * MOST_BLOCKED < 409_600
    assert len(reads) == 1
    assert time.process_time() - began < 1  # milliseconds in fact


# --------------------------------------------------------------------------------------------------------- the commands


def test_a_command_is_obeyed_and_audited(operator: Operator) -> None:
    both = {"hashes": [ALICE, BOB], "reason": "Floods us."}

    answers = [operator.command("block", **both) for _ in range(2)] + [operator.command("unblock", hashes=[BOB])]

    blocked = {"hashes": [ALICE, BOB], "holds_within_seconds": 30}
    assert answers[:2] == [{"done": blocked}] * 2
    assert answers[2] == {"done": {"hashes": [BOB], "were_blocked": [BOB], "holds_within_seconds": 30}}
    assert operator.blocks.read() == {ALICE}
    assert [(one.action.word, one.owner, one.operator, one.outcome) for one in operator.world.audit] == [
        *[("blocked", ALICE, ADMIN, "Floods us."), ("blocked", BOB, ADMIN, "Floods us.")] * 2,
        ("unblocked", BOB, ADMIN, None),
    ]


@pytest.mark.parametrize(
    "fields",
    [{}, {"hashes": []}, {"hashes": ALICE}, {"hashes": ["list"]}, {"hashes": [ALICE.upper()]}, {"hashes": [1]},
     {"hashes": [ALICE] * 11}, {"hashes": [ALICE], "reason": "two\nlines"}, {"hashes": [ALICE], "reason": ""},
     {"hashes": [ALICE], "reason": 1}, {"hashes": [ALICE], "reason": "x" * 201}, {"hashes": [ALICE], "owner": ALICE}],
)  # fmt: skip
def test_what_is_no_command_changes_nothing(operator: Operator, fields: dict[str, Any]) -> None:
    assert set(operator.command("block", **fields)) == {"refused"}
    assert operator.blocks.read() == frozenset()


def test_a_full_list_is_said(operator: Operator) -> None:
    filled(operator.blocks, MOST_BLOCKED)

    answer = operator.command("block", hashes=[ALICE])

    assert "5,000 callers are blocked" in answer["refused"]
    assert operator.world.audit == []


def test_an_erasure_is_noted_with_how_much_it_was_and_by_whom(operator: Operator) -> None:
    fields = {"owner": ALICE, "state": "done", "items": 7, "objects": 1}

    answer = obeyed(
        {"command": "note_erasure", "operator": ADMIN, **fields}, ERASURES, commands_of(operator.blocks),
        operator.world.engine,
    )  # fmt: skip

    (entry,) = operator.world.audit
    assert answer == {"done": {}}
    assert (entry.action.word, entry.owner, entry.operator) == ("erased", ALICE, ADMIN)
    assert entry.outcome == "7 items, 1 large results; done"
