"""Stacks for tests: the real handlers behind API Gateway's events, with a count of their AWS calls."""

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypedDict

import boto3
from botocore.model import OperationModel
from moto.stepfunctions.parser.models import stepfunctions_parser_backends

from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire_local import EventPolicy, LocalStack, never
from stepwire_local.account.engine import ACCOUNT
from tests.adopted import ADOPTER
from tests.integration.clock import Clock
from tests.recorded import recorded
from tests.template.chosen import OFF
from tests.waiting import until

ROOT: Final = Path(__file__).parents[2]
OWN: Final = Path(__file__).parent / "template.yaml"
"""The suite's own template, with workflows that the examples do not have."""
SIGN_IN: Final = {
    "Authorizer": "jwt",
    "JwtIssuer": "https://issuer.example",
    "JwtAudience": "stepwire",
    "PrincipalClaims": "iss,sub|client_id",  # tokens of machines are accepted too
}
"""The parameters of a stack that needs sign-in."""
Event = dict[str, Any]


@dataclass
class AwsCalls:
    """The AWS calls of the handlers since the last `forget`."""

    settle: Callable[[], object] = lambda: None
    """Waits until the stack is at rest: what it does in the background is counted as a whole, or not at all."""
    catalog_reads: list[str] = field(default_factory=list[str])
    """The number of reads of the catalog's head, which depends on the machine's clock."""
    block_reads: list[str] = field(default_factory=list[str])
    """The same of the list of blocked callers."""
    all: list[str] = field(default_factory=list[str])
    """Each operation, by the clock or not."""
    clients: list[str] = field(default_factory=list[str])
    """The service of each client that was built."""
    answer: Callable[[OperationModel], Any] = lambda _operation: None
    """Answers a call in place of AWS; None passes it on."""
    _made: list[str] = field(default_factory=list[str])

    @property
    def made(self) -> list[str]:
        """The operation of each call, in order, once the stack is at rest.

        Retries count once, and what an instance reads by the clock is left out.
        """
        self.settle()
        return self._made

    def forget(self) -> None:
        """Reset the counts."""
        self.settle()
        self._made.clear()
        self.catalog_reads.clear()
        self.block_reads.clear()
        self.all.clear()
        self.clients.clear()

    @contextmanager
    def of_handlers(self) -> Generator[None]:
        """Count the calls through the default session, which the handlers use and the local stack does not."""
        session = boto3.session.Session()
        session.events.register("before-call", self._note_call)
        session.events.register("before-parameter-build.dynamodb.GetItem", self._note_key)
        session.events.register("creating-client-class", self._note_client)
        kept, boto3.DEFAULT_SESSION = boto3.DEFAULT_SESSION, session
        try:
            yield
        finally:
            boto3.DEFAULT_SESSION = kept

    def _note_key(self, params: dict[str, Any], context: dict[str, Any], **_: object) -> None:
        key = params.get("Key", {})
        clocked = {"head": self.catalog_reads, "list": self.block_reads}
        context["counted_in"] = clocked.get(key.get("sk", {}).get("S", ""), self._made)

    def _note_call(self, model: OperationModel, context: dict[str, Any], **_: object) -> Any:
        self.all.append(model.name)
        context.get("counted_in", self._made).append(model.name)
        return self.answer(model)

    def _note_client(self, event_name: str, **_: object) -> None:
        self.clients.append(event_name.rpartition(".")[2])


@dataclass(frozen=True)
class LambdaServer:
    """Invokes function mcp of a stack with API Gateway's events."""

    stack: LocalStack

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request."""
        response = self.stack.invoke("McpFunction", event_of(request))
        assert response["isBase64Encoded"] is False
        return HttpResponse(response["statusCode"], response["body"], response["headers"])


@dataclass(frozen=True)
class Deployed:
    """A running stack, and the AWS calls of its handlers."""

    stack: LocalStack
    calls: AwsCalls

    def __post_init__(self) -> None:
        """Let counts wait for the stack."""
        self.calls.settle = self.stack.drain

    @property
    def server(self) -> LambdaServer:
        """The server behind the stack's endpoint."""
        return LambdaServer(self.stack)

    def list_tools(self) -> None:
        """Let each instance read the registered tools, once compiled, so that no request that is counted does."""
        self.stack.drain()
        message: Event = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        for _ in self.stack.functions["McpFunction"].handlers:
            self.stack.invoke("McpFunction", {**recorded("http_post_jwt"), "body": json.dumps(message)})
        self.calls.forget()

    def status_of(self, task_id: str) -> str:
        """Return the status of a task's execution in Step Functions."""
        return self._describe(task_id)["status"]

    def state_of(self, task_id: str) -> str | None:
        """Return the state that the execution of a task entered last, if any."""
        found = self.stack.client("stepfunctions").get_execution_history(
            executionArn=self.execution_of(task_id), reverseOrder=True
        )
        entered = [event.get("stateEnteredEventDetails", {}).get("name") for event in found["events"]]
        return next((name for name in entered if name), None)

    def wait_for_the_end_of(self, task_id: str) -> None:
        """Wait until the execution of a task has ended in Step Functions."""
        until(lambda: self.status_of(task_id) != "RUNNING")

    def wait_for_its_record(self, task_id: str) -> None:
        """Wait until its status event has ended a task. Nobody polls, so no poll notices the end first."""
        table = {"TableName": self.stack.physical_ids["TasksTable"], "ConsistentRead": True}
        wanted = {"FilterExpression": "sk = :sk", "ExpressionAttributeValues": {":sk": {"S": f"task#{task_id}"}}}
        scan = self.stack.client("dynamodb").scan
        until(lambda: "open" not in scan(**table, **wanted)["Items"][0])
        self.stack.drain()

    def stop(self, task_id: str) -> None:
        """Stop the execution of a task, as an operator would."""
        self.stack.client("stepfunctions").stop_execution(executionArn=self._describe(task_id)["executionArn"])

    def executions(self) -> list[str]:
        """Return the names of all executions that the stack has started."""
        states = self.stack.client("stepfunctions")
        pages = [states.list_executions(stateMachineArn=arn)["executions"] for arn in self._machines()]
        return [execution["name"] for page in pages for execution in page]

    def execution_of(self, task_id: str) -> str:
        """Return the ARN of a task's execution."""
        return self._describe(task_id)["executionArn"]

    def status_event(self, task_id: str, recording: str, **detail: Any) -> Event:
        """Return a status event of a task's execution, made from a recorded one."""
        execution = self._describe(task_id)
        event = recorded(recording)
        known = {key: execution[key] for key in ("executionArn", "stateMachineArn", "name")}
        event["detail"] = {**event["detail"], **known, **detail}
        return event

    def _machines(self) -> list[str]:
        return [one for one in self.stack.physical_ids.values() if ":stateMachine:" in one]

    def _describe(self, task_id: str) -> dict[str, Any]:
        states = self.stack.client("stepfunctions")
        for machine in self._machines():
            for execution in states.list_executions(stateMachineArn=machine)["executions"]:
                if execution["name"].endswith(f"-{task_id}"):
                    return states.describe_execution(executionArn=execution["executionArn"])
        raise AssertionError(f"no execution of the task {task_id}")


