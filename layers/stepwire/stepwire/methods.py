"""What both eras' methods share: the kit they work with, and the parts of `tools/call` and the lists that are alike."""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from stepwire import __version__
from stepwire.access import Access, Scopes
from stepwire.catalog import Catalog, Tool
from stepwire.dialogue import Dialogue, Permit
from stepwire.errors import InvalidCursor, WorkflowError
from stepwire.json_text import JsonObject
from stepwire.operations import Operations
from stepwire.polls import PollLimit
from stepwire.principal import Principal
from stepwire.protocol import params as read
from stepwire.protocol.messages import MessageId
from stepwire.protocol.sessions import Session
from stepwire.schemas import Violation
from stepwire.tasks.ids import TaskId, task_id_of
from stepwire.tasks.inputs import Mode, modes_of
from stepwire.tasks.outcomes import tool_error
from stepwire.tasks.task import Cancelled, Task, TaskError, ToolResult

SERVER_INFO: Final[JsonObject] = {"name": "stepwire", "title": "Stepwire", "version": __version__}
INSTRUCTIONS: Final = (
    "Each tool runs a workflow that may take from seconds to days. Where the client supports tasks, a call gives a "
    "task at once: poll it, and fetch its result when it has ended. Calling a tool again starts the work again."
)
TOOLS_PAGE_SIZE: Final = 100


@dataclass(frozen=True)
class Patience:
    """How long a response is held back at most; a request's deadline may end it sooner."""

    wait: timedelta = timedelta(seconds=20)
    """For the end of the work, where the client cannot come back for it."""
    inline: timedelta = timedelta(seconds=2)
    """For the end of the work, where the client comes back."""
    hold: timedelta = timedelta()
    """Each time that a client comes back."""


@dataclass(frozen=True)
class Kit:
    """What the methods work with."""

    catalog: Catalog
    operations: Operations
    dialogue: Dialogue
    patience: Patience
    secret: Callable[[], bytes]
    """Seals what a client keeps for us; asked for only when something is sealed."""
    no_resume: tuple[str, ...]
    """How the names of legacy clients begin that do not come back for a response, though their version says so."""
    polls: PollLimit
    report: Callable[[Exception], None]
    """Told of what went wrong where the client is served all the same."""
    access: Access = field(default_factory=Access)
    other_secrets: Callable[[], tuple[bytes, ...]] = tuple
    """Those that may have sealed what the secret has not, before or after a rotation."""

    def now(self) -> datetime:
        """Tell the time."""
        return self.operations.recorder.now()


