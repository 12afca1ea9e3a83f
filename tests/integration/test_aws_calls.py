"""The AWS calls of a request, counted where botocore makes them."""

import importlib.util
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.cost import calls
from stepwire.principal import Caller
from stepwire.protocol.http import HttpRequest
from stepwire_local import never
from tests.cold_start import SETTINGS, write_catalog
from tests.integration.clock import Clock
from tests.integration.stacks import ROOT, SIGN_IN, AwsCalls, Deployed, body_of, deployed, event_of
from tests.kits import ALICE
from tests.server.clients import LegacyClient, ModernClient

FAST = {"message": "hello"}
SLOW = {"message": "hello", "seconds": 600}
Client = LegacyClient | ModernClient


@pytest.fixture(scope="module")
def stack() -> Iterator[Deployed]:
    """The root template. No status event arrives, so only requests call AWS."""
    many = {"MostActiveTasks": "500"}  # all tasks of these tests stay active
    with deployed(ROOT / "stack.yaml", never, WaitSeconds="0", REPAIR_AFTER_SECONDS="600", **many, **SIGN_IN) as stack:
        yield stack


@pytest.fixture(scope="module")
def impatient_stack(clock: Clock) -> Iterator[Deployed]:
    """A stack in which every task is overdue after a second, the shortest interval that the template allows."""
    no_waiting = {"WaitSeconds": "0", "REPAIR_AFTER_SECONDS": "1", "STATE_AFTER_SECONDS": "0"}
    with deployed(ROOT / "stack.yaml", never, 1, clock, **no_waiting) as stack:
        yield stack


@pytest.fixture(params=["legacy", "modern"])
def client(request: pytest.FixtureRequest, stack: Deployed) -> Client:
    """A client of either era that has called before, so that the AWS clients exist."""
    client = LegacyClient(stack) if request.param == "legacy" else ModernClient(stack)
    start(client, SLOW)
    stack.calls.forget()
    return client


def start(client: Client, arguments: dict[str, Any], key: str | None = None) -> str:
    """Call the tool with a task; return the task's id."""
    params: dict[str, Any] = {"name": "wait_and_echo", "arguments": arguments}
    headers = None if key is None else {"idempotency-key": key}
    if isinstance(client, LegacyClient):
        return client.ask("tools/call", {**params, "task": {}}, headers=headers).id_in("task")
    return client.ask("tools/call", params, headers=headers).id_in()


def test_a_call_as_a_task_is_two_writes_and_one_start(client: Client, stack: Deployed) -> None:
    start(client, SLOW)

    # One more if the caller has just created another task: the creation rate continues instead of starting.
    assert stack.calls.made in ([*calls.CREATE], ["UpdateItem", *calls.CREATE])


def test_a_call_with_a_key_is_one_write_more_and_a_repeated_call_starts_nothing(
    client: Client, stack: Deployed
) -> None:
    key = f"key-of-{type(client).__name__}"
    start(client, SLOW, key)
    first = list(stack.calls.made)
    start(client, SLOW, key)  # the first repetition saves the task, so that it is not rolled back
    stack.calls.forget()

    start(client, SLOW, key)

    assert first in ([*calls.KEYED], ["PutItem", "UpdateItem", *calls.CREATE])
    assert stack.calls.made == [*calls.REPEATED]


def test_a_poll_in_the_steady_state_is_one_read(client: Client, stack: Deployed) -> None:
    task_id = start(client, SLOW)
    stack.calls.forget()

    client.task("get", task_id)

    assert stack.calls.made == [*calls.POLL]


def test_a_poll_of_a_task_that_has_ended_is_one_read(client: Client, stack: Deployed) -> None:
    task_id = start(client, SLOW)
    client.task("cancel", task_id)
    stack.calls.forget()

    client.task("get", task_id)

    assert stack.calls.made == [*calls.POLL]


