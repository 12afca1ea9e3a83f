"""What function status_changes does with questions to others: the inbox, the bus and the audit trail."""

import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final

import pytest
from msgspec.structs import replace

from stepwire.aws.status_changes_function import StatusChangesHandler
from stepwire.aws.storage.items import item_of
from stepwire.aws.storage.table import Table
from stepwire.extras.approvals.changes import QUESTION_ASKED, QUESTION_CLOSED
from stepwire.extras.approvals.inbox import QuestionKey
from stepwire.extras.approvals.rules import (
    Approver,
    Approvers,
    Escalation,
    HasClaim,
    HasScope,
    People,
    VoteWay,
    digest_of,
)
from stepwire.extras.approvals.storage import DynamoDbInbox
from stepwire.tasks.task import Task
from stepwire_local.account.engine import shared_account
from tests.extras.approvals.built import approvals_in
from tests.kits import OPTIONAL, World, catalog_of, keeping
from tests.simulated.dynamodb import quick_dynamodb_client
from tests.tables import new_table
from tests.unit.background.test_status_changes import Bus, ended, number_of, record

HOUR: Final = timedelta(hours=1)
FINANCE: Final = HasClaim("groups", ("finance",))
CHIEF: Final = HasScope("chief")
POLICY: Final = Approvers(People((FINANCE,), "finance"), remind=HOUR, escalation=Escalation(3 * HOUR, People((CHIEF,))))
APPROVE: Final = {"action": "accept", "content": {"amount": 7}}
Record = dict[str, Any]


class Outbox:
    """A world whose table's stream goes to the function."""

    def __init__(self, policy: Approvers = POLICY) -> None:
        self.bus, self.table = Bus(), Table(new_table(), quick_dynamodb_client)
        self.inbox = DynamoDbInbox(self.table)
        self.handler = StatusChangesHandler(self.bus.client, quick_dynamodb_client)
        tool = keeping(replace(OPTIONAL, ttl=timedelta(days=1)), approvals=policy)
        self.world = World(catalog=catalog_of(tool))
        self.task = self.world.call(tool)
        self.told: list[Record] = []

    def does(self, act: Callable[[], object]) -> list[tuple[str, str]]:
        """Do something, and deliver the change twice; return what the bus is told once."""
        before = self.world.stored(self.task)
        act()
        after = self.world.stored(self.task)
        return self.delivers("MODIFY", before, after)

    def delivers(self, kind: str, before: Task, after: Task | None) -> list[tuple[str, str]]:
        images = {"OldImage": item_of(before), **({"NewImage": item_of(after)} if after else {})}
        at = int(self.world.clock.time.timestamp())  # as the stream has it
        times = {"ApproximateCreationDateTime": at, "SequenceNumber": "1"}
        event = {"Records": [{"eventName": kind, "dynamodb": {**images, **times}}]}
        for _ in range(2):
            assert self.handler(event, None) == {"batchItemFailures": []}
        self.told = [
            {"type": one["DetailType"], **json.loads(one["Detail"])}
            for one in self.bus.told
            if "Question" in one["DetailType"]
        ]
        first, second = self.told[: len(self.told) // 2], self.told[len(self.told) // 2 :]
        assert first == second, "the same event has the same id"
        self.bus.told.clear()
        return [(one["type"], one["happened"]) for one in first]

    def ask(self, **more: Any) -> list[tuple[str, str]]:
        return self.does(lambda: self.world.ask(self.task.task_id, **more))

    def passes(self, time: timedelta) -> list[tuple[str, str]]:
        """Let time pass, and a reader come."""
        self.world.clock.time += time
        return self.does(lambda: self.world.operations.get(self.task.owner, self.task.task_id))

    def votes(self, answer: Any, name: str = "bob") -> list[tuple[str, str]]:
        bob = Approver(name, name.title(), frozenset({FINANCE}))
        key = QuestionKey(self.task.key, 1)
        return self.does(lambda: approvals_in(self.world).vote(key, bob, answer, VoteWay.TOOL))

    def found(self, quality: HasClaim | HasScope = FINANCE) -> list[int]:
        return [one.number for one in self.inbox.find([digest_of(quality)], 10).questions]


@pytest.fixture
def outbox(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Outbox]]:
    monkeypatch.setenv("EVENT_BUS", "agents")
    monkeypatch.setenv("EXTRAS", "approvals")
    with shared_account():

        def made(policy: Approvers = POLICY) -> Outbox:
            new = Outbox(policy)
            monkeypatch.setenv("TABLE_NAME", new.table.name)
            return new

        yield made


def trail(capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str]]:
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"audit"' in line]
    return [(line["audit"], line["outcome"]) for line in lines]


