"""The inbox of approvers: the same in memory and in DynamoDB; and what only the table has, a marker."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, cast

import pytest
from botocore.exceptions import ClientError

from stepwire.aws.storage.table import Item, Table
from stepwire.errors import StoreBusy
from stepwire.extras.approvals.inbox import Inbox, InboxEntry, QuestionKey
from stepwire.extras.approvals.rules import HasClaim, digest_of
from stepwire.extras.approvals.service import MOST_FOUND
from stepwire.extras.approvals.storage import MOST_PARTITIONS, DynamoDbInbox, open_key
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskKey, new_task_id
from stepwire_local.account.engine import shared_account
from tests.extras.approvals.fakes import InMemoryInbox
from tests.kits import ALICE, BOB
from tests.simulated.dynamodb import quick_dynamodb_client
from tests.tables import new_table, table_behind

FINANCE: Final = digest_of(HasClaim("groups", ("finance",)))
LEGAL: Final = digest_of(HasClaim("groups", ("legal",)))
ASKED_AT: Final = datetime(2026, 11, 25, 12, tzinfo=UTC)


def entry(minute: int, *digests: str, owner: Principal = ALICE, number: int = 1, days: int = 7) -> InboxEntry:
    """Return a question that was asked in some minute."""
    at = ASKED_AT + timedelta(minutes=minute)
    key = QuestionKey(TaskKey(owner, new_task_id(at, minute.to_bytes(16, "big"))), number)
    return InboxEntry(key, digests or (FINANCE,), at, ASKED_AT + timedelta(days=days))


@pytest.fixture
def table() -> Iterator[Table]:
    with shared_account():
        yield Table(new_table(), quick_dynamodb_client)


@pytest.fixture(params=["in memory", "in DynamoDB"])
def inbox(request: pytest.FixtureRequest) -> Inbox:
    return InMemoryInbox() if request.param == "in memory" else DynamoDbInbox(request.getfixturevalue("table"))


# ------------------------------------------------------------------------------------------------------------- contract


def test_a_question_is_found_by_each_of_its_qualities_and_by_no_other(inbox: Inbox) -> None:
    asked = entry(1, FINANCE, LEGAL)

    inbox.add(asked)

    assert inbox.find([FINANCE], 10).questions == (asked.key,)
    assert inbox.find([LEGAL], 10).questions == (asked.key,)
    assert inbox.find([FINANCE, LEGAL], 10).questions == (asked.key,)
    assert inbox.find([digest_of(HasClaim("groups", ("hr",)))], 10).questions == ()
    assert inbox.find([], 10).questions == ()


def test_the_oldest_are_found_first(inbox: Inbox) -> None:
    entries = [entry(minute) for minute in (3, 1, 2)]
    for one in entries:
        inbox.add(one)

    found = inbox.find([FINANCE], 2).questions

    assert found == (entries[1].key, entries[2].key)


def test_what_is_added_and_removed_twice_is_there_once_and_then_gone(inbox: Inbox) -> None:
    asked, other = entry(1), entry(2)
    for one in (asked, asked, other):
        inbox.add(one)
    assert inbox.find([FINANCE], 10).questions == (asked.key, other.key)

    for _ in range(2):
        inbox.remove(asked)

    assert inbox.find([FINANCE], 10).questions == (other.key,)


def test_several_questions_of_a_task_are_several(inbox: Inbox) -> None:
    first, second = entry(1, number=1), entry(1, number=2)

    inbox.add(first)
    inbox.add(second)
    inbox.remove(first)

    assert inbox.find([FINANCE], 10).questions == (second.key,)


def test_a_second_audience_finds_what_the_first_has_found(inbox: Inbox) -> None:
    asked = entry(1)
    inbox.add(asked)

    escalated = InboxEntry(asked.key, (FINANCE, LEGAL), asked.asked_at, asked.expires_at)
    inbox.add(escalated)

    assert inbox.find([LEGAL], 10).questions == inbox.find([FINANCE], 10).questions == (asked.key,)
    inbox.remove(escalated)
    assert inbox.find([FINANCE, LEGAL], 10).questions == ()


# ------------------------------------------------------------------------------------------------------------ the table


def items_of(table: Table) -> list[Item]:
    return [one.to_json()["Attributes"] for one in table_behind(table.name).all_items()]


def marker_of(table: Table) -> Item:
    (marker,) = [one for one in items_of(table) if one["sk"]["S"] == "open"]
    return marker


def test_every_item_expires_a_week_after_the_last_task_whose_question_it_may_lead_to(table: Table) -> None:
    """DynamoDB removes expired items in any order, and an entry that it removes first would stay counted."""
    inbox, late, early, week = DynamoDbInbox(table), entry(1, days=9), entry(2, days=3), timedelta(days=7)

    inbox.add(late)
    inbox.add(early)

    until = {one["sk"]["S"]: int(one["expires_at"]["N"]) for one in items_of(table)}
    assert until.pop("open") == (late.expires_at + week).timestamp()
    assert sorted(until.values()) == [(one.expires_at + week).timestamp() for one in (early, late)]


def test_the_marker_counts_what_is_there_and_nothing_twice(table: Table) -> None:
    inbox, asked = DynamoDbInbox(table), entry(1)
    for one in (asked, asked, entry(2)):
        inbox.add(one)
    assert marker_of(table)["questions"] == {"N": "2"}

    for _ in range(2):
        inbox.remove(asked)

    assert marker_of(table)["questions"] == {"N": "1"}


class Faulty:
    """DynamoDB of which one call fails: before it has an effect, after it, or with an effect that botocore repeats."""

    def __init__(self, at: int, kind: str) -> None:
        self._client, self._left, self._kind = quick_dynamodb_client(), at, kind

    def __getattr__(self, name: str) -> Any:
        made = getattr(self._client, name)

        def call(**given: Any) -> Any:
            self._left -= 1
            if self._left or name in ("query", "batch_get_item"):
                return made(**given)
            if self._kind == "before":
                raise ConnectionError
            made(**given)
            if self._kind == "after":
                raise ConnectionError
            return made(**given)

        return call

    @property
    def has_failed(self) -> bool:
        return self._left <= 0


@pytest.mark.parametrize("kind", ["before", "after", "repeated"])
def test_the_count_is_that_of_the_entries_whichever_call_fails_before_it_is_done_again(table: Table, kind: str) -> None:
    """The stream delivers again what ended in an error."""
    entries, at, fails = [entry(1), entry(2, owner=BOB)], 0, True
    while fails:
        at += 1
        client = Faulty(at, kind)
        inbox = DynamoDbInbox(Table(new_table(), lambda client=client: cast(Any, client)))
        steps = [partial(write, one) for write in (inbox.add, inbox.remove) for one in entries]
        for number, step in enumerate(steps):
            for _ in range(2):
                with suppress(ConnectionError):
                    step()
            items = items_of(inbox.table)
            (count,) = [int(one["questions"]["N"]) for one in items if one["sk"]["S"] == "open"]
            assert count == len(items) - 1 == (1, 2, 1, 0)[number], (at, kind)
        fails = client.has_failed

    assert at > 8, "calls of four steps, each made twice"


def test_a_marker_that_counts_too_few_is_not_counted_below_nothing(table: Table) -> None:
    inbox, asked = DynamoDbInbox(table), entry(1)
    inbox.add(asked)
    table.update(open_key(FINANCE), "SET questions = :none", "", {":none": {"N": "0"}})

    inbox.remove(asked)

    assert marker_of(table)["questions"] == {"N": "0"}
    assert len(items_of(table)) == 1


def test_two_who_add_and_remove_at_the_same_time_are_both_counted(table: Table) -> None:
    """Each transaction of the first is refused as often as the second is faster."""
    first, second = entry(1, days=3), entry(2, owner=BOB, days=9)
    faster = DynamoDbInbox(table)

    class Slow(Faulty):
        def transact_write_items(self, **given: Any) -> Any:
            faster.add(second)  # its marker lasts longer
            return self._client.transact_write_items(**given)

    DynamoDbInbox(Table(table.name, lambda: cast(Any, Slow(0, "")))).add(first)
    until = int(marker_of(table)["expires_at"]["N"])

    assert marker_of(table)["questions"] == {"N": "2"}
    assert until == (second.expires_at + timedelta(days=7)).timestamp()


@pytest.mark.parametrize(
    ("reasons", "error"),
    [(("None", "TransactionConflict"), StoreBusy), (("None", "ThrottlingError"), StoreBusy), (("x",), ClientError)],
)
def test_who_is_refused_again_and_again_tells_the_stream_to_deliver_it_later(
    table: Table, reasons: tuple[str, ...], error: type[Exception]
) -> None:
    class Busy(Faulty):
        def transact_write_items(self, **_: Any) -> None:
            response: Any = {
                "Error": {"Code": "TransactionCanceledException"},
                "CancellationReasons": [{"Code": one} for one in reasons],
            }
            raise ClientError(response, "TransactWriteItems")

    inbox = DynamoDbInbox(Table(table.name, lambda: cast(Any, Busy(0, ""))))

    with pytest.raises(error):
        inbox.add(entry(1))
    with pytest.raises(error):
        inbox.remove(entry(1))


def test_a_removal_after_the_marker_has_expired_leaves_nothing_for_ever(table: Table) -> None:
    inbox, asked = DynamoDbInbox(table), entry(1)
    inbox.add(asked)
    table.delete({name: marker_of(table)[name] for name in ("pk", "sk")}, "", {})

    inbox.remove(asked)

    assert items_of(table) == []


def test_more_partitions_than_are_read_leave_out_those_without_open_questions_and_say_that_there_is_more(
    table: Table,
) -> None:
    inbox = DynamoDbInbox(table)
    digests = [f"{number:032x}" for number in range(MOST_PARTITIONS + 5)]
    entries = [entry(minute, digest, owner=Principal(f"{minute:032x}")) for minute, digest in enumerate(digests)]
    for one in entries:
        inbox.add(one)

    crowded = inbox.find(digests, MOST_FOUND)
    for one in entries[:6]:  # decided
        inbox.remove(one)
    later = inbox.find(digests, MOST_FOUND)

    assert (len(crowded.questions), crowded.is_all) == (MOST_PARTITIONS, False)
    assert later.questions == tuple(one.key for one in entries[6:])
    assert inbox.find(digests[6:], MOST_FOUND).is_all


def test_what_is_not_read_of_a_partition_is_told(table: Table) -> None:
    inbox = DynamoDbInbox(table)
    for minute in range(3):
        inbox.add(entry(minute))

    assert [inbox.find([FINANCE], most).is_all for most in (2, 4)] == [False, True]
