"""A whole Stepwire over the fakes: the same objects that `aws/bootstrap.py` puts together, with a catalog for tests."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from stepwire.catalog import Catalog, TaskSupport, Tool
from stepwire.execution_events import ExecutionEvents
from stepwire.json_text import Json, JsonObject, write
from stepwire.methods import Kit
from stepwire.operations import Operations, Patience
from stepwire.principal import Principal, principal_of
from stepwire.recorder import Recorder
from stepwire.server import McpServer
from stepwire.tasks.task import Task
from tests.fakes import FakeWorkflows, FixedClock, InMemoryTaskStore, counting

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
"""Arguments that every tool of the catalog takes."""
BAD_ARGUMENTS: Final[JsonObject] = {"text": "hello", "count": -1}
"""Arguments that no tool of the catalog takes: count must be at least 0."""
OUTPUT_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {"answer": {"type": "integer"}},
    "required": ["answer"],
}
OUTPUT: Final[JsonObject] = {"answer": 42}
"""An output that every tool of the catalog may have, but for the one that lists."""


def state_machine_arn(name: str) -> str:
    """Give the ARN of a state machine that tests may name."""
    return f"arn:aws:states:eu-central-1:123456789012:stateMachine:{name}"


OPTIONAL: Final = Tool(
    name="optional",
    title="Optional",
    description="Runs with a task or without.",
    state_machine_arn=state_machine_arn("Optional"),
    input_schema=write(INPUT_SCHEMA),
    output_schema=None,
    task_support=TaskSupport.OPTIONAL,
    ttl=timedelta(hours=1),
    poll_interval=timedelta(seconds=2),
    annotations={"readOnlyHint": True},
    client_capabilities={},
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
TOOLS: Final = (OPTIONAL, REQUIRED, FORBIDDEN, STRUCTURED, LISTING, ELICITING)


def catalog_of(*tools: Tool) -> Catalog:
    """Make a catalog of some tools."""
    return Catalog(MappingProxyType({tool.name: tool for tool in tools}))


@dataclass
class World:
    """Stepwire and all around it, fresh for each test."""

    patience: Patience = field(default_factory=Patience)
    catalog: Catalog = field(default_factory=lambda: catalog_of(*TOOLS))
    clock: FixedClock = field(default_factory=FixedClock)
    store: InMemoryTaskStore = field(default_factory=InMemoryTaskStore)
    workflows: FakeWorkflows = field(default_factory=FakeWorkflows)
    faults: list[Exception] = field(default_factory=list[Exception])
    """The faults of ours that the server has reported."""
    troubles: list[Exception] = field(default_factory=list[Exception])
    """What has kept tasks from being looked after."""

    def __post_init__(self) -> None:
        self.recorder = Recorder(self.store, self.clock)
        self.operations = Operations(self.recorder, self.workflows, counting(), self.patience, self.troubles.append)
        self.events = ExecutionEvents(self.recorder, self.workflows)
        self.kit = Kit(self.catalog, self.operations)
        self.server = McpServer(self.kit, frozenset({ALLOWED_ORIGIN}), self.faults.append)

    def deliver(self) -> None:
        """Bring every status change that has not been brought yet, in order."""
        changes, self.workflows.undelivered = self.workflows.undelivered, []
        for change in changes:
            self.events.record(change)

    def call(
        self,
        tool: Tool = OPTIONAL,
        *,
        arguments: JsonObject = ARGUMENTS,
        owner: Principal = ALICE,
        ttl_ms: int | None = None,
    ) -> Task:
        """Call a tool, and leave it running."""
        return self.operations.call(owner, tool, arguments, ttl_ms)

    def overdue(self, tool: Tool = OPTIONAL) -> Task:
        """Call a tool, and let so much time pass that the next reader looks at Step Functions."""
        task = self.call(tool)
        self.clock.time += self.patience.repair_after
        self.store.calls.clear()
        return task

    def stored(self, task: Task) -> Task:
        """Give the task as the store holds it."""
        return self.store.tasks[task.key]

    def succeed(self, task_id: str, output: Json) -> None:
        """End the execution of a task well, and deliver the news."""
        self.workflows.succeed(self.workflows.execution_of(task_id), output)
        self.deliver()

    def fail(self, task_id: str, error: str = "Some.Error", cause: str = "it broke") -> None:
        """End the execution of a task badly, and deliver the news."""
        self.workflows.fail(self.workflows.execution_of(task_id), error, cause)
        self.deliver()
