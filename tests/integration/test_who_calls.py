"""The example of docs/who_calls.md: a workflow that decides by who calls, registered and called on the local stack."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
import yaml

from stepwire.aws.storage.compiled_catalog import DynamoDbPublisher
from stepwire.aws.storage.table import Table
from stepwire.catalog.live import REREAD_AFTER
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire_local import at_once
from tests.integration.clock import Clock
from tests.integration.stacks import ROOT, SIGN_IN, Deployed, deployed, event_of
from tests.recorded import recorded
from tests.server.answers import Json
from tests.server.clients import LegacyClient, ModernClient
from tests.waiting import until

PAGE: Final = (ROOT / "docs/who_calls.md").read_text(encoding="utf-8")
MANIFEST, DEFINITION = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
MONTH: Final[Json] = {"month": "2026-11"}


@dataclass
class SignedIn:
    """The endpoint, for a caller with these claims or this signature."""

    stack: Deployed
    claims: Json = field(default_factory=dict[str, Any])
    signature: Json | None = None
    """The caller's signature with IAM, in place of a token."""

    @property
    def server(self) -> "SignedIn":
        return self

    def handle(self, request: HttpRequest) -> HttpResponse:
        event = event_of(request)
        event["requestContext"]["authorizer"]["jwt"]["claims"] |= self.claims
        if self.signature is not None:
            event["requestContext"]["authorizer"] = {"iam": self.signature}
        response = self.stack.stack.invoke("McpFunction", event)
        return HttpResponse(response["statusCode"], response["body"], response["headers"])


@pytest.fixture(scope="module")
def stack(clock: Clock) -> Iterator[Deployed]:
    with deployed(ROOT / "stack.yaml", at_once, 1, clock, **SIGN_IN, WaitSeconds="0") as stack:
        adopt(stack)
        clock.move(seconds=REREAD_AFTER.total_seconds())
        yield stack


def adopt(stack: Deployed) -> None:
    """Make the state machine of the page with its tag, and register its manifest."""
    endpoint = stack.stack.physical_ids["McpFunction"].removesuffix("-McpFunction")
    name = "MonthlyTotals"
    stack.stack.client("stepfunctions").create_state_machine(
        name=name,
        definition=json.dumps(yaml.safe_load(DEFINITION)),
        roleArn="arn:aws:iam::123456789012:role/none",
        tags=[{"key": "stepwire:endpoint", "value": endpoint}],
    )
    path = f"/stepwire/{endpoint}/tools/monthly_totals"
    stack.stack.client("ssm").put_parameter(Name=path, Value=MANIFEST, Type="String")
    table = DynamoDbPublisher(Table(stack.stack.physical_ids["TasksTable"], lambda: stack.stack.client("dynamodb")))
    until(lambda: "monthly_totals" in table.load()[1])


def result_of(stack: Deployed, era: str, claims: Json) -> Json:
    """Call the tool in an era, and return its result."""
    endpoint = SignedIn(stack, claims)
    if era == "modern":
        modern = ModernClient(endpoint)
        task_id = modern.call("monthly_totals", MONTH).id_in()
        until(lambda: modern.task("get", task_id).result["status"] == "completed")
        return modern.task("get", task_id).result["result"]
    legacy = LegacyClient.opened(endpoint)
    task_id = legacy.call("monthly_totals", MONTH, task={}).id_in("task")
    until(lambda: legacy.task("get", task_id).result["status"] != "working")
    return legacy.task("result", task_id).result


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_workflow_of_the_page_decides_by_who_calls(
    stack: Deployed, era: str, capsys: pytest.CaptureFixture[str]
) -> None:
    allowed = result_of(stack, era, {"department": "finance", "email": "alice@example.com"})
    refused = result_of(stack, era, {"department": "sales", "email": "bob@example.com"})
    unknown = result_of(stack, era, {})

    assert allowed["structuredContent"] == {"month": "2026-11", "total": "1890.00", "read_by": "alice@example.com"}
    for other in (refused, unknown):
        assert other["isError"]
        assert "Only the finance department reads totals." in other["content"][0]["text"]
    out, err = capsys.readouterr()
    assert "example.com" not in out + err


def test_nobody_can_say_who_they_are(stack: Deployed) -> None:
    client = ModernClient(SignedIn(stack, {"department": "sales"}))

    answer = client.call("monthly_totals", {**MONTH, "caller": {"claims": {"department": "finance"}}})

    assert "at /caller: is set by the server: leave it out" in answer.text


def test_the_input_that_the_page_shows_has_the_members_that_the_workflow_gets(stack: Deployed) -> None:
    (shown,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    client = ModernClient(SignedIn(stack, {"department": "finance"}))
    task_id = client.call("monthly_totals", MONTH).id_in()

    execution = stack.stack.client("stepfunctions").describe_execution(executionArn=execution_of(stack, task_id))

    given, example = json.loads(execution["input"]), json.loads(shown)
    assert given.keys() == example.keys()
    assert given["caller"].keys() == example["caller"].keys()
    assert given["caller"]["claims"] == {"department": "finance", "email": None}
    assert given["caller"]["task_id"] == task_id


def execution_of(stack: Deployed, task_id: str) -> str:
    states = stack.stack.client("stepfunctions")
    machines = states.list_state_machines()["stateMachines"]
    pages = [states.list_executions(stateMachineArn=one["stateMachineArn"])["executions"] for one in machines]
    return next(one["executionArn"] for page in pages for one in page if one["name"].endswith(task_id))


def test_a_caller_that_signs_with_iam_is_told_of_in_the_same_way(stack: Deployed) -> None:
    signature = recorded("http_post_iam")["requestContext"]["authorizer"]["iam"]
    client = ModernClient(SignedIn(stack, signature=signature))

    task_id = client.call("monthly_totals", MONTH).id_in()

    execution = stack.stack.client("stepfunctions").describe_execution(executionArn=execution_of(stack, task_id))
    caller = json.loads(execution["input"])["caller"]
    assert re.fullmatch("[0-9a-f]{32}", caller["principal"])
    assert caller["claims"] == {"department": None, "email": None}, "a signature has no such claims"
    until(lambda: client.task("get", task_id).result["status"] == "completed")
    assert client.task("get", task_id).result["result"]["isError"], "refused by default"
