"""Plant secrets in every input, and search the functions' output for them."""

import json
import logging
import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import current_thread
from types import SimpleNamespace
from typing import Any, Final

import pytest
from botocore.model import OperationModel

from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire_local import FunctionError, at_once
from tests.integration.stacks import ROOT, SIGN_IN, Deployed, deployed, event_of
from tests.recorded import recorded
from tests.server.answers import Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient
from tests.template.chosen import ON
from tests.waiting import until

SECRETS: Final = {
    name: f"xyzzy-{name}-8d1f"
    for name in (
        "argument",
        "answer",
        "bearer",
        "subject",
        "claim",
        "key",
        "error",
        "cause",
        "fault",
        "progress",
        "meta",
    )
}
REFUND: Final[Json] = {"order_id": "A-1002", "amount": "249.00", "currency": "EUR", "reason": SECRETS["argument"]}
ECHO: Final[Json] = {"message": SECRETS["argument"]}
KEYED: Final = {"idempotency-key": SECRETS["key"]}


@dataclass
class Faults:
    """AWS errors whose messages contain a secret."""

    operation: str | None = None
    """The operation that fails now."""
    function: str = ""
    """The function whose calls fail; concurrent calls of others succeed."""
    met: int = 0

    def answer(self, model: OperationModel) -> tuple[SimpleNamespace, Json] | None:
        """Answer a call instead of AWS; None passes it on."""
        if model.name != self.operation or not current_thread().name.endswith(f"-{self.function}"):
            return None
        self.met += 1
        error = {"Code": "ValidationException", "Message": f"Not valid: {SECRETS['fault']}"}
        return SimpleNamespace(status_code=400), {"Error": error, "ResponseMetadata": {"HTTPStatusCode": 400}}

    @contextmanager
    def of(self, operation: str, function: str = "McpFunction") -> Generator[None]:
        """Let an operation fail; check that it was called."""
        self.operation, self.function, self.met = operation, function, 0
        yield
        self.operation = None
        assert self.met, f"{operation} was never called"


@dataclass
class Endpoint:
    """A stack whose callers have signed in with a token full of secrets."""

    deployed: Deployed
    claims: Json = field(default_factory=lambda: {"sub": SECRETS["subject"], "email": SECRETS["claim"]})

    @property
    def server(self) -> "Endpoint":
        """The server, as the clients of these tests expect it."""
        return self

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request."""
        event = event_of(request)
        event["headers"]["authorization"] = f"Bearer {SECRETS['bearer']}"
        event["requestContext"]["authorizer"]["jwt"]["claims"] |= self.claims
        response = self.deployed.stack.invoke("McpFunction", event)
        return HttpResponse(response["statusCode"], response["body"], response["headers"])


@dataclass
class Log:
    """All output of the functions so far."""

    capsys: pytest.CaptureFixture[str]
    records: list[logging.LogRecord] = field(default_factory=list[logging.LogRecord])
    printed: str = ""

    def text(self) -> str:
        """Return all output."""
        out, err = self.capsys.readouterr()
        self.printed += out + err
        return "\n".join([self.printed, *map(_whole, self.records)])

    def count(self, words: str) -> int:
        """Return how many records have these words."""
        return sum(words in record.getMessage() for record in self.records)

    def entries(self, action: str) -> list[Json]:
        """Return the audit log lines of an action."""
        self.text()
        lines = [json.loads(line) for line in self.printed.splitlines() if '"audit"' in line]
        return [line for line in lines if line["audit"] == action]


def _whole(record: logging.LogRecord) -> str:
    """Format a record with all its fields; Lambda also logs a handler's exception with its causes."""
    trace = "".join(traceback.format_exception(record.exc_info[1])) if record.exc_info else ""
    return f"{record.getMessage()} {record.__dict__!r} {trace}"


@pytest.fixture
def log(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Log]:
    """Capture every record, regardless of handlers and levels."""
    heard = Log(capsys)
    make: Callable[..., logging.LogRecord] = logging.getLogRecordFactory()

    def hear(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        heard.records.append(record)
        return record

    # Loggers of earlier tests may write to closed streams, which does not matter: this test captures the records.
    monkeypatch.setattr(logging, "raiseExceptions", False)
    logging.setLogRecordFactory(hear)
    yield heard
    logging.setLogRecordFactory(make)


@pytest.fixture
def faults() -> Faults:
    """AWS errors that a test can switch on."""
    return Faults()


@pytest.fixture
def stack(log: Log, faults: Faults) -> Iterator[Deployed]:
    """The root template with sign-in; new for each test, so that its loggers write where the test listens."""
    with deployed(ROOT / "stack.yaml", at_once, WaitSeconds="0", **ON, **SIGN_IN) as stack:
        stack.calls.answer = faults.answer
        yield stack


@pytest.fixture
def modern(stack: Deployed) -> ModernClient:
    """A client that can ask its user."""
    return ModernClient(Endpoint(stack), capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})


