"""Stepwire over the fakes: the objects that `aws/mcp_function.py` builds, with a catalog for tests."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from stepwire.audit import AuditEntry
from stepwire.aws.bootstrap import routers_of
from stepwire.aws.storage.table import Table
from stepwire.background.execution_events import ExecutionEvents, ExecutionProgress
from stepwire.background.expirations import Expirations
from stepwire.background.input_requests import InputRequests, Question
from stepwire.catalog.tools import Catalog, Confirmation, TaskSupport, Tool
from stepwire.changes import TaskChange
from stepwire.codec import object_of
from stepwire.composition import EXTRAS, switched_on
from stepwire.engine.assembly import Engine, Ports, Settings, assemble
from stepwire.engine.calls import ToolCall
from stepwire.engine.limiter import WAITS, PollLimit
from stepwire.engine.upkeep import Intervals
from stepwire.hooks import Ground
from stepwire.json_text import Json, JsonObject, write
from stepwire.principal import Principal, principal_of
from stepwire.protocol.sessions import resuming_clients
from stepwire.server.composition import parts_with
from stepwire.server.mcp_server import McpServer
from stepwire.server.services import Patience, Services
from stepwire.tasks.ids import LETTERS
from stepwire.tasks.inputs import Mode
from stepwire.tasks.limiter import Limits, Places
from stepwire.tasks.outcomes import ExecutionEnd
from stepwire.tasks.runs import Plan, Run
from stepwire.tasks.task import Origin, Progress, Task, Terms
from tests.docs.audit_schema import CheckedAudit
from tests.extras import parts
from tests.fake_express import FakeSyncWorkflows, InMemoryCallRate
from tests.fake_objects import FakeObjects
from tests.fake_workflows import FakeWorkflows
from tests.fakes import FixedClock, InMemoryTaskStore, InMemoryWaitSlots, InMemoryWakeUps, counting

ALICE: Final = principal_of(("jwt", "https://issuer.example", "alice"), "a stack")
BOB: Final = principal_of(("jwt", "https://issuer.example", "bob"), "a stack")
ALLOWED_ORIGIN: Final = "https://app.example"

INPUT_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "count": {"type": "integer", "minimum": 0}},
    "required": ["text"],
    "additionalProperties": False,
}
ARGUMENTS: Final[JsonObject] = {"text": "hello"}
"""Valid arguments for every tool of the catalog."""
BAD_ARGUMENTS: Final[JsonObject] = {"text": "hello", "count": -1}
"""Invalid arguments for every tool of the catalog: count must be at least 0."""
OUTPUT_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {"answer": {"type": "integer"}},
    "required": ["answer"],
}
OUTPUT: Final[JsonObject] = {"answer": 42}
"""A valid output of every tool of the catalog except LISTING."""


def no_client() -> Any:
    """Fail: fakes are in place of all that a table would be asked."""
    raise AssertionError("nothing here asks a table")


PARTS: Final = parts_with(switched_on(EXTRAS))
"""The parts of a server with all extras."""
NO_TABLE: Final = Table("no table", no_client)


def state_machine_arn(name: str) -> str:
    """Return the ARN of the state machine with this name."""
    return f"arn:aws:states:eu-central-1:123456789012:stateMachine:{name}"


def plan_of(arn: str, role: str = "") -> Plan:
    """Return the plan of a tool with one state machine."""
    return Plan((Run(arn, role=role),))


OPTIONAL: Final = Tool(
    name="optional",
    title="Optional",
    description="Runs with a task or without.",
    plan=plan_of(state_machine_arn("Optional")),
    input_schema=write(INPUT_SCHEMA),
    output_schema=None,
    task_support=TaskSupport.OPTIONAL,
    ttl=timedelta(hours=1),
    poll_interval=timedelta(seconds=2),
    longest_poll_interval=timedelta(minutes=1),
    annotations={"readOnlyHint": True},
    client_capabilities={},
    shows_state=False,
)
REQUIRED: Final = replace(
    OPTIONAL, name="required", title=None, description="Runs as a task only.", task_support=TaskSupport.REQUIRED
)
FORBIDDEN: Final = replace(
    OPTIONAL, name="forbidden", title=None, description="Never is a task.", task_support=TaskSupport.FORBIDDEN
)
STRUCTURED: Final = replace(
    OPTIONAL, name="structured", description="Promises structured content.", output_schema=write(OUTPUT_SCHEMA)
)
LISTING: Final = replace(
    OPTIONAL,
    name="listing",
    description="Promises structured content that is no object.",
    output_schema=write({"type": "array", "items": {"type": "integer"}}),
)
ELICITING: Final = replace(
    OPTIONAL,
    name="eliciting",
    description="Needs a client that can ask its user.",
    client_capabilities={"elicitation": {}},
)
CONFIRMED: Final = replace(
    OPTIONAL,
    name="confirmed",
    description="Asks before it begins.",
    confirmation=Confirmation(
        key="confirm",
        message="Really do {text}?",
        requested_schema=write({"type": "object", "properties": {"reason": {"type": "string", "maxLength": 20}}}),
        input_key="confirmation",
    ),
)
TELLING: Final = replace(
    OPTIONAL, name="telling", description="Tells which state its workflow is in.", shows_state=True
)
EXPRESS: Final = replace(
    OPTIONAL,
    name="express",
    title=None,
    description="Ends within seconds, and never is a task.",
    task_support=TaskSupport.FORBIDDEN,
    is_express=True,
)
"""In no catalog but those of tests that need it."""
TOOLS: Final = (OPTIONAL, REQUIRED, FORBIDDEN, STRUCTURED, LISTING, ELICITING, CONFIRMED, TELLING)
FORM: Final[JsonObject] = {
    "message": "May it go on?",
    "requestedSchema": {
        "type": "object",
        "properties": {"amount": {"type": "integer", "minimum": 1, "maximum": 100}, "note": {"type": "string"}},
        "required": ["amount"],
    },
}
"""An elicitation with a form."""
URL: Final[JsonObject] = {"mode": "url", "message": "Please sign.", "url": "https://sign.example/contract"}
"""An elicitation with a page to open."""
SAMPLING: Final[JsonObject] = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "What is the capital of France?"}}],
    "maxTokens": 100,
}
"""A request to the client's model."""
SAMPLED: Final[JsonObject] = {"role": "assistant", "model": "a model", "content": {"type": "text", "text": "Paris."}}
"""A valid answer to it."""
LISTED: Final[JsonObject] = {"roots": [{"uri": "file:///home/alice/project", "name": "Project"}]}
"""A valid answer to the request for the client's roots."""
BOTH_MODES: Final = frozenset({Mode.FORM, Mode.URL})
EXECUTION_PREFIX: Final = "sw-"
RESUMING: Final = resuming_clients(("known", "a test"))
SECRET: Final = b"a secret of the tests"


