"""What is held of one caller, in the table and in the bucket, and the function that erases it."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from stepwire.aws import storage
from stepwire.aws.clients import s3_client
from stepwire.aws.erasures_function import ErasuresHandler
from stepwire.aws.s3 import LargeResults
from stepwire.aws.storage.approvals import DynamoDbSubscribers
from stepwire.aws.storage.events import DynamoDbEventStore, DynamoDbSubscriptionStore
from stepwire.aws.storage.holdings import KINDS, ErasedObjects, Holdings, kind_of
from stepwire.aws.storage.items import LARGEST_PART
from stepwire.aws.storage.lines import share_key
from stepwire.aws.storage.table import Table
from stepwire.aws.storage.task_store import DynamoDbTaskStore, task_store
from stepwire.principal import Principal
from stepwire.subscriptions.events import FINISHED, Filter, Position
from stepwire.subscriptions.ports import Subscriber
from stepwire.subscriptions.subscription import Subscription
from stepwire.tasks.limits import LineTerms, Rules
from stepwire.tasks.runs import Attempt
from stepwire.tasks.task import Completed, Terms, ToolResult
from tests.buckets import new_bucket, objects_in
from tests.contracts.task_stores import a_task
from tests.kits import ALICE, BOB
from tests.simulated.dynamodb import quick_dynamodb_client
from tests.tables import new_table, table_behind

AT = datetime(2026, 11, 25, 12, tzinfo=UTC)
ADMIN = "arn:aws:sts::123456789012:assumed-role/operators/olga"


class Place:
    """A table and a bucket, and the function."""

    def __init__(self, bucket: str) -> None:
        self.bucket, self.table = bucket, Table(new_table(), quick_dynamodb_client)
        self.store: DynamoDbTaskStore = task_store(self.table, lambda: LargeResults(bucket, s3_client()))
        self.handler = ErasuresHandler()
        vars(self.handler).update(_table=self.table, _objects=ErasedObjects(bucket, s3_client()))

    def command(self, **given: Any) -> dict[str, Any]:
        return self.handler({"stepwire_command": {"operator": ADMIN, **given}}, None)

    def keys(self) -> list[tuple[str, str]]:
        """Return the keys of all items."""
        items = (item.to_json()["Attributes"] for item in table_behind(self.table.name).all_items())
        return sorted((item["pk"]["S"], item["sk"]["S"]) for item in items)

    def fill(self, owner: Principal) -> None:
        """Store one of everything for a caller."""
        task = a_task(owner=owner)
        work = replace(task.work, terms=Terms(f'{{"text":"{"x" * 5_000}"}}'))
        line = LineTerms("line#pool:a", "pool:a", Rules())
        large = Completed(ToolResult("ä" * LARGEST_PART, is_error=False))
        self.store.save(replace(self.store.create(replace(task, work=work, line=line)), status=large))
        small = Completed(ToolResult("x" * 9_000, is_error=False))
        self.store.save(replace(self.store.create(a_task(owner=owner, number=2)), status=small))
        DynamoDbEventStore(self.table).open_record(owner, AT, AT + timedelta(days=1))
        wanted = Subscription(owner, Filter(FINISHED), "https://hooks.example/", "whsec_x", AT, Position(1, AT))
        subscriptions = DynamoDbSubscriptionStore(self.table)
        subscriptions.reserve(owner, wanted.id, AT, 1)
        subscriptions.begin(wanted)
        DynamoDbSubscribers(self.table).keep(Subscriber(owner, owner, frozenset({"d1", "d2"}), AT))
        self.table.put({**share_key("line#pool:a", owner), "waiting": {"N": "0"}, "round": {"N": "3"}})


@pytest.fixture
def place(aws: None) -> Place:
    return Place(new_bucket())


def test_nothing_of_the_caller_is_left_and_all_of_another(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.fill(BOB)
    others, kept = place.keys(), objects_in(place.bucket)
    place.fill(ALICE)
    held = len(place.keys()) - len(others)

    answer = place.command(erase=ALICE)
    again = place.command(erase=ALICE)

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (place.keys(), objects_in(place.bucket)) == (others, kept)
    beside = 3  # under two qualities, and in a line
    assert answer == {"items": held - beside, "objects": 1, "is_done": True}
    assert again == {"items": 0, "objects": 0, "is_done": True}
    assert [(one["audit"], one["principal"], one["operator"]) for one in lines] == [("erased", ALICE, ADMIN)] * 2
    assert lines[0]["outcome"] == f"{held - beside} items, 1 large results; done"


def test_a_task_that_has_not_ended_keeps_everything(place: Place) -> None:
    place.fill(ALICE)
    task = place.store.create(replace(a_task(number=3), created_at=datetime.now(UTC)))
    before, objects = place.keys(), objects_in(place.bucket)

    answer = place.command(erase=ALICE)

    assert answer == {"refused": f"Task {task.task_id} has not ended. Cancel what runs first: --cancel does."}
    assert (place.keys(), objects_in(place.bucket)) == (before, objects)


def test_a_task_that_is_created_during_an_erasure_is_not_erased_while_it_runs(place: Place) -> None:
    place.fill(ALICE)
    created = replace(a_task(number=3), created_at=datetime.now(UTC))
    calls = iter([None, None, lambda: place.store.create(created)])

    def may_go_on() -> bool:
        if create := next(calls, None):
            create()
        return True

    erased = Holdings(place.table, ALICE).erase(ErasedObjects(place.bucket, s3_client()), may_go_on)

    assert not erased.is_done
    assert place.command(erase=ALICE)["refused"].startswith(f"Task {created.task_id} has not ended.")


def test_a_task_that_expired_while_it_ran_is_left_to_what_stops_its_execution(place: Place) -> None:
    task = place.store.create(a_task())

    assert place.command(erase=ALICE)["refused"].startswith(f"Task {task.task_id} has expired while it ran. DynamoDB")


@pytest.mark.parametrize("calls", range(1, 12))
def test_an_erasure_that_ends_anywhere_is_finished_by_the_next(place: Place, calls: int) -> None:
    place.fill(ALICE)
    left, client = [calls], place.table.client

    def fails(**_: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise ConnectionError

    client.meta.events.register("before-parameter-build.dynamodb.DeleteItem", fails)
    with pytest.raises(ConnectionError):
        place.command(erase=ALICE)

    assert place.command(erase=ALICE)["is_done"]
    assert place.keys() == []
    assert objects_in(place.bucket) == {}


def test_a_command_erases_a_part_when_its_time_is_over(place: Place) -> None:
    place.fill(ALICE)

    none = Holdings(place.table, ALICE).erase(ErasedObjects(place.bucket, s3_client()), lambda: False)

    assert (none.items, none.objects, none.is_done) == (0, 0, False)
    assert objects_in(place.bucket) != {}


def test_the_survey_names_each_execution_and_until_when_it_is_kept(place: Place) -> None:
    task = a_task()
    run = replace(task.runs[0], attempt=Attempt(2, 2))
    task = place.store.create(replace(task, runs=(run,)))

    answer = place.command(survey=ALICE)

    (shown,) = answer["tasks"]
    name = task.execution_of(0).name.removesuffix("-r2")
    assert [one.rpartition(":")[2] for one in shown["executions"]] == [name, f"{name}-r2"]
    assert (shown["has_ended"], answer["after"]) == (False, None)
    assert datetime.fromisoformat(shown["kept_until"]) > datetime.now(UTC) + timedelta(days=89)


@pytest.mark.parametrize("command", [{}, {"erase": None}, {"erase": "blocks"}, {"survey": ALICE, "after": 1}])
def test_what_is_no_command_erases_nothing(place: Place, command: dict[str, Any]) -> None:
    place.fill(ALICE)
    before = place.keys()

    assert "refused" in place.command(**command)
    assert place.keys() == before


def test_every_item_below_a_principal_has_its_kind(place: Place) -> None:
    place.fill(ALICE)
    texts = "".join(path.read_text(encoding="utf-8") for path in Path(storage.__file__).parent.glob("*.py"))
    described = re.findall(r"pk  (?:the|an?) [\w']+ principal +sk  (.*)", texts)
    prefixes = {prefix for line in described for prefix in re.findall(r'"([a-z#]+)"', line) if prefix != "#"}

    assert prefixes - {"events#sub#", "events#record"} <= KINDS.keys()
    assert {kind_of(item) for item in Holdings(place.table, ALICE).items()} >= {"task", "subscription", "approver"}
    assert "item" not in {kind_of(item) for item in Holdings(place.table, ALICE).items()}