def found(client: ModernClient, task_id: str) -> Json:
    return client.task("get", task_id).result


def until_status(stack: Deployed, client: ModernClient, task_id: str, status: str) -> None:
    """Wait until a task has a status, and until whatever gave it that has written its log: the task is saved first."""
    until(lambda: found(client, task_id)["status"] == status)
    stack.stack.drain()


def leaked(log: Log) -> list[str]:
    """Return the secrets in the output."""
    text = log.text()
    return [secret for secret in SECRETS.values() if secret in text]


def owners(lines: list[Json]) -> set[str]:
    return {line["principal"] for line in lines}


# T28
def test_the_log_of_a_task_with_a_question_contains_only_its_id_and_its_owners_hash(
    stack: Deployed, modern: ModernClient, log: Log
) -> None:
    params: Json = {"name": "approve_refund", "arguments": REFUND}
    trace = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01", "tracestate": f"vendor={SECRETS['meta']}"}
    meta = {**trace, "baggage": SECRETS["meta"], "progressToken": SECRETS["meta"]}
    task_id = modern.ask("tools/call", params, headers=KEYED, meta=meta).id_in()
    assert modern.ask("tools/call", params, headers=KEYED).id_in() == task_id
    until_status(stack, modern, task_id, "input_required")
    answer: Json = {"action": "accept", "content": {"amount": 100, "note": SECRETS["answer"]}}
    wrong: Json = {"action": "accept", "content": {"amount": SECRETS["answer"]}}
    modern.update(task_id, {"approval": wrong})

    modern.update(task_id, {"approval#2": answer})
    until_status(stack, modern, task_id, "completed")
    result = found(modern, task_id)["result"]

    assert result["structuredContent"]["note"] == SECRETS["answer"], "the input must contain the secret"
    created, (ended,) = log.entries("created"), log.entries("ended")
    assert [line["task_id"] for line in created] == [task_id]
    assert (ended["task_id"], ended["outcome"], ended["Completed"]) == (task_id, "completed", [1.0])
    assert [line["trace_id"] for line in (*created, ended)] == ["a" * 32] * 2
    (owner,) = owners([*created, ended, *log.entries("polled"), *log.entries("refused")])
    assert len(owner) == 32
    assert [line["outcome"] for line in log.entries("refused")] == ["WrongAnswer"]
    assert leaked(log) == []


# T28
@pytest.mark.long
def test_the_log_of_a_failed_task_contains_neither_error_nor_cause(
    stack: Deployed, modern: ModernClient, log: Log
) -> None:
    failing = {**ECHO, "error": SECRETS["error"], "cause": SECRETS["cause"]}
    task_id = modern.call("wait_and_echo", failing).id_in()
    until_status(stack, modern, task_id, "completed")

    text = found(modern, task_id)["result"]["content"][0]["text"]

    assert SECRETS["cause"] in text, "the input must contain the secret"
    ended = log.entries("ended")
    assert [line["outcome"] for line in ended] == ["completed_with_error"]
    assert {line["task_id"] for line in log.entries("retrieved")} == {task_id}
    assert leaked(log) == []


# T28
@pytest.mark.long
def test_the_log_of_cancellations_and_refusals_contains_no_input(modern: ModernClient, log: Log) -> None:
    legacy = LegacyClient(modern.endpoint)
    task_id = modern.call("wait_and_echo", {**ECHO, "seconds": 600}).id_in()

    modern.task("cancel", task_id)
    for client in (legacy, modern):
        client.ask("tools/call", {"name": SECRETS["argument"], "arguments": ECHO})
        client.ask("tools/call", {"name": "wait_and_echo", "arguments": {"message": 1, SECRETS["argument"]: 1}})
        client.ask("tasks/get", {"taskId": SECRETS["argument"]})
        client.ask(f"no/{SECRETS['argument']}")
    for text in ("first", "second"):
        params: Json = {"name": "wait_and_echo", "arguments": {"message": text + SECRETS["argument"]}}
        modern.ask("tools/call", params, headers=KEYED)
    modern.ask("tools/call", {"name": "wait_and_echo", "arguments": ECHO}, headers={"mcp-name": SECRETS["argument"]})

    assert [line["task_id"] for line in log.entries("cancelled")] == [task_id]
    names = {line["outcome"] for line in log.entries("refused")}
    assert {"UnknownTool", "UnknownTask", "MethodNotFound", "IdempotencyKeyReused", "HeaderMismatch"} <= names
    assert len(owners(log.entries("refused"))) == 1
    assert leaked(log) == []


