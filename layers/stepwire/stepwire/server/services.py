"""The services and settings of one endpoint that the methods use, built once for each function instance."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final, TypeVar

from msgspec import Struct, field

from stepwire.catalog.access import Access, Scopes
from stepwire.catalog.tools import Catalog
from stepwire.engine.answers import Answers, Permit
from stepwire.engine.calls import Calls, ToolCall
from stepwire.engine.limiter import PollLimit
from stepwire.engine.operations import Operations
from stepwire.engine.ports import Refuses
from stepwire.errors import AtQuota, StoreBusy, WorkflowNotStarted
from stepwire.hooks import Extra, Ground
from stepwire.protocol.sessions import ResumingClients
from stepwire.rendering import Identity
from stepwire.tasks.task import Task, TaskError, ToolResult

INSTRUCTIONS: Final = (
    "Each tool runs a workflow that may take from seconds to days. Start it once: calling the tool again starts the "
    "work again. If a result says that the task is not done yet, call task_result with its task_id, again and again "
    "until it has ended. If you have no tool task_result, your client waits for the task by itself."
)
"""Tell a model how to use the tools of this server."""
_Result = TypeVar("_Result")
_Built = TypeVar("_Built")
_PAUSES: Final = (0.5, 1.0)  # seconds, before a message is handled again
# With less time left, the client must retry: a call to AWS without an answer takes up to 9 seconds.
_TIME_TO_REPEAT: Final = timedelta(seconds=20)


class Patience(Struct, frozen=True):
    """The longest waits; a request's deadline may end a wait sooner."""

    unresumable_request: timedelta = timedelta(seconds=15)
    """How long a request waits for the result, if its response cannot be resumed."""
    possibly_short_lived: timedelta = timedelta(seconds=4)
    """How long the first request of a plain call waits, if its client may give up after 5 seconds."""
    first_request: timedelta = timedelta(seconds=2)
    """How long the first request of a plain call waits for the result, if it can be resumed or its task is shown."""
    resuming_request: timedelta = timedelta()
    """How long each request that resumes a response waits for news."""
    whole_call: timedelta = timedelta(seconds=50)
    """Total time of a plain call whose response can be resumed: the TypeScript SDK times out after 60 s."""
    whole_call_with_progress: timedelta = timedelta(hours=1)
    """The same for a call with a progressToken: progress restarts such clients' timeouts."""


def no_express(call: ToolCall, _deadline: datetime | None) -> ToolResult | TaskError:
    """Refuse a tool whose state machine is of type EXPRESS: this server runs none."""
    raise WorkflowNotStarted(f"The workflow of {call.tool.name} cannot run here.")


def is_busy(fault: Exception) -> bool:
    """Tell whether a fault says that its port is busy."""
    return isinstance(fault, AtQuota | StoreBusy)


class Services(Struct, frozen=True, dict=True):
    """The services and settings that methods use."""

    catalog: Catalog
    operations: Operations
    calls: Calls
    answers: Answers
    patience: Patience
    secret: Callable[[], bytes]
    """Signs state that clients keep; loaded only when something is signed."""
    resuming: ResumingClients
    """The legacy clients that resume the response to a plain call."""
    polls: PollLimit
    report: Callable[[Exception], None]
    """Receives faults that do not prevent the client's response."""
    parts: tuple[Extra, ...]
    """What the core and the extras that are on add to the server (`server.composition`)."""
    ground: Ground
    access: Access = field(default_factory=Access)
    refuses: Refuses | None = None
    """Tells whom an operator refuses; None: nobody can be refused."""
    express: Callable[[ToolCall, datetime | None], ToolResult | TaskError] = no_express
    """Runs a tool whose state machine is of type EXPRESS, until the given deadline."""
    other_secrets: Callable[[], tuple[bytes, ...]] = tuple
    """Returns further keys that may have signed a requestState, before or after a rotation."""
    is_weather: Callable[[Exception], bool] = is_busy
    """Tells whether a fault is a transient one of AWS, so that the request may soon be retried."""
    identity: Identity = Identity()

    @cached_property
    def now(self) -> Callable[[], datetime]:
        """Returns the current time."""
        return self.operations.recorder.clock.now

    def of(self, build: Callable[[Ground], _Built]) -> _Built:
        """Return what a function of an extra builds; it is called once for these services."""
        return self.ground.of(build)

    def has(self, extra: str) -> bool:
        """Tell whether an extra is on."""
        return any(one.name == extra for one in self.parts)

    def permit(self, scopes: Scopes) -> Permit:
        """Return a check that a caller with these scopes may answer the questions of a task.

        Answers resume the workflow, and a confirmation starts it. So answering needs the same scopes as calling the
        tool. The check raises InsufficientScope if the caller may not call the task's tool.
        """

        def check(task: Task) -> None:
            tool = self.catalog.tools.get(task.work.tool)
            if tool is not None:  # a tool that is no longer served needs no scopes
                self.access.check(scopes, tool, self.catalog)

        return check

    def repeatedly(
        self, act: Callable[[], _Result], deadline: datetime | None, may: Callable[[], bool] = lambda: True
    ) -> _Result:
        """Return the result of an act, retried for some seconds while AWS throttles, because clients do not retry.

        `may` tells, after a failure, whether the act is idempotent.
        """
        for pause in _PAUSES:
            try:
                return act()
            except Exception as fault:
                is_late = deadline is not None and self.now() > deadline - _TIME_TO_REPEAT
                if is_late or not self.is_weather(fault) or not may():
                    raise
                self.report(fault)
            self.operations.recorder.clock.sleep(pause)
        return act()
