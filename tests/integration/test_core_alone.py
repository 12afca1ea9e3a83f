"""The core's template as it is, without the part of any extra: what `sam deploy` makes of a clone."""

from collections.abc import Iterator

import pytest

from stepwire_local import at_once
from tests.integration.stacks import ROOT, Deployed, deployed
from tests.server.clients import LegacyClient, ModernClient
from tests.waiting import until

TOOL = "wait_and_echo"


@pytest.fixture(scope="module")
def stack() -> Iterator[Deployed]:
    with deployed(ROOT / "template.yaml", at_once, WaitSeconds="0") as stack:
        yield stack


def test_a_tool_that_an_owner_registered_runs_as_a_task(stack: Deployed) -> None:
    client = ModernClient(stack)

    task_id = client.call(TOOL, {"message": "hello", "seconds": 0}).id_in()

    until(lambda: client.task("get", task_id).result["status"] == "completed")
    assert client.task("get", task_id).result["result"]["structuredContent"] == {
        "message": "hello",
        "waited_seconds": 0,
    }


def test_an_older_client_gets_its_result_too(stack: Deployed) -> None:
    client = LegacyClient(stack)

    task_id = client.call(TOOL, {"message": "hello", "seconds": 0}, task={}).id_in("task")

    until(lambda: client.task("get", task_id).result["status"] == "completed")


def test_a_task_that_runs_is_cancelled(stack: Deployed) -> None:
    client = ModernClient(stack)
    task_id = client.call(TOOL, {"message": "hello", "seconds": 600}).id_in()

    client.task("cancel", task_id)

    assert client.task("get", task_id).result["status"] == "cancelled"


def test_the_server_announces_nothing_of_an_extra(stack: Deployed) -> None:
    found = ModernClient(stack).ask("server/discover", {}).result

    assert found["capabilities"]["extensions"].keys() == {"io.modelcontextprotocol/tasks"}