# F4
@pytest.mark.long
def test_the_log_of_an_incomplete_token_contains_no_claims(stack: Deployed, log: Log) -> None:
    for number, claims in enumerate([{"sub": None, "client_id": None}, {"token_use": "id"}], 1):
        endpoint = Endpoint(stack, {"sub": SECRETS["subject"], "email": SECRETS["claim"], **claims})

        response = endpoint.handle(HttpRequest("POST", {}, b"{}", "nobody"))  # type: ignore[arg-type] - it is not read

        assert response.status in (401, 403), claims
        assert log.count("a sign-in is insufficient") == number, claims
        assert leaked(log) == [], claims


# T28
@pytest.mark.long
def test_the_log_of_a_call_that_aws_refuses_contains_no_secret(modern: ModernClient, log: Log, faults: Faults) -> None:
    params: Json = {"name": "wait_and_echo", "arguments": ECHO}

    for operation in ("PutItem", "UpdateItem", "StartExecution"):
        with faults.of(operation):
            key = f"{SECRETS['key']}-{operation}"
            answer = modern.ask("tools/call", params, headers={"idempotency-key": key})

        assert "error" in answer.body, operation
        assert leaked(log) == [], operation


# T28
@pytest.mark.long
def test_the_log_of_a_task_request_that_aws_refuses_contains_no_secret(
    modern: ModernClient, log: Log, faults: Faults
) -> None:
    for number, (method, operation) in enumerate(
        [("get", "GetItem"), ("cancel", "StopExecution"), ("cancel", "PutItem")], 1
    ):
        task_id = modern.call("wait_and_echo", {**ECHO, "seconds": 600}).id_in()

        with faults.of(operation):
            answer = modern.task(method, task_id)

        assert "error" in answer.body, operation
        assert log.count("a request met a fault") == number, operation
        assert leaked(log) == [], operation


# T28
@pytest.mark.long
def test_the_log_of_an_event_that_cannot_be_recorded_contains_no_result(
    stack: Deployed, log: Log, faults: Faults
) -> None:
    client = ModernClient(Endpoint(stack))
    task_id = client.call("wait_and_echo", {**ECHO, "seconds": 600}).id_in()
    output = json.dumps({"message": SECRETS["argument"], "waited_seconds": 0})
    event = stack.status_event(task_id, "execution_succeeded", output=output)

    with faults.of("GetItem", "ExecutionEventsFunction"), pytest.raises(FunctionError):
        stack.stack.invoke("ExecutionEventsFunction", event)

    assert set(leaked(log)) <= {SECRETS["fault"]}, "the log must contain the exception with AWS's message"


# T28
@pytest.mark.long
def test_the_log_of_invalid_progress_does_not_quote_it(stack: Deployed, log: Log) -> None:
    changes: list[Json] = [{"progress": SECRETS["progress"]}, {"progress": 1, "message": [SECRETS["progress"]]}]
    for number, change in enumerate(changes, 1):
        event = recorded("progress_reported")
        event["detail"] = change

        stack.stack.invoke("ExecutionEventsFunction", event)

        assert log.count("progress event is not valid") == number, change
        assert leaked(log) == [], change


# T24, T28
@pytest.mark.long
def test_the_log_of_a_failed_cleanup_contains_no_secret(stack: Deployed, log: Log, faults: Faults) -> None:
    client = ModernClient(Endpoint(stack))
    task_id = client.call("wait_and_echo", {**ECHO, "seconds": 600}).id_in()
    dynamodb = stack.stack.client("dynamodb")
    items = dynamodb.scan(TableName=stack.stack.physical_ids["TasksTable"])["Items"]
    item = next(one for one in items if one["sk"]["S"] == f"task#{task_id}")
    identity = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    image = {"SequenceNumber": "1", "OldImage": item}
    records = {"Records": [{"eventName": "REMOVE", "userIdentity": identity, "dynamodb": image}]}

    with faults.of("StopExecution", "ExpirationsFunction"):
        stack.stack.invoke("ExpirationsFunction", records)
    stack.stack.invoke("ExpirationsFunction", records)

    assert "an expired task could not be looked after" in log.text()
    assert [line["task_id"] for line in log.entries("expired")] == [task_id]
    assert leaked(log) == []
