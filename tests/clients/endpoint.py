"""Stepwire over the fakes, on its own port, where released clients get every refusal.

The name of a tool decides the end of its workflow, and texts in a request decide whether a limit is reached. Everything
else is as deployed.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Final

from msgspec.structs import replace

from stepwire.audit import AuditAction
from stepwire.catalog.access import Access
from stepwire.catalog.tools import TaskSupport, Tool
from stepwire.engine.limiter import PollLimit
from stepwire.errors import HttpMethodNotAllowed, StartRefused, StopRefused, StoreBusy, WorkflowError
from stepwire.json_text import load_json, write
from stepwire.principal import Caller
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire.server.mcp_server import McpServer
from stepwire.server.services import Services
from stepwire.tasks.limiter import Limits
from stepwire.tasks.task import Execution
from tests.fake_workflows import FakeWorkflows
from tests.kits import (
    ALICE,
    CONFIRMED,
    ELICITING,
    FORBIDDEN,
    OPTIONAL,
    REQUIRED,
    World,
    catalog_of,
    plan_of,
    state_machine_arn,
)

SCOPE: Final = "call"
SOON: Final = timedelta(milliseconds=50)
FATAL_AMOUNT: Final = 13
"""With this answer, the workflow fails."""
AT_THE_LIMIT: Final = "at_the_limit"
POLLED_TOO_OFTEN: Final = "polled-too-often"
OUTPUT: Final = {"said": "done"}
PROTOCOL_ERROR: Final = '{"code": 4001, "message": "Not for you."}'

_WITH_HEADER: Final = {"type": "object", "properties": {"text": {"type": "string", "x-mcp-header": "Text"}}}


def _named(name: str, **changes: Any) -> Any:
    return replace(OPTIONAL, name=name, plan=plan_of(state_machine_arn(name)), poll_interval=SOON, **changes)


TOOLS: Final = (
    _named("instant", task_support=TaskSupport.FORBIDDEN),
    _named("endless"),
    _named("asking"),
    _named("refused"),
    _named("unstoppable"),
    _named("failing", task_support=TaskSupport.FORBIDDEN),
    _named(AT_THE_LIMIT),
    _named("broken"),
    _named("busy"),
    _named("costly", scopes=("refunds",)),
    _named("with_header", input_schema=write(_WITH_HEADER)),
    replace(CONFIRMED, plan=plan_of(state_machine_arn("instant")), poll_interval=SOON),
    REQUIRED,
    FORBIDDEN,
    ELICITING,
)


@dataclass
class ScriptedWorkflows(FakeWorkflows):
    """Executions whose ends depend on the name of the state machine."""

    begun: list[Execution] = field(default_factory=list[Execution])
    answered: list[str] = field(default_factory=list[str])
    """The tokens of the answered questions."""

    def start(self, execution: Execution, input_text: str, trace_header: str | None = None) -> None:
        """Start the execution, or refuse."""
        match _machine(execution):
            case "refused":
                raise StartRefused("it is being deleted")
            case "broken":
                raise RuntimeError
            case "busy":
                raise StoreBusy
            case _:
                pass
        super().start(execution, input_text, trace_header)
        self.begun.append(execution)

    def stop(self, execution: Execution, cause: str) -> bool:
        """Stop the execution, or refuse."""
        if _machine(execution) == "unstoppable":
            raise StopRefused("the role has no permission")
        return super().stop(execution, cause)

    def complete_callback(self, token: str, output: str) -> bool:
        """Accept an answer; the state that asked continues."""
        is_waiting = super().complete_callback(token, output)
        self.answered.append(token)
        return is_waiting


class Endpoint:
    """The server, and what happens while it waits and after it has answered."""

    def __init__(self, tools: Sequence[Tool] = TOOLS) -> None:
        self.workflows = ScriptedWorkflows()
        self.world = World(catalog=catalog_of(*tools), workflows=self.workflows)
        self.world.clock.on_sleep = self._go_on
        self._services = replace(self.world.services, access=Access((SCOPE,)))
        self._lock = Lock()

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request."""
        with self._lock:
            try:
                return McpServer(self._services_for(request.body), frozenset(), self.world.faults.append).handle(
                    request
                )
            finally:
                self._go_on()

    def refusals(self) -> list[str]:
        """Return the errors of all messages, by their names in the audit log.

        Errors of GET and DELETE, which each client tries, and the protocol errors of workflows are left out.
        """
        refused = (entry.outcome for entry in self.world.audit if entry.action is AuditAction.REFUSED)
        not_ours = {HttpMethodNotAllowed.__name__, WorkflowError.__name__}
        return [name for name in refused if name and name not in not_ours]

    def _services_for(self, body: bytes) -> Services:
        services = self._services
        if AT_THE_LIMIT.encode() in body:
            admission = replace(services.calls.admission, limits=Limits(active=0))
            return replace(services, calls=replace(services.calls, admission=admission))
        if POLLED_TOO_OFTEN.encode() in body:
            return replace(services, polls=PollLimit(0.1))
        return services

    def _go_on(self) -> None:
        begun, self.workflows.begun = self.workflows.begun, []
        for execution in begun:
            task_id = execution.name.rpartition("-")[2]
            match _machine(execution):
                case "asking":
                    self.world.ask(task_id, token=f"token {task_id}")
                case "failing":
                    self.world.fail(task_id, "Stepwire.ProtocolError", PROTOCOL_ERROR)
                case "instant":
                    self.world.succeed(task_id, OUTPUT)
                case _:
                    pass  # it never ends
        answered, self.workflows.answered = self.workflows.answered, []
        for token in answered:
            given, task_id = load_json(self.workflows.resumptions[-1].output or "null"), token.removeprefix("token ")
            if given.get("content", {}).get("amount") == FATAL_AMOUNT:
                self.world.fail(task_id, "Refund.Refused", "the amount is refused")
            else:
                self.world.succeed(task_id, given)


def _machine(execution: Execution) -> str:
    return execution.state_machine_arn.rpartition(":")[2]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors: clients disconnect when they have seen enough."""


@dataclass(frozen=True)
class Served:
    """An endpoint with a URL."""

    url: str
    endpoint: Endpoint


@contextmanager
def served(tools: Sequence[Tool] = TOOLS) -> Generator[Served]:
    """Serve an endpoint on a free port of 127.0.0.1."""
    endpoint = Endpoint(tools)
    with serving(endpoint.handle) as url:
        yield Served(url, endpoint)


@contextmanager
def serving(handle: Callable[[HttpRequest], HttpResponse]) -> Generator[str]:
    """Serve a function on a free port of 127.0.0.1; return the URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            response = handle(HttpRequest(self.command, headers, body, Caller(ALICE, scopes=frozenset({SCOPE}))))
            octets = response.body.encode()
            self.send_response_only(response.status)  # without a Date of its own
            for name, value in {**response.headers, "content-length": str(len(octets))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(octets)

        do_GET = do_POST = do_DELETE = _answer  # noqa: N815 - http.server's names

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server names it so
            """Log nothing."""

    with _Server(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/mcp"
        finally:
            server.shutdown()
            thread.join()