def test_a_status_event_is_a_read_and_two_writes(client: Client, stack: Deployed) -> None:
    event = stack.status_event(start(client, SLOW), "execution_failed")
    stack.calls.forget()

    stack.stack.invoke("ExecutionEventsFunction", event)

    assert stack.calls.made == [*calls.END]


def test_the_removal_of_an_ended_task_makes_no_aws_call(client: Client, stack: Deployed) -> None:
    task_id = start(client, SLOW)
    client.task("cancel", task_id)
    found = stack.stack.client("dynamodb").scan(TableName=stack.stack.physical_ids["TasksTable"])["Items"]
    item = next(item for item in found if item["sk"]["S"] == f"task#{task_id}")
    by_ttl = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    record = {"eventName": "REMOVE", "userIdentity": by_ttl, "dynamodb": {"SequenceNumber": "1", "OldImage": item}}
    stack.calls.forget()

    stack.stack.invoke("ExpirationsFunction", {"Records": [record]})

    assert stack.calls.made == [*calls.REMOVAL]


# Read, check, record, free the slot: the most expensive poll, once for each task whose event was lost.
@pytest.mark.long
@pytest.mark.parametrize("era", [LegacyClient, ModernClient])
def test_a_poll_that_repairs_an_overdue_task_is_four_calls_and_the_next_poll_is_one(
    impatient_stack: Deployed, clock: Clock, era: type[Client]
) -> None:
    client, made = era(impatient_stack), impatient_stack.calls
    task_id = start(client, FAST)
    impatient_stack.wait_for_the_end_of(task_id)
    clock.move(seconds=1)
    made.forget()

    status = client.task("get", task_id).result["status"]
    repair = list(made.made)
    client.task("get", task_id)

    assert status == "completed"
    assert repair == [*calls.REPAIR]
    assert made.made == [*repair, *calls.POLL]


def test_a_cancel_is_a_read_a_stop_and_a_write(client: Client, stack: Deployed) -> None:
    task_id = start(client, SLOW)
    stack.calls.forget()

    client.task("cancel", task_id)

    assert stack.calls.made == ["GetItem", "StopExecution", "PutItem", "UpdateItem"]


def test_the_result_of_a_task_that_has_ended_is_one_read(stack: Deployed) -> None:
    client = LegacyClient(stack)
    task_id = start(client, SLOW)
    client.task("cancel", task_id)
    stack.calls.forget()

    client.task("result", task_id)

    assert stack.calls.made == [*calls.POLL]


@pytest.mark.long
def test_a_list_of_tasks_is_one_query_a_page(stack: Deployed) -> None:
    client = LegacyClient(stack)
    ids = {start(client, FAST) for _ in range(51)}
    stack.calls.forget()

    first = client.ask("tasks/list").result
    second = client.ask("tasks/list", {"cursor": first["nextCursor"]}).result

    assert stack.calls.made == ["Query", "Query"]
    assert ids <= {task["taskId"] for task in first["tasks"] + second["tasks"]}


def test_an_answer_without_a_question_is_one_read(stack: Deployed) -> None:
    client = ModernClient(stack)
    task_id = start(client, SLOW)
    stack.calls.forget()

    client.task("update", task_id, inputResponses={})

    assert stack.calls.made == ["GetItem"]


def test_an_unknown_task_is_one_read_and_a_malformed_id_none(client: Client, stack: Deployed) -> None:
    client.task("get", "0" * 36)
    unknown = list(stack.calls.made)
    client.task("get", "nonsense")

    assert unknown == stack.calls.made == ["GetItem"]


def test_bad_arguments_make_no_aws_call(client: Client, stack: Deployed) -> None:
    client.call("wait_and_echo", {"seconds": "soon"})

    assert stack.calls.made == []


@pytest.fixture
def model(client: Client, stack: Deployed) -> Client:
    """A client of the same era without tasks, whose model calls tools."""
    return client if isinstance(client, LegacyClient) else ModernClient(stack, capabilities={})