def test_a_question_is_listed_told_and_audited(
    outbox: Callable[..., Outbox], capsys: pytest.CaptureFixture[str]
) -> None:
    one = outbox()

    assert one.ask(seconds=7_200) == [(QUESTION_ASKED, "asked")]

    assert one.found() == [1]
    assert one.found(CHIEF) == []
    assert trail(capsys) == [("asked", "working")] * 2
    assert one.told[0]["audience"] == ["finance"]
    assert (one.told[0]["approvals"], one.told[0]["approved"]) == (1, 0)
    asked_at = one.world.clock.time
    assert datetime.fromisoformat(one.told[0]["expires_at"]) == asked_at + timedelta(hours=2)


def test_it_is_announced_again_and_to_the_second_audience(outbox: Callable[..., Outbox]) -> None:
    one = outbox()
    one.ask()

    assert one.passes(HOUR) == [(QUESTION_ASKED, "reminded")]
    assert one.found(CHIEF) == []
    assert one.passes(HOUR / 2) == []
    assert one.passes(2 * HOUR) == [(QUESTION_ASKED, "escalated")]

    assert one.found(CHIEF) == one.found() == [1]
    assert one.told[0]["audience"] == ["finance", "those with chief"]


@pytest.mark.parametrize(("answer", "approved"), [(APPROVE, True), ({"action": "decline"}, False)])
def test_a_decision_is_told_with_who_has_made_it(outbox: Callable[..., Outbox], answer: Any, *, approved: bool) -> None:
    one = outbox()
    one.ask()

    assert one.votes(answer) == [(QUESTION_CLOSED, "decided")]

    assert one.told[0]["approved"] == int(approved)
    assert one.found() == []
    (by,) = one.told[0]["decision"]["by"]
    assert (one.told[0]["decision"]["approved"], by["by"], by["way"]) == (approved, "Bob", "tool")


def test_one_of_several_votes_is_told_to_nobody(outbox: Callable[..., Outbox]) -> None:
    one = outbox(replace(POLICY, approvals=2))
    one.ask()

    assert one.votes(APPROVE) == []

    assert one.found() == [1]


def test_an_expired_question_is_closed_by_the_next_write(
    outbox: Callable[..., Outbox], capsys: pytest.CaptureFixture[str]
) -> None:
    one = outbox(replace(POLICY, remind=None, escalation=None))
    one.ask(seconds=600.5)

    assert one.passes(timedelta(seconds=600.7)) == [(QUESTION_CLOSED, "expired")]

    assert one.found() == []
    assert ("undecided", "expired") in trail(capsys)


def succeeds(one: Outbox) -> None:
    one.world.succeed(one.task.task_id, {})


def is_cancelled(one: Outbox) -> None:
    one.world.operations.cancel(one.task.owner, one.task.task_id)


@pytest.mark.parametrize("end", [succeeds, is_cancelled])
def test_a_question_whose_task_ends_is_withdrawn(
    outbox: Callable[..., Outbox], capsys: pytest.CaptureFixture[str], end: Callable[[Outbox], object]
) -> None:
    one = outbox()
    one.ask()

    assert one.does(lambda: end(one)) == [(QUESTION_CLOSED, "withdrawn")]

    assert one.found() == []
    assert ("undecided", "withdrawn") in trail(capsys)


def test_a_question_of_an_expired_task_goes_with_it(outbox: Callable[..., Outbox]) -> None:
    one = outbox()
    one.ask()
    one.world.clock.time += timedelta(days=3)

    assert one.delivers("REMOVE", one.world.stored(one.task), None) == [(QUESTION_CLOSED, "expired")]

    assert one.found() == []


def test_an_event_has_the_words_of_a_question_only_if_the_manifest_shows_arguments(
    outbox: Callable[..., Outbox],
) -> None:
    for shown, message in ((None, None), ((), "May it go on?"), (("text",), "May it go on?")):
        one = outbox(replace(POLICY, shown_arguments=shown))
        one.ask()

        assert one.told[0].get("message") == message
        assert "token" not in repr(one.told)


def test_a_fault_of_the_table_delays_its_record_and_none_before_it(
    outbox: Callable[..., Outbox], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = outbox()
    before = one.world.stored(one.task)
    one.world.ask(one.task.task_id)
    asked = record("MODIFY", before, one.world.stored(one.task))
    monkeypatch.setenv("TABLE_NAME", "no-such-table")

    failed = one.handler({"Records": [ended(1), asked, ended(2)]}, None)

    assert failed == {"batchItemFailures": [{"itemIdentifier": number_of(asked)}]}
    assert one.bus.tools() == ["tool 1"], "Lambda delivers no record before the failed one again"
