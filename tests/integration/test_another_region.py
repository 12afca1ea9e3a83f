"""The drill of docs/restoring.md: a Region is lost, and another one takes over its tasks."""

import time
from pathlib import Path
from typing import Final

from stepwire_local import LocalStack
from stepwire_local.account.engine import shared_account
from tests.game_day.regions import NEXT, REPLICA, TEXTS, imported, lost, owners_in, stack
from tests.integration.clock import Clock
from tests.integration.stacks import AwsCalls, Deployed
from tests.server.clients import ModernClient
from tests.waiting import until

SECONDS: Final = 60.0  # from the backup to an answer; it takes one, and the rest is for slow machines


def test_tasks_of_a_lost_region_are_answered_in_another(tmp_path: Path) -> None:
    owners = owners_in(tmp_path)
    with shared_account():
        left = lost(owners)
        began = time.perf_counter()
        taken_over = {"TasksTable": imported(), "LargeResults": REPLICA}
        with stack(owners, NEXT, taken_over, PrincipalSalt=left.salt) as there:
            client = ModernClient(Deployed(there, AwsCalls()))

            results = {name: client.task("get", left.tasks[name]).result["result"] for name in TEXTS}
            seconds = time.perf_counter() - began

            assert {name: one["structuredContent"]["text"] for name, one in results.items()} == TEXTS
            assert seconds < SECONDS
            ends_with_its_region(client, there, left.tasks["running"])
            again = client.call("parrot", {"text": "again"}).id_in()
            until(lambda: client.task("get", again).result["status"] == "completed")


def ends_with_its_region(client: ModernClient, there: LocalStack, task_id: str) -> None:
    """A task that ran in the lost Region fails at its next check, so its client knows that it must call again."""
    assert client.task("get", task_id).result["status"] == "working"
    clock = Clock()
    with clock.drives(there):
        clock.move(seconds=600)
        found = client.task("get", task_id).result
    assert (found["status"], found["error"]["code"]) == ("failed", -32603)
    assert "its state machine no longer exists" in found["statusMessage"]