@dataclass(frozen=True)
class Call:
    """A request to one method: who asks, and for what."""

    owner: Principal
    params: JsonObject
    message_id: MessageId = 0
    version: str = ""
    """The legacy version that is spoken; modern has one."""
    client_capabilities: JsonObject = field(default_factory=dict[str, Any])
    """What the client declares: a modern one in each request, a legacy one in its session."""
    session: Session = field(default_factory=Session)
    idempotency_key: str | None = None
    """With which the client names its call, so that repeating it runs nothing twice."""
    takes_events: bool = True
    """Whether the client takes a response that is a stream of events."""
    scopes: Scopes = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of the HTTP request, with lower-case names."""
    deadline: datetime | None = None
    """When the request is cut off; None: nobody knows."""

    @property
    def modes(self) -> frozenset[Mode]:
        """How the client can be asked for input."""
        return modes_of(self.client_capabilities.get("elicitation"))


@dataclass(frozen=True)
class Stream:
    """A response that is a body of events."""

    body: str


@dataclass(frozen=True)
class Written:
    """A JSON-RPC response that is written already."""

    text: str


@dataclass(frozen=True)
class SessionOpened:
    """The answer to `initialize`, with the session that begins."""

    result: JsonObject
    session_id: str


Reply: TypeAlias = JsonObject | Stream | Written | SessionOpened
Method: TypeAlias = Callable[[Kit, Call], Reply]


@dataclass(frozen=True)
class ToolsPage:
    """Some of the tools, in the order of their names."""

    tools: tuple[Tool, ...]
    next_after: str | None
    """The name to go on after; None on the last page."""


def tools_page(kit: Kit, call: Call) -> ToolsPage:
    """Give the page of tools that the cursor asks for: those after the name it holds (M33: in a stable order).

    What the caller may not call is left out.
    """
    after = _decoded(read.cursor(call.params))
    if after is not None and after not in kit.catalog.tools:
        raise InvalidCursor
    allowed = (tool for tool in kit.catalog.in_order if kit.access.allows(tool, call.scopes))
    tools = [tool for tool in allowed if after is None or tool.name > after]
    page = tuple(tools[:TOOLS_PAGE_SIZE])
    return ToolsPage(page, page[-1].name if len(tools) > len(page) else None)


def next_cursor(after: str | None) -> JsonObject:
    """Write what a client needs to go on: an opaque cursor of the last name or id on a page; nothing on the last."""
    return {} if after is None else {"nextCursor": base64.urlsafe_b64encode(after.encode()).decode().rstrip("=")}


def task_cursor(call: Call) -> TaskId | None:
    """Read the cursor of a list of tasks. It is a task's id, and leads nowhere but into the caller's own tasks."""
    text = _decoded(read.cursor(call.params))
    after = task_id_of(text)
    if text is not None and after is None:
        raise InvalidCursor
    return after


def tool_of(kit: Kit, call: Call) -> Tool:
    """Find the tool that is called.

    Raises:
        UnknownTool: there is none of that name.
        InsufficientScope: the caller may not call it.
    """
    tool = kit.catalog.find(read.text(call.params, "name"))
    kit.access.check_tool(tool, call.scopes, kit.catalog)
    return tool


def permit(kit: Kit, scopes: Scopes) -> Permit:
    """Return the check whether a caller may answer the questions of a task.

    Answers drive the work on, and a confirmation begins it; so they need what a call of the tool needs.

    Raises:
        InsufficientScope: by the check, where the caller may not call the task's tool.
    """

    def check(task: Task) -> None:
        tool = kit.catalog.tools.get(task.work.tool)
        if tool is not None:  # a tool that is no longer served asks for no scopes
            kit.access.check_tool(tool, scopes, kit.catalog)

    return check


def arguments_of(call: Call) -> JsonObject:
    """Read the arguments of a tool; left out means none."""
    return read.optional_object(call.params, "arguments") or {}


def missing_capabilities(tool: Tool, call: Call) -> JsonObject:
    """Give what a client must declare to call the tool, and has not; a confirmation needs a client with forms."""
    missing = {name: value for name, value in tool.client_capabilities.items() if name not in call.client_capabilities}
    if tool.confirmation is None or Mode.FORM in call.modes:
        return missing
    return {**missing, "elicitation": {"form": {}}}


def has_ended(task: Task) -> bool:
    """Tell whether there is nothing more to wait for."""
    return task.has_ended


def rejection(tool: Tool, faults: tuple[Violation, ...]) -> str:
    """Say what is wrong with arguments, so that a model can correct them."""
    wrong = "; ".join(map(str, faults))
    return f"The arguments of {tool.name} are not valid, and nothing was started: {wrong}."


def answer_or_raise(kit: Kit, task: Task) -> ToolResult:
    """Give the result of an ended task, as the call itself would have returned it (T14).

    Raises:
        WorkflowError: the work ended with a JSON-RPC error.
    """
    if isinstance(task.status, Cancelled):  # K4: no era says what this is; a result reaches the model
        return tool_error(f"The task {task.task_id} was cancelled, so it has no result.")
    match kit.operations.answer_of(task):
        case TaskError(code, message, data):
            raise WorkflowError(code, message, data)
        case ToolResult() as result:
            return result


def _decoded(cursor: str | None) -> str | None:
    if cursor is None:
        return None
    try:
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise InvalidCursor from None
