"""What `stepwire wrap --write` has written for approvers, on the local stack."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from packages.command.tests.wrap.test_rewritten_stack import ORDER, served
from packages.wrap.tests.extras.approvals.test_rewriting import APPROVERS
from stepwire_local import LocalStack
from stepwire_local.console.guard import HEADER
from tests.extras.approvals.page.desk import Caller
from tests.server.clients import TASKS_CAPABILITY, ModernClient
from tests.waiting import HANG_GUARD, until


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