# A tool costs the same calls as the method that it replaces.
@pytest.mark.parametrize(
    ("tool", "arguments", "cost"),
    [
        ("task_result", {}, [*calls.POLL]),
        ("task_answer", {"question": "approval", "answer": {}}, ["GetItem"]),
        ("task_cancel", {}, ["GetItem", "StopExecution", "PutItem", "UpdateItem"]),
    ],
)
def test_a_tool_that_replaces_a_method_makes_the_same_aws_calls(
    client: Client, model: Client, stack: Deployed, tool: str, arguments: dict[str, Any], cost: list[str]
) -> None:
    task_id = start(client, SLOW)
    stack.calls.forget()

    model.call(tool, {"task_id": task_id, **arguments})

    assert stack.calls.made == cost


def test_the_result_that_a_model_fetches_is_one_read(client: Client, model: Client, stack: Deployed) -> None:
    task_id = start(client, SLOW)
    client.task("cancel", task_id)
    stack.calls.forget()

    model.call("task_result", {"task_id": task_id})

    assert stack.calls.made == [*calls.POLL]


def test_the_list_of_a_models_tasks_is_one_query(model: Client, stack: Deployed) -> None:
    model.call("task_list", {})

    assert stack.calls.made == ["Query"]


def test_a_model_that_names_no_task_makes_no_aws_call(model: Client, stack: Deployed) -> None:
    model.call("task_result", {"task_id": "nonsense"})

    assert stack.calls.made == []


def requests_that_need_no_aws() -> dict[str, Callable[[Client], object]]:
    """Return these requests, by name."""
    return {
        "initialize": lambda client: LegacyClient(client.endpoint).initialize(),
        "ping": lambda client: LegacyClient(client.endpoint).ask("ping"),
        "tools/list, legacy": lambda client: LegacyClient(client.endpoint).ask("tools/list"),
        "tools/list, modern": lambda client: ModernClient(client.endpoint).ask("tools/list"),
        "server/discover": lambda client: ModernClient(client.endpoint).ask("server/discover"),
        "an unknown tool": lambda client: client.call("no_such_tool"),
        "an unknown method": lambda client: client.ask("no/such/method"),
    }


@pytest.mark.parametrize("ask", requests_that_need_no_aws().values(), ids=list(requests_that_need_no_aws()))
def test_requests_with_the_same_answer_for_all_make_no_aws_call(
    client: Client, stack: Deployed, ask: Callable[[Client], object]
) -> None:
    ask(client)

    assert stack.calls.made == []


def test_no_client_of_aws_is_built_before_a_request_needs_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_catalog(tmp_path)
    for name, value in {
        **SETTINGS,
        "LAMBDA_TASK_ROOT": str(tmp_path),
        "TABLE_NAME": "no-such-table",
        "SECRET_ARN": "never-asked-for",
    }.items():
        monkeypatch.setenv(name, value)
    made = AwsCalls()

    with made.of_handlers():
        handler = loaded(ROOT / "functions/mcp/app.py").handler
        answers = [handler(event, None) for event in events_that_need_no_aws()]

    assert all("result" in body_of(answer) for answer in answers)
    assert (made.clients, made.made) == ([], [])


def events_that_need_no_aws() -> list[dict[str, Any]]:
    """Return one event of each kind."""
    modern = ModernClient(never_asked())
    plain = {"content-type": "application/json"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a test", "version": "1"}}
    legacy = [{"jsonrpc": "2.0", "id": 1, "method": name, "params": params} for name in ("initialize", "ping")]
    sent = [(message, plain) for message in legacy]
    sent += [(modern.message(name), modern.headers(name, {})) for name in ("server/discover",)]
    return [event_of(HttpRequest("POST", headers, json.dumps(body).encode(), Caller(ALICE))) for body, headers in sent]


def never_asked() -> Any:
    """Return an endpoint for a client that only writes messages."""
    return None


def loaded(path: Path) -> Any:
    """Import a function's module again, as a new Lambda instance does."""
    spec = importlib.util.spec_from_file_location(f"fresh_{path.parent.name}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
