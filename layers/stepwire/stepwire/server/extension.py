"""What an extension adds to the server: a closed set of contributions, all of them data.

An extension is a folder or file of `extensions`, and a line of `composition.EXTENSIONS`. The server knows no extension
by name: it merges their methods, tools, capabilities and what they add to streams, and asks each in turn whether a call
of a tool goes its way.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import cached_property
from types import MappingProxyType
from typing import Final, TypeAlias

from msgspec import Struct

from stepwire.catalog.tools import Confirmation, TaskSupport, Tool
from stepwire.engine.calls import Begun, ToolCall
from stepwire.json_text import Json, JsonObject, write
from stepwire.protocol.http import RoutedName
from stepwire.protocol.messages import LEGACY_VERSIONS, LEGACY_WITH_TASKS, MODERN_VERSIONS, Response
from stepwire.server.call import Call, Reply
from stepwire.server.services import Services
from stepwire.tasks.inputs import InputRequest
from stepwire.tasks.task import Task, ToolResult

ALL_VERSIONS: Final = (*MODERN_VERSIONS, *LEGACY_VERSIONS)
LONGEST_PAUSE: Final = timedelta(seconds=20)
"""Between two bodies of a stream; clients give up on a request that is silent for longer."""
Method: TypeAlias = Callable[[Services, Call], Reply]


class Wait(Struct, frozen=True):
    """What `task_result` does: wait for news of a task."""

    task: Task
    patience: timedelta


class Ask(Struct, frozen=True):
    """What `approval_answer` does: ask the client's user, whose answer is the call's."""

    request: InputRequest
    """What is asked; on a stream, a higher number is asked after a lower one."""
    message_id: str
    """The id of the request that puts it to the client on a stream."""
    until: datetime
    """From when on no answer counts."""
    put: Callable[[], None]
    """Called when the question is put to the client."""
    take: Callable[[Json], "ToolResult | Ask"]
    """Takes the answer; returns what came of it, or what to ask now. On a stream, answers come by `Extension.take`."""


class OwnTool(Struct, frozen=True, dict=True):
    """A tool of Stepwire's own."""

    name: str
    title: str
    description: str
    properties: JsonObject
    required: tuple[str, ...]
    annotations: JsonObject
    run: Callable[[Services, Call, JsonObject], ToolResult | Wait | Ask]
    meta: JsonObject | None = None
    task_support: TaskSupport = TaskSupport.FORBIDDEN
    asks: bool = False
    """Whether a run only asks or reports, so that each body of a stream may run it again."""

    @cached_property
    def input_schema(self) -> JsonObject:
        """The JSON Schema of its arguments."""
        return {
            "type": "object",
            "properties": self.properties,
            **({"required": list(self.required)} if self.required else {}),  # some validators refuse an empty list
            "additionalProperties": False,
        }

    @cached_property
    def input_schema_text(self) -> str:
        """The schema as JSON text, under which its compiled form is kept."""
        return write(self.input_schema)

    def shown(self, version: str) -> JsonObject:
        """Write it as `tools/list` of a version shows it."""
        return {
            **({"execution": {"taskSupport": self.task_support.value}} if version == LEGACY_WITH_TASKS else {}),
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
            "annotations": self.annotations,
            **({} if self.meta is None else {"_meta": self.meta}),
        }


class Way(Struct, frozen=True):
    """How a call of a tool is confirmed and answered."""

    answer: Callable[[Begun], Reply]
    """Waits for what the client gets of the task, and writes it."""
    confirm: Callable[[ToolCall, Confirmation], Begun | Reply] | None = None
    """Asks for the confirmation before there is a task, and begins it once that is given; None: the task asks."""
    resume: Callable[[bool], Reply | None] | None = None
    """Answers a call with a requestState from its task; None, also as the answer: it begins one, or confirms that."""
    refuse: Callable[[str], Reply] | None = None
    """Answers a call whose arguments are wrong; None: with the result of a tool that failed."""
    is_task: bool = False
    """Whether the client gets a task, and follows that."""
    ttl_ms: int | None = None
    """The ttl that the client asks for."""
    is_cancellable: bool = True
    """Whether a cancellation of the request stops the work."""


class PlainWay(Way, frozen=True, kw_only=True):
    """The way of a call that is no task. A tool of Stepwire's own puts the questions of a task by it, too."""

    question: Callable[[Task], Reply]
    """Puts the open questions to the client."""
    ask: Callable[[Ask], Reply]
    """Asks the client's user for a tool of Stepwire's own."""
    answered: Callable[[Task], Task] = lambda task: task
    """Returns the task with the answers that the call brings along."""


Intercept: TypeAlias = Callable[[Services, Call, Tool, Way], Way | None]


class OnStream(Struct, frozen=True):
    """What is added to the streams on which legacy clients are asked and answered (`stepwire.server.sse_polling`)."""

    due_requests: Callable[[Call, Task, int, datetime], Iterator[str]]
    """Writes what to ask this client on the body that it gets after so many polls."""
    offer: Callable[[Call, Task, InputRequest, datetime], JsonObject]
    """Returns the parameters that are added to a question."""
    is_deferred: Callable[[Call, Task, InputRequest], bool]
    """Tells whether this client need not be asked a question again."""
    pace_of: Callable[[Call, Task], timedelta]
    """Returns how long this client must wait before it resumes; at most LONGEST_PAUSE."""


class Resources(Struct, frozen=True):
    """The resources that an extension serves, by the scheme of their URIs."""

    scheme: str
    """What their URIs begin with, and no other extension's."""
    listed: Callable[[Services, Call], Iterable[JsonObject]]
    """Returns those that `resources/list` shows this client."""
    read: Callable[[Services, Call, str], JsonObject | None]
    """Returns the content at a URI; None: there is none for this client."""
    keep_for: timedelta
    """How long a client may keep what it has read."""
    is_public: bool = False
    """Whether that is the same for every caller."""
    children: Callable[[Services, Call, str], Iterable[JsonObject]] | None = None
    """Returns what is directly below a URI, for `resources/directory/read`; None: there are no directories."""


class Extension(Struct, frozen=True):
    """The contributions of one extension."""

    methods: Mapping[str, Mapping[str, Method]] = MappingProxyType({})
    """The methods that it adds to each version."""
    routed_names: Mapping[str, RoutedName] = MappingProxyType({})
    """What the header Mcp-Name repeats of the parameters of those methods."""
    capabilities: Callable[[Services, Call], JsonObject] | None = None
    """Returns what it adds to the server's capabilities, for the client that asks, in the version agreed on."""
    tool_names: frozenset[str] = frozenset()
    """The names of all tools that it may offer: no tool of the catalog has them."""
    tools: Callable[[Services, Call], Mapping[str, OwnTool]] | None = None
    """Returns the tools that it offers this client, by their names and in that order."""
    intercept: Intercept | None = None
    """Returns its own way of a call, in place of the given one of a plain call; None: the call is not for it."""
    take: Callable[[Services, Call, Response], bool] | None = None
    """Takes a client's response to a request of the server, and returns whether the request was its own."""
    resources: Resources | None = None
    """The resources that it adds to the methods `resources/*`."""
    on_stream: OnStream | None = None
    """What it adds to the streams of legacy clients."""
    meant: Mapping[str, Callable[[Services, Call], Call]] = MappingProxyType({})
    """By the names of tools that stand for others: returns the call that is meant, before anything looks at the given
    one, or that one."""
