"""What is held of one caller, in the table and in the bucket, and how the command erases it."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert
from msgspec.structs import replace

from stepwire import extras
from stepwire.aws import storage
from stepwire.aws.clients import s3_client
from stepwire.aws.s3 import LargeResults
from stepwire.aws.storage.items import LARGEST_PART
from stepwire.aws.storage.table import Table
from stepwire.aws.storage.task_store import DynamoDbTaskStore, task_store
from stepwire.extras.callers.commands import ERASURES, Erased
from stepwire.extras.callers.holdings import all_kinds, kind_of
from stepwire.principal import Principal
from stepwire.tasks.line import LineTerms
from stepwire.tasks.runs import Attempt
from stepwire.tasks.task import Completed, Terms, ToolResult
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.commanding import Door
from stepwire_cli.account.errors import AccountError
from stepwire_cli.account.pacing import Pacer
from stepwire_cli.extras.callers.erasing import Erasure
from stepwire_cli.extras.callers.holding import Held
from stepwire_local.account.engine import shared_account
from stepwire_local.account.isolation import REGION
from stepwire_local.iam.clients import aws_client
from tests.buckets import new_bucket, objects_in
from tests.contracts.task_stores import a_task
from tests.extras import parts
from tests.kits import ALICE, BOB
from tests.simulated.dynamodb import quick_dynamodb_client
from tests.tables import new_table, table_behind

AT = datetime(2026, 11, 25, 12, tzinfo=UTC)


class Noted(Door):
    """Function operator, which notes what was erased."""

    def do(self, right: str, command: str, **fields: Any) -> dict[str, Any]:
        """Note it."""
        assert (right, command) == (ERASURES, "note_erasure")
        noted.append(convert(fields, Erased))
        return {}


noted = list[Erased]()


class Place:
    """A table and a bucket."""

    def __init__(self, bucket: str) -> None:
        self.bucket, self.table = bucket, Table(new_table(), quick_dynamodb_client)
        self.store: DynamoDbTaskStore = task_store(self.table, lambda: LargeResults(bucket, s3_client()))
        clients: dict[str, Any] = {"dynamodb": self.table.client, "s3": aws_client("s3", REGION)}
        self.calls = Calls(clients.__getitem__, Pacer(lambda: 0, lambda _seconds: None))
        noted.clear()

    def erasure(self, owner: Principal) -> Erasure:
        """Return the erasure of a caller."""
        return Erasure(Held(self.calls, self.table.name, owner), self.bucket, Noted(self.calls, "operator"))

    def erase(self, owner: Principal) -> tuple[int, int]:
        """Erase everything; return how many items and objects that was."""
        *_, last = [(0, 0), *((done.items, done.objects) for done in self.erasure(owner).erased())]
        return last

    def keys(self) -> list[tuple[str, str]]:
        """Return the keys of all items."""
        items = (item.to_json()["Attributes"] for item in table_behind(self.table.name).all_items())
        return sorted((item["pk"]["S"], item["sk"]["S"]) for item in items)

    def fill(self, owner: Principal) -> None:
        """Store one of everything for a caller."""
        task = a_task(owner=owner)
        work = replace(task.work, terms=Terms(f'{{"text":"{"x" * 5_000}"}}'))
        line = LineTerms("line#pool:a", "pool:a")
        large = Completed(ToolResult("ä" * LARGEST_PART, is_error=False))
        self.store.save(replace(self.store.create(replace(task, work=work, line=line)), status=large))
        small = Completed(ToolResult("x" * 9_000, is_error=False))
        self.store.save(replace(self.store.create(a_task(owner=owner, number=2)), status=small))
        for part in parts("held"):
            part.hold(self.table, owner, AT)


@pytest.fixture
def place() -> Iterator[Place]:
    with shared_account():
        yield Place(new_bucket())


def test_nothing_of_the_caller_is_left_and_all_of_another(place: Place) -> None:
    place.fill(BOB)
    others, kept = place.keys(), objects_in(place.bucket)
    place.fill(ALICE)
    held = len(place.keys()) - len(others)

    erased, again = place.erase(ALICE), place.erase(ALICE)

    assert (place.keys(), objects_in(place.bucket)) == (others, kept)
    beside = sum(part.BESIDE for part in parts("held"))  # not below the caller
    assert erased == (held - beside, 1)
    assert again == (0, 0)
    assert noted == [
        Erased(owner=ALICE, state="begins"),
        Erased(owner=ALICE, state="done", items=held - beside, objects=1),
        Erased(owner=ALICE, state="begins"),
        Erased(owner=ALICE, state="done"),
    ]


def test_a_task_that_has_not_ended_keeps_everything(place: Place) -> None:
    place.fill(ALICE)
    task = place.store.create(replace(a_task(number=3), created_at=datetime.now(UTC)))
    before, objects = place.keys(), objects_in(place.bucket)

    with pytest.raises(AccountError) as refused:
        place.erase(ALICE)

    assert str(refused.value) == f"Task {task.task_id} has not ended. Cancel what runs first: --cancel does."
    assert (place.keys(), objects_in(place.bucket)) == (before, objects)
    assert noted == []


def test_a_task_that_is_created_during_an_erasure_is_not_erased_while_it_runs(place: Place) -> None:
    place.fill(ALICE)
    parts = place.erasure(ALICE).erased()
    next(parts)
    created = place.store.create(replace(a_task(number=3), created_at=datetime.now(UTC)))

    with pytest.raises(AccountError, match=f"Task {created.task_id} has not ended."):
        list(parts)

    assert place.store.load(created.key)
    assert noted[-1].state == "goes on"


def test_a_task_that_expired_while_it_ran_is_left_to_what_stops_its_execution(place: Place) -> None:
    task = place.store.create(a_task())

    with pytest.raises(AccountError, match=f"Task {task.task_id} has expired while it ran. DynamoDB"):
        place.erase(ALICE)


@pytest.mark.parametrize("tenths", range(11))
def test_an_erasure_that_ends_anywhere_is_finished_by_the_next(place: Place, tenths: int) -> None:
    place.fill(ALICE)
    deleted = len(place.keys()) - 1  # all but the one in a line
    left, client = [1 + tenths * (deleted - 1) // 10], place.table.client

    def fails(**_: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise ConnectionError

    client.meta.events.register("before-parameter-build.dynamodb.DeleteItem", fails)
    with pytest.raises(ConnectionError):
        place.erase(ALICE)
    states = [one.state for one in noted]
    place.erase(ALICE)

    assert states == ["begins", "goes on"]
    assert noted[-1].state == "done"
    assert place.keys() == []
    assert objects_in(place.bucket) == {}


def test_what_is_left_elsewhere_names_each_execution_and_until_when_it_is_kept(place: Place) -> None:
    task = a_task()
    run = replace(task.runs[0], attempt=Attempt(2, 2))
    task = place.store.create(replace(task, runs=(run,)))

    (left,) = place.erasure(ALICE).left()

    name = task.execution_of(0).name.removesuffix("-r2")
    assert [one.rpartition(":")[2] for one in left.executions] == [name, f"{name}-r2"]
    assert left.until > datetime.now(UTC) + timedelta(days=89)


def test_every_item_below_a_principal_has_its_kind(place: Place) -> None:
    place.fill(ALICE)
    places = [*Path(storage.__file__).parent.glob("*.py"), *Path(extras.__file__).parent.rglob("*.py")]
    texts = "".join(path.read_text(encoding="utf-8") for path in places)
    described = re.findall(r"pk  (?:the|an?) [\w']+ principal +sk  (.*)", texts)
    prefixes = {prefix for line in described for prefix in re.findall(r'"([a-z#]+)"', line) if prefix != "#"}

    kinds = {kind_of(item) for item in Held(place.calls, place.table.name, ALICE).page()}
    assert prefixes <= all_kinds().keys()
    assert kinds >= {"task", *(kind for part in parts("held") for kind in part.KINDS)}
    assert "item" not in kinds