def signed_url(bucket: str, key: str) -> str:
    """Return a fake of a presigned S3 URL."""
    return f"https://{bucket}.example/{key}?signature=1"


def keeping(tool: Tool, **parts: Struct | None) -> Tool:
    """Return a tool of which extras keep these parts, by their names."""
    kept = {name: object_of(part) for name, part in parts.items() if part is not None}
    return replace(tool, extras={**tool.extras, **kept})


def catalog_of(*tools: Tool) -> Catalog:
    """Return a catalog of these tools."""
    return Catalog(tools)


@dataclass
class World:
    """A whole Stepwire over the fakes, new for each test."""

    patience: Patience = field(default_factory=Patience)
    intervals: Intervals = field(default_factory=Intervals)
    limits: Limits = field(default_factory=Limits)
    polls_per_second: float = 0
    """The limit of polls of one task; 0 is no limit."""
    waits: Places = WAITS
    catalog: Catalog = field(default_factory=lambda: catalog_of(*TOOLS))
    clock: FixedClock = field(default_factory=FixedClock)
    store: InMemoryTaskStore = field(default_factory=InMemoryTaskStore)
    wait_slots: InMemoryWaitSlots = field(default_factory=InMemoryWaitSlots)
    workflows: FakeWorkflows = field(default_factory=FakeWorkflows)
    wake_ups: InMemoryWakeUps = field(default_factory=InMemoryWakeUps)
    faults: list[Exception] = field(default_factory=list[Exception])
    """The internal errors that the server has reported."""
    troubles: list[Exception] = field(default_factory=list[Exception])
    """The errors that kept the server from checking or repairing tasks."""
    audit: list[AuditEntry] = field(default_factory=CheckedAudit)
    """The lines of the audit log."""
    objects: FakeObjects = field(default_factory=FakeObjects)
    """What workflows have left in S3."""
    blocked: set[str] = field(default_factory=set[str])
    """The hashes of the callers whom an operator has blocked."""
    fakes: dict[str, Any] = field(default_factory=dict[str, Any])
    """What extras keep of this world for their tests."""
    listeners: list[Callable[[TaskChange], object]] = field(default_factory=list[Callable[[TaskChange], object]])
    """Whom extras let hear of each change at once, in place of the table's stream."""

    def __post_init__(self) -> None:
        self.sync_workflows = FakeSyncWorkflows(self.clock)
        gate: Any = None
        for part in parts("gate"):
            self.lines: Any = part.lines_of(self.store)
            gate = part.gate_over(self.lines)
        self.ports = Ports(
            self.store,
            self.workflows,
            self.clock,
            counting(),
            self.wait_slots,
            signed_url,
            self.troubles.append,
            self.audit.append,
            self.wake_ups,
            self.objects,
            gate,
            routers_of(EXTRAS),
        )
        self.engine = assemble(self.ports, Settings(self.intervals, self.limits, self.waits, EXECUTION_PREFIX))
        self.recorder, self.upkeep = self.engine.recorder, self.engine.upkeep
        self.operations, self.answers = self.engine.operations, self.engine.answers
        self.calls = self.engine.calls
        self.express = self.engine.express(
            InMemoryCallRate(self.store), self.sync_workflows, self.patience.unresumable_request
        )
        self.events = ExecutionEvents(self.engine)
        self.requests = InputRequests(self.engine, self.workflows)
        self.expirations = Expirations(self.engine)
        if type(self.store) is InMemoryTaskStore:  # a table in its place has a stream
            self.store.written = self._tell_of
        self.services = Services(
            self.catalog,
            self.operations,
            self.calls,
            self.answers,
            self.patience,
            self._secret,
            RESUMING,
            PollLimit(self.polls_per_second),
            self.troubles.append,
            PARTS,
            Ground(NO_TABLE, {}, self.engine, built=self._built()),
            express=self.express.run,
            refuses=self.refuses,
        )
        self.server = McpServer(self.services, frozenset({ALLOWED_ORIGIN}), self.faults.append)

    def _built(self) -> dict[Callable[[Any], Any], Any]:
        """Return the fakes of what extras build."""
        return {build: fake for part in parts("built") for build, fake in part.built(self).items()}

    def _tell_of(self, before: Task | None, after: Task) -> None:
        """Do at once what the table's stream has done some moments after a write."""
        change = TaskChange(before, after, self.clock.now())
        for listener in self.listeners:
            listener(change)

    def refuses(self, _at: datetime, *hashes: str, may_read: bool = True) -> bool:
        """Tell whom the operator refuses: who is blocked."""
        return may_read and not self.blocked.isdisjoint(hashes)

    def _secret(self) -> bytes:
        self.store.calls.append("secret")
        return SECRET

    def sweeping(self, interval: timedelta | None = None) -> Engine:
        """Return the engine of function sweep, whose interval is by default that of readers."""
        return assemble(self.ports, Settings.of_sweep(interval or self.intervals.repair))

    def deliver(self) -> None:
        """Deliver every status change that was not delivered yet, in order."""
        changes, self.workflows.undelivered = self.workflows.undelivered, []
        for change in changes:
            self.events.record(change)

    def wake(self) -> None:
        """Let the longest delay of a wake-up pass, and deliver all of them."""
        scheduled, self.wake_ups.scheduled = self.wake_ups.scheduled, []
        runs, self.wake_ups.runs = self.wake_ups.runs, []
        self.clock.time += max(delay for _, delay in scheduled)
        for (key, _), run in zip(scheduled, runs, strict=True):
            self.engine.runs.wake(key, run)

    def call(
        self,
        tool: Tool = OPTIONAL,
        *,
        arguments: JsonObject = ARGUMENTS,
        owner: Principal = ALICE,
        ttl_ms: int | None = None,
        modes: frozenset[Mode] = BOTH_MODES,
    ) -> Task:
        """Call a tool through the engine; return its running task."""
        return self.calls.call(ToolCall(owner, tool, arguments, ttl_ms, Origin(modes)))

    def ask(
        self,
        task_id: str,
        key: str = "approval",
        elicitation: Json = FORM,
        *,
        token: str = "",
        seconds: float = 0,
        other: JsonObject | None = None,
        entered: str | None = None,
        audience: Json = None,
    ) -> str:
        """Let a task's workflow ask a question; return the callback token of the waiting state.

        `other`, {"sampling": ...} or {"roots": {}}, replaces the elicitation.
        """
        token = token or f"token of {key}"
        self.workflows.waiting.add(token)
        timeout = seconds or None
        execution = self.workflows.execution_of(task_id)
        asked = None if other else elicitation
        question = Question(execution, token, key, asked, timeout, state_entered=entered, **(other or {}))
        self.requests.record(replace(question, audience=audience))
        return token

    def progress(self, task_id: str, done: float, total: float | None = 100, message: str | None = None) -> None:
        """Let a task's workflow report progress."""
        execution = self.workflows.execution_of(task_id)
        self.events.record_progress(ExecutionProgress(execution, Progress(done, total), message))

    def overdue(self, tool: Tool = OPTIONAL) -> Task:
        """Call a tool, and let time pass until the next reader must check the execution."""
        task = self.call(tool)
        self.clock.time += self.intervals.repair
        self.store.calls.clear()
        return task

    def terms_of(self, task: Task) -> Terms:
        """Return what the task's workflow gets, and what its output must become."""
        return self.store.parts.terms_of(self.store.tasks.get(task.key, task))

    def stored(self, task: Task) -> Task:
        """Return the task as the store holds it."""
        return self.store.tasks[task.key]

    def succeed(self, task_id: str, output: Json) -> None:
        """End the execution of a task successfully, and deliver its status change."""
        self.workflows.succeed(self.workflows.execution_of(task_id), output)
        self.deliver()

    def end_arm(self, task: Task, letter: str, end: ExecutionEnd) -> None:
        """End the execution of an arm, and deliver its status change."""
        current = self.recorder.load(task.key) or task
        self.workflows.end(current.execution_of(LETTERS.index(letter)), end)
        self.deliver()

    def fail(self, task_id: str, error: str = "Some.Error", cause: str = "it broke") -> None:
        """End the execution of a task with an error, and deliver its status change."""
        self.workflows.fail(self.workflows.execution_of(task_id), error, cause)
        self.deliver()
