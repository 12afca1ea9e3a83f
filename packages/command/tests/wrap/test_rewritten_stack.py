"""What `stepwire wrap --write` has written, on the local stack: approvers are asked, or the caller."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult

from packages.command.tests.wrap.test_rewriting import APPROVERS, CALLER, STYLES, estate, put
from stepwire_cli.exits import Exit
from stepwire_client import Callbacks, Pace, connect
from stepwire_local import LocalStack
from stepwire_local.console import Console, Watchers
from stepwire_local.console.guard import HEADER
from tests.approval_page.desk import Caller
from tests.integration.stacks import ROOT
from tests.server.clients import TASKS_CAPABILITY, ModernClient
from tests.waiting import HANG_GUARD, until

pytestmark = pytest.mark.anyio
ORDER: Final[dict[str, Any]] = {"order": "A7"}


def served(folder: Path, style: str, deciding: Any) -> Iterator[LocalStack]:
    template = estate(folder, *STYLES[style])
    assert put(folder, deciding)[0] == Exit.DONE
    given = {"PollsPerSecond": "0", "WaitSeconds": "0"}
    stack = LocalStack(ROOT / "template.yaml", others=[template], name=folder.name, parameters=given)
    console = Console(stack)
    stack.watcher, stack.front = Watchers(console), console.in_front_of
    with stack:
        yield stack


@pytest.fixture(
    scope="module", params=["a file in YAML", pytest.param("as a text in the template", marks=pytest.mark.long)]
)
def for_approvers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    yield from served(tmp_path_factory.mktemp("approvers"), request.param, APPROVERS)


@pytest.mark.parametrize(("action", "bought"), [("accept", True), ("decline", False)])
def test_approvers_are_asked_and_the_workflow_does_what_they_decide(
    for_approvers: LocalStack, action: str, *, bought: bool
) -> None:
    stack, open_ones = for_approvers, list[Any]()
    client = ModernClient(Caller(stack.url), capabilities=TASKS_CAPABILITY)
    task_id = client.call("orders", ORDER).id_in()

    def is_asked() -> bool:
        found = httpx.get(f"{stack.base_url}/console/api/approvals?as=Ann", timeout=HANG_GUARD, trust_env=False).json()
        open_ones[:] = [one for one in found if one["taskId"] == task_id]
        return bool(open_ones)

    until(is_asked)
    (question,) = open_ones
    answer: dict[str, Any] = {"action": action, **({"content": {}} if action == "accept" else {})}
    sent = {"origin": stack.base_url, HEADER: "1"}
    url = f"{stack.base_url}/console/api/approvals/{question['name']}?as=Ann"
    assert httpx.post(url, json=answer, headers=sent, timeout=HANG_GUARD, trust_env=False).is_success

    until(lambda: client.task("get", task_id).result["status"] == "completed")
    assert (question["audience"], question["params"]["requestedSchema"]["properties"]) == ("managers", {})
    assert client.task("get", task_id).result["result"]["structuredContent"] == {"bought": bought}


@pytest.fixture(scope="module")
def for_the_caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    yield from served(tmp_path_factory.mktemp("caller"), "in the template", CALLER)


@pytest.mark.parametrize(
    ("action", "approved", "bought"), [("accept", True, True), ("accept", False, False), ("decline", None, False)]
)
async def test_the_caller_is_asked_where_that_was_chosen(
    for_the_caller: LocalStack, action: Any, approved: bool | None, *, bought: bool
) -> None:
    asked: list[ElicitRequestFormParams] = []

    async def answer(params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        asked.append(params)
        return ElicitResult(action=action, content=None if approved is None else {"approved": approved})

    pace = Pace(longest=timedelta(seconds=0.1))
    async with connect(for_the_caller.url, callbacks=Callbacks(elicit=answer), pace=pace) as client:
        result = await client.call_tool("orders", ORDER)

    assert [list(one.requested_schema["properties"]) for one in asked] == [["approved"]]
    assert (result.is_error, result.structured_content) == (False, {"bought": bought}), result.content
