"""The drill of docs/restoring.md: a Region is lost, and another one takes over its tasks."""

import time
from pathlib import Path
from typing import Final

import pytest

from stepwire_local import LocalStack
from stepwire_local.account.engine import shared_account
from tests.integration.clock import Clock
from tests.server.clients import ModernClient
from tests.waiting import until
from tools.game_day.regions import NEXT, TEXTS, client_of, copied, imported, lost, owners_in, stack

SECONDS: Final = 60.0  # from the backup to an answer; it takes one, and the rest is for slow machines


@pytest.mark.long
def test_tasks_of_a_lost_region_are_answered_in_another(tmp_path: Path) -> None:
    owners = owners_in(tmp_path)
    with shared_account():
        left = lost(owners)
        began = time.perf_counter()
        with stack(owners, NEXT, {"TasksTable": imported()}, PrincipalSalt=left.salt) as there:
            copied(there.physical_ids["LargeResults"])
            alice = client_of(there, "alice")

            results = {name: alice.task("get", left.tasks[name]).result["result"] for name in TEXTS}
            seconds = time.perf_counter() - began

            assert {name: one["structuredContent"]["text"] for name, one in results.items()} == TEXTS
            assert seconds < SECONDS
            is_a_whole_table(there)
            ends_with_its_region(alice, there, left.tasks["running"])
            again = alice.call("parrot", {"text": "again"}).id_in()
            until(lambda: alice.task("get", again).result["status"] == "completed")


def is_a_whole_table(there: LocalStack) -> None:
    """The deployment over the imported table adds what an import leaves out, as far as it is simulated."""
    dynamodb, name = there.client("dynamodb"), there.physical_ids["TasksTable"]
    stream = dynamodb.describe_table(TableName=name)["Table"]["StreamSpecification"]
    ttl = dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]

    assert stream == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert (ttl["TimeToLiveStatus"], ttl["AttributeName"]) == ("ENABLED", "expires_at")


def ends_with_its_region(client: ModernClient, there: LocalStack, task_id: str) -> None:
    """A task that ran in the lost Region fails at its next check, so its client knows that it must call again."""
    assert client.task("get", task_id).result["status"] == "working"
    clock = Clock()
    with clock.drives(there):
        clock.move(seconds=600)
        found = client.task("get", task_id).result
    assert (found["status"], found["error"]["code"]) == ("failed", -32603)
    assert "its state machine no longer exists" in found["statusMessage"]
