"""The types that every MCP method takes and returns: the kit, the call, and the kinds of reply."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from msgspec import Struct, field

from stepwire import __version__
from stepwire.catalog.access import Access
from stepwire.catalog.tools import Catalog
from stepwire.engine.dialogue import Dialogue
from stepwire.engine.operations import Operations, ToolCall
from stepwire.engine.polls import PollLimit
from stepwire.errors import AtQuota, StoreBusy, WorkflowNotStarted
from stepwire.json_text import JsonObject, as_object
from stepwire.principal import Caller
from stepwire.protocol.headers import RequestHeaders
from stepwire.protocol.messages import MessageId
from stepwire.protocol.params import optional_object
from stepwire.protocol.sessions import NEVER, Resumes, ResumingClients, Session, shows_cards
from stepwire.protocol.versions import (
    LEGACY_VERSIONS,
    LEGACY_WITH_TASKS,
    MODERN_VERSIONS,
    TASKS_EXTENSION,
)
from stepwire.tasks.inputs import Mode, modes_of
from stepwire.tasks.task import TaskError, ToolResult

if TYPE_CHECKING:
    from stepwire.subscriptions.subscribing import Events

TASKS_CAPABILITY: Final[JsonObject] = {"extensions": {TASKS_EXTENSION: {}}}
SERVER_INFO: Final[JsonObject] = {"name": "stepwire", "title": "Stepwire", "version": __version__}
INSTRUCTIONS: Final = (
    "Each tool runs a workflow that may take from seconds to days. Start it once: calling the tool again starts the "
    "work again. If a result says that the task is not done yet, call task_result with its task_id, again and again "
    "until it has ended. If you have no tool task_result, your client waits for the task by itself."
)
"""Tell a model how to use the tools of this server."""


class Patience(Struct, frozen=True):
    """The longest waits; a request's deadline may end a wait sooner."""

    unresumable_request: timedelta = timedelta(seconds=15)
    """How long a request waits for the result, if its response cannot be resumed."""
    possibly_short_lived: timedelta = timedelta(seconds=4)
    """How long the first request of a plain call waits, if its client may give up after 5 seconds."""
    first_request: timedelta = timedelta(seconds=2)
    """How long the first request of a plain call waits for the result, if it can be resumed or has a card."""
    resuming_request: timedelta = timedelta()
    """How long each request that resumes a response waits for news."""
    whole_call: timedelta = timedelta(seconds=50)
    """How long a plain call whose response can be resumed takes in all: the TypeScript SDK gives up after 60 s."""
    whole_call_with_progress: timedelta = timedelta(hours=1)
    """The same for a call with a progressToken: progress restarts the timers of such clients."""


def no_express(call: ToolCall, _deadline: datetime | None) -> ToolResult | TaskError:
    """Refuse a tool whose state machine is of type EXPRESS: this server runs none."""
    raise WorkflowNotStarted(f"The workflow of {call.tool.name} cannot run here.")


_Result = TypeVar("_Result")
_PAUSES: Final = (0.5, 1.0)  # seconds, before a message is handled again
# With less time left, its client is asked to repeat it: a call of AWS that gets no answer takes up to 9 seconds.
_TIME_TO_REPEAT: Final = timedelta(seconds=20)


def is_busy(fault: Exception) -> bool:
    """Tell whether a port says of itself that it is busy."""
    return isinstance(fault, AtQuota | StoreBusy)


class Kit(Struct, frozen=True):
    """The services and settings that methods use."""

    catalog: Catalog
    operations: Operations
    dialogue: Dialogue
    patience: Patience
    secret: Callable[[], bytes]
    """Signs what a client keeps for us; asked for only when something is signed."""
    resuming: ResumingClients
    """The legacy clients that resume the response to a plain call."""
    polls: PollLimit
    report: Callable[[Exception], None]
    """Receives faults in spite of which the client still gets its response."""
    access: Access = field(default_factory=Access)
    express: Callable[[ToolCall, datetime | None], ToolResult | TaskError] = no_express
    """Runs a tool whose state machine is of type EXPRESS, until the given deadline."""
    other_secrets: Callable[[], tuple[bytes, ...]] = tuple
    """Returns further keys that may have signed a requestState, before or after a rotation."""

    is_weather: Callable[[Exception], bool] = is_busy
    """Tells whether a fault is AWS's and passes by itself, so that the request may be sent again soon."""

    events: "Callable[[], Events] | None" = None
    """Returns what serves MCP Events; None: this server has no events."""

    def resumes(self, call: "Call") -> Resumes:
        """Return which responses a client resumes; all others are sent as JSON."""
        session = call.session
        # VS Code and the PHP SDK send no version, and never resume a response.
        is_able = call.headers.accepts_events and call.headers.version and session.id
        return session.resumes if call.version in LEGACY_VERSIONS and is_able else NEVER

    def now(self) -> datetime:
        """Return the current time."""
        return self.operations.recorder.now()

    def repeatedly(
        self, act: Callable[[], _Result], deadline: datetime | None, may: Callable[[], bool] = lambda: True
    ) -> _Result:
        """Return what an act returns; while AWS throttles it, for some seconds, do it again, because no client does.

        Args:
            act: what is done.
            deadline: when the invocation ends.
            may: tells whether it has the same effect twice as once; asked after it has failed.
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


class Call(Struct, frozen=True, dict=True):
    """What a caller asks for, in either era: every request, notification, response and resumption becomes one."""

    caller: Caller
    params: JsonObject
    message_id: MessageId = 0
    version: str = ""
    """The protocol version that the client speaks."""
    client_capabilities: JsonObject = field(default_factory=dict[str, Any])
    """What the client declares: a modern one in each request, a legacy one in its session."""
    session: Session = field(default_factory=Session)
    idempotency_key: str | None = None
    """The client's key for this call: a retry with the same key gets the same task."""
    headers: RequestHeaders = field(default_factory=RequestHeaders)
    query: str = ""
    """Of the endpoint's URL."""
    deadline: datetime | None = None
    """When Lambda ends the invocation; None: not known."""

    @property
    def is_modern(self) -> bool:
        """Tell whether the client speaks a version of the modern era."""
        return self.version in MODERN_VERSIONS

    @cached_property
    def asks_for_task(self) -> bool:
        """Tell whether a call is to be a task: a modern client declares that it may, an older one says so each time.

        Raises:
            InvalidParams: `params.task` is no object.
        """
        if self.is_modern:  # X2: in this very request; A5: not in older eras
            return TASKS_EXTENSION in as_object(self.client_capabilities.get("extensions"))
        # T2: before 2025-11-25 the parameter means nothing.
        return self.version == LEGACY_WITH_TASKS and optional_object(self.params, "task") is not None

    @cached_property
    def shows_cards(self) -> bool:
        """Tell whether the client's host shows cards: in this era in this very request, else in its session."""
        return shows_cards(self.client_capabilities, self.query)

    @property
    def modes(self) -> frozenset[Mode]:
        """Return what the client can be asked."""
        return modes_of(self.client_capabilities)


class Stream(Struct, frozen=True):
    """A response whose body is server-sent events."""

    body: str


class Written(Struct, frozen=True):
    """A JSON-RPC response that is already serialized."""

    text: str


class SessionOpened(Struct, frozen=True):
    """The result of `initialize`, with the id of the new session."""

    result: JsonObject
    session_id: str


Reply: TypeAlias = JsonObject | Stream | Written | SessionOpened
Method: TypeAlias = Callable[[Kit, Call], Reply]