class Chosen(TypedDict):
    """What a test chooses: parameters of the template, and variables that no parameter sets."""

    parameters: Mapping[str, str]
    variables: Mapping[str, str]


def chosen(values: Mapping[str, str]) -> Chosen:
    """Return parameters, and variables, which are in capitals."""
    variables = {name: value for name, value in values.items() if name.isupper()}
    return {
        "parameters": {name: value for name, value in values.items() if name not in variables},
        "variables": variables,
    }


@contextmanager
def deployed(
    template: Path, events: EventPolicy, instances: int = 1, clock: Clock | None = None, /, **parameters: str
) -> Generator[Deployed]:
    """Run a template, each function in so many instances, with the given clock or the machine's.

    A parameter in capitals is an environment variable of the functions.
    """
    calls, others = AwsCalls(), list[Path]()
    if template in {ROOT / "stack.yaml", ROOT / "template.yaml"}:
        # These tests poll fast; tests/server/test_limits.py covers the limit on polls. Many count calls, and for events
        # function status_changes reads at a time of its own; test_events.py has its own stack.
        off = OFF if template.name == "stack.yaml" else {}
        parameters = {"PollsPerSecond": "0", "RESUMING_CLIENTS": "known, a test", **off, **parameters}
        others = [ADOPTER]
    served = LocalStack(template, others=others, events=events, instances=instances, **chosen(parameters))
    with served as stack, calls.of_handlers(), ExitStack() as clocks:
        if clock is not None:
            clocks.enter_context(clock.drives(stack))
        made = Deployed(stack, calls)
        if others:
            made.list_tools()
        yield made


def as_deployed(port: int = 0, /, **parameters: str) -> LocalStack:
    """Return the root template with all extras, for clients over HTTP; two instances of each function take turns.

    A parameter in capitals is an environment variable of the functions.
    """
    return LocalStack(ROOT / "stack.yaml", others=[ADOPTER], port=port, instances=2, **chosen(parameters))


@contextmanager
def deployed_without_events() -> Generator[Deployed]:
    """Run the root template. No status event arrives and no response waits, so only requests call AWS."""
    no_waiting = {"WaitSeconds": "0", "INLINE_WAIT_SECONDS": "0", "HOLD_SECONDS": "0"}
    template, more = ROOT / "stack.yaml", {"REPAIR_AFTER_SECONDS": "600", "STATE_AFTER_SECONDS": "0"}
    with deployed(template, never, **no_waiting, **more) as stack:
        yield stack


def executions_with(arn: str) -> list[Any]:
    """Return moto's list of the executions of the state machine that an execution belongs to."""
    backend: Any = stepfunctions_parser_backends[ACCOUNT][arn.split(":")[3]]
    (executions,) = [
        machine.executions
        for machine in backend.state_machines
        if any(one.execution_arn == arn for one in machine.executions)
    ]
    return executions


def event_of(request: HttpRequest) -> Event:
    """Return API Gateway's event for a request of a caller with a token."""
    event = recorded("http_post_jwt")
    event["headers"] = dict(request.headers)
    event["rawQueryString"] = request.query
    event["requestContext"]["http"]["method"] = request.method
    if request.method == "GET":  # API Gateway leaves out a missing body
        return {name: value for name, value in event.items() if name != "body"}
    return {**event, "body": request.body.decode(), "isBase64Encoded": False}


def body_of(response: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON-RPC response in the result of a handler."""
    return json.loads(response["body"])
