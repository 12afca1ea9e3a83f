"""An extension's contributions to the server: a closed set, all of them data.

An extension is a folder or file of `extensions`, and a line of `composition.EXTENSIONS`. No other module of the server
imports one: it merges their methods, tools, capabilities and additions to streams, and asks each in turn whether it
intercepts a tool call. Two things of an extension are elsewhere: the names of its tools (`catalog.tools.OWN_TOOLS`),
because manifests are compiled without the server, and what it needs of the endpoint, which is a field of `Services`
that `aws.mcp_function` fills (`events`, `approvals`, `askings`, `skills`, `discovery`). Of two extensions the core has
parts: who may approve and who searches (`call`), and the streams of `approval_answer` (`asking`).
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
CACHED_FOR: Final = timedelta(minutes=5)
"""How long clients may keep lists, and what they read (`ttlMs`). A client that reads each list again whenever that has
passed makes at most ten requests in ten minutes; what is new, it finds at its next connection."""
Method: TypeAlias = Callable[[Services, Call], Reply]


class Wait(Struct, frozen=True):
    """The outcome of `task_result`: wait for news of a task."""

    task: Task
    patience: timedelta


class Ask(Struct, frozen=True):
    """The outcome of `approval_answer`: ask the client's user, whose answer becomes the call's result."""

    request: InputRequest
    """The question; on a stream, a higher number is asked after a lower one."""
    message_id: str
    """Id of the request that asks the client on a stream."""
    until: datetime
    """The time from which answers no longer count."""
    put: Callable[[], None]
    """Called when the client is asked."""
    take: Callable[[Json], "ToolResult | Ask"]
    """Takes the answer; returns the result or the next question. On a stream, `Extension.take` gets the answers."""


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
    """Waits for the client's part of the task, and writes it."""
    confirm: Callable[[ToolCall, Confirmation], Begun | Reply] | None = None
    """Asks for the confirmation before the task exists, and starts it afterwards; None: the task asks."""
    resume: Callable[[bool], Reply | None] | None = None
    """Answers a call with a requestState from its task; None, also as the answer: it starts or confirms one."""
    refuse: Callable[[str], Reply] | None = None
    """Answers a call whose arguments are wrong; None: with the result of a tool that failed."""
    is_task: bool = False
    """Whether the client gets a task, and polls it."""
    ttl_ms: int | None = None
    """The ttl that the client asks for."""
    is_cancellable: bool = True
    """Whether a cancellation of the request stops the work."""


class PlainWay(Way, frozen=True, kw_only=True):
    """The way of a call that is not a task. Stepwire's own tools also use it to ask a task's questions."""

    question: Callable[[Task], Reply]
    """Asks the client the open questions."""
    ask: Callable[[Ask], Reply]
    """Asks the client's user for one of Stepwire's own tools."""
    answered: Callable[[Task], Task] = lambda task: task
    """Returns the task with the answers in the call."""


Intercept: TypeAlias = Callable[[Services, Call, Tool, Way], Way | None]


class OnStream(Struct, frozen=True):
    """Additions to the streams of legacy clients (`stepwire.server.sse_polling`)."""

    due_requests: Callable[[Call, Task, int, datetime], Iterator[str]]
    """Writes the requests to this client on the body after this many polls."""
    offer: Callable[[Call, Task, InputRequest, datetime], JsonObject]
    """Returns the parameters that are added to a question."""
    is_deferred: Callable[[Call, Task, InputRequest], bool]
    """Tells whether this client need not be asked a question again."""
    pace_of: Callable[[Call, Task], timedelta]
    """Returns how long this client must wait before it resumes; at most LONGEST_PAUSE."""


class Resources(Struct, frozen=True):
    """The resources that an extension serves, by the scheme of their URIs."""

    scheme: str
    """Prefix of their URIs, unique among extensions."""
    listed: Callable[[Services, Call], Iterable[JsonObject]]
    """Returns those that `resources/list` shows this client."""
    read: Callable[[Services, Call, str], JsonObject | None]
    """Returns the content at a URI; None: there is none for this client."""
    is_public: bool = False
    """Whether the content is the same for every caller."""
    children: Callable[[Services, Call, str], Iterable[JsonObject]] | None = None
    """Returns the entries directly below a URI, for `resources/directory/read`; None: there are no directories."""


class Extension(Struct, frozen=True):
    """The contributions of one extension."""

    methods: Mapping[str, Mapping[str, Method]] = MappingProxyType({})
    """The methods that it adds to each version."""
    routed_names: Mapping[str, RoutedName] = MappingProxyType({})
    """The parameter of each of those methods that the header Mcp-Name repeats."""
    capabilities: Callable[[Services, Call], JsonObject] | None = None
    """Returns its part of the server's capabilities, for this client and version."""
    tool_names: frozenset[str] = frozenset()
    """The names of all tools that it may offer: no tool of the catalog has them."""
    tools: Callable[[Services, Call], Mapping[str, OwnTool]] | None = None
    """Returns the tools that it offers this client, by their names and in that order."""
    intercept: Intercept | None = None
    """Returns its own way of a call instead of a plain call's; None: it does not intercept the call."""
    take: Callable[[Services, Call, Response], bool] | None = None
    """Takes a client's response to a server request, and returns whether the request was its own."""
    resources: Resources | None = None
    """The resources that it adds to the methods `resources/*`."""
    on_stream: OnStream | None = None
    """Its additions to the streams of legacy clients."""
    meant: Mapping[str, Callable[[Services, Call], Call]] = MappingProxyType({})
    """By the names of tools that stand for others: returns the call that is meant, before anything looks at the given
    one, or that one."""
