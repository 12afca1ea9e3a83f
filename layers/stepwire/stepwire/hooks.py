"""What an extra may add to the core: a closed set of hooks, all of them data.

The core is an MCP server for Step Functions that stands by itself. An extra is what an endpoint can do without: one
folder, `stepwire.extras.NAME`, whose attribute `EXTRA` is an `Extra`. `stepwire.composition` names them all; the
variable EXTRAS of each function names those that are on, and nothing of the others is imported.

The rules. The core names no extra: it asks each that is on, in the order of the table. An extra names the core and no
other extra. A hook is named after what the core wants, not after who gives it; where only one extra would use a hook,
the core may lack a concept. All types here are imported for type checkers alone, so every room may import this module.
The functions of a hook import the rest of their extra on first use, so that its `__init__` stays small.

What an extra needs to work is built by a function of its own from the `Ground`, once for each instance of a function:
`services.of(build)`. What it keeps of a tool is `tool.extras[NAME]`, of a task `task.notes[NAME]`. Its module
`audit` has what it audits (`stepwire.audit.Audited`), its module `refusals` its errors.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from msgspec import Struct, field

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from stepwire.aws.storage.table import Item, Table
    from stepwire.background.commands import Commands
    from stepwire.catalog.tools import Caller, Catalog, Tool
    from stepwire.changes import BusEvent, CallerEvent, ChangeServices, TaskChange
    from stepwire.engine.assembly import Engine, Ports
    from stepwire.engine.ports import Gate, Refuses
    from stepwire.engine.recorder import Recorder
    from stepwire.json_text import Json, JsonObject
    from stepwire.manifests.manifest import Manifest
    from stepwire.manifests.published import Checked, Owners, ToolFile
    from stepwire.principal import Principal
    from stepwire.protocol.messages import Response
    from stepwire.server.call import Call, Reply
    from stepwire.server.services import Services
    from stepwire.server.ways import OwnTool, Way
    from stepwire.tasks.answers import Audience
    from stepwire.tasks.inputs import Asked, Directed, InputRequest
    from stepwire.tasks.line import LineTerms
    from stepwire.tasks.task import Task

M = TypeVar("M", bound="Manifest")
T = TypeVar("T")


class Builder(Struct, frozen=True, kw_only=True):
    """Calls functions of extras that build something, each once."""

    built: dict[Callable[[Any], Any], Any] = field(default_factory=dict[Callable[[Any], Any], Any])
    """What they have built, by the function. A test gives a fake by the same function."""

    def of(self, build: Callable[[Self], T]) -> T:
        """Return what a function builds on this; it is called once."""
        if build not in self.built:
            self.built[build] = build(self)
        return self.built[build]


class TableGround(Builder, frozen=True):
    """What extras build on in a function that has no engine."""

    table: "Table"
    environment: Mapping[str, str]
    """The environment variables, where an extra reads its own settings."""


class Ground(TableGround, frozen=True):
    """What extras build on: the parts of the core that a function has."""

    engine: "Engine"


class Protocol(Struct, frozen=True):
    """An addition to MCP itself."""

    methods: "Mapping[str, Mapping[str, Callable[[Services, Call], Reply]]]" = MappingProxyType({})
    """Methods of MCP, by version and name. Called by the server with a request that has passed the ladder
    (`protocol.inbound`)."""
    capabilities: "Callable[[Services, Call], JsonObject] | None" = None
    """Returns a part of the server's capabilities. Called with `initialize` and `server/discover`; parts are merged,
    and so are the `extensions` in them."""


class Tools(Struct, frozen=True):
    """Tools of Stepwire's own. `stepwire.composition` has their names, so that no manifest takes one."""

    offered: "Callable[[Services, Call], Mapping[str, OwnTool]]"
    """Returns the tools that this client sees now, by their names and in their order. A call of another is a call of an
    unknown tool."""
    finder: "Callable[[Services, Call], str | None] | None" = None
    """Returns the tool with which this client finds the catalog's tools, which then are not listed; None: they are."""


class Streams(Struct, frozen=True):
    """Additions to what a legacy client resumes (`stepwire.server.sse_polling`), and what that client sends back."""

    take: "Callable[[Services, Call, Response], bool]"
    """Takes a client's response to a request of the server; returns False if the request was not this extra's, and the
    next is asked. InsufficientScope and UnknownTask are written to the audit; the client has no response to get."""
    due: "Callable[[Call, Task, int, datetime], Iterator[str]]" = lambda _call, _task, _polls, _at: iter(())
    """Yields the requests to this client on the body after this many polls."""
    offer: "Callable[[Call, Task, InputRequest, datetime], JsonObject]" = lambda _call, _task, _request, _at: {}
    """Returns the parameters that are added to a question."""
    is_deferred: "Callable[[Call, Task, InputRequest], bool]" = lambda _call, _task, _request: False
    """Tells whether this client need not be asked a question again."""
    pace: "Callable[[Call, Task], timedelta] | None" = None
    """Returns how long this client waits before it resumes, at most `ways.LONGEST_PAUSE`; None: as long as usual."""


class View(Struct, frozen=True):
    """A resource by which a host shows a task beside the conversation, to its user, who can answer there (MCP Apps)."""

    is_shown: "Callable[[Services, Call], bool]"
    """Tells whether this client's host shows it."""
    of_tool: "Callable[[Tool], JsonObject]"
    """Returns what `_meta` of a listed tool says of the view; empty: none of its tasks is shown."""
    of_result: "Callable[[Task], JsonObject]"
    """Returns what `_meta` of the result of an ended task says of it, for a client that polls the task."""
    place: str
    """Where the user can answer what the client cannot ask, in words for a model."""


class Resources(Struct, frozen=True):
    """Resources, by the scheme of their URIs, for the methods `resources/*` of both eras."""

    scheme: str
    """Prefix of their URIs, unique among extras."""
    listed: "Callable[[Services, Call], Iterable[JsonObject]]"
    """Returns those that `resources/list` shows this client."""
    read: "Callable[[Services, Call, str], JsonObject | None]"
    """Returns the content at a URI; None: there is none for this client."""
    is_public: bool = False
    """Whether the content is the same for every caller."""
    children: "Callable[[Services, Call, str], Iterable[JsonObject]] | None" = None
    """Returns the entries directly below a URI, for `resources/directory/read`; None: there are no directories."""
    view: View | None = None
    """How hosts show tasks by one of them; None: not at all."""


class EventType(Struct, frozen=True):
    """A type of event that an extra adds to those that callers can have of their tasks (MCP Events)."""

    name: str
    shown: "JsonObject"
    """`description`, `inputSchema` and `payloadSchema`, as callers read them."""
    events: "Callable[[ChangeServices, TaskChange], Iterable[CallerEvent]]"
    """Returns the events of this type that a change is, whosever they are."""
    is_for: "Callable[[Services, Call], bool] | None" = None
    """Tells whether a caller may have them, who may then be another than the task's; None: the task's caller may."""
    listen: "Callable[[Services, Call, timedelta, timedelta], None] | None" = None
    """Called when a caller asks for them: lets the caller have them for so long at least, and at most."""


class OnChange(Struct, frozen=True):
    """What is done with changes of tasks in function status_changes, which reads them from the table's stream."""

    listen: "Callable[[ChangeServices, Sequence[TaskChange]], int] | None" = None
    """Takes changes in the order of the writes, and returns how many it is done with, from the first on. Only those are
    given to the next extra, and told; the others are delivered again. So each is given once at least."""
    tell: "Callable[[ChangeServices, TaskChange], Iterable[BusEvent]] | None" = None
    """Returns what other systems hear of a change besides its status, on the event bus. After an error, the change and
    those that follow are delivered again."""
    types: "Callable[[], tuple[EventType, ...]]" = tuple
    """Returns what callers can hear of besides statuses and progress, where they can have events at all."""


class Doubt(Struct, frozen=True):
    """Something doubtful about a manifest, which is served all the same."""

    words: str
    fix: str
    is_advice: bool = False
    """Whether it may well be meant: only who writes the manifest is told of it."""


class FilesBeside(Struct, frozen=True):
    """Files beside a manifest, in folders, which an extra serves with the tool."""

    main: str
    """The name of the file that every folder has."""
    checked: "Callable[[Sequence[ToolFile], Container[str], Callable[[], bool], Owners], Checked[Any]]"
    """Checks the files of all tools. Takes the names of the tools that are served; whether the run may begin another
    folder; and who registered the files, by their sources, which is asked only where there is too little room."""


class ManifestFields(Struct, Generic[M], frozen=True, kw_only=True):
    """What an extra adds to a manifest, and beside it, for the compiler (`stepwire.manifests`)."""

    model: type[M] | None = None
    """Derives from the core's `Manifest`: the fields, with their words, and checks of its own, `check_...`."""
    part: Callable[[M], Any] = lambda _manifest: None
    """Returns what a tool keeps of a checked manifest in `tool.extras`: a struct; None: nothing."""
    files: FilesBeside | None = None
    """Files beside manifests; at most one extra takes them."""
    need_task: tuple[str, ...] = ()
    """Names of the fields that mean nothing for a tool whose calls are never tasks."""
    shapes: Mapping[str, str] = MappingProxyType({})
    """What a text must be, in words, by the patterns of the fields."""
    other_names: Mapping[str, str] = MappingProxyType({})
    """What people take for the name of a field, and its name."""
    doubts: "Callable[[M, Sequence[JsonObject]], Iterable[Doubt]]" = lambda _manifest, _definitions: ()
    """Returns what is doubtful beside the definitions of the state machines."""


class Router(Struct, frozen=True):
    """Puts questions of workflows to others than the callers."""

    kept: "Callable[[Tool], JsonObject | None]"
    """Returns what each task of a tool keeps of whom its questions are put to, in `task.work.routes`; None: all of them
    are the caller's. Called with each call that becomes a task."""
    directed: "Callable[[Task, str, Json, Asked, datetime], Directed | None]"
    """Returns to whom a question of a task goes, by its key, the audience that it names, and what it asks; None: it is
    not for them. Raises InvalidQuestion, which fails the state that asks."""
    readdressed: "Callable[[Task, datetime], Mapping[int, Audience]]"
    """Returns the audiences that open questions must have from now on, by the numbers of the questions."""


class Gates(Struct, frozen=True):
    """What decides when runs begin (`stepwire.engine.ports.Gate`)."""

    line: "Callable[[Catalog, Tool, JsonObject, Caller], LineTerms | None]"
    """Returns the line in which the runs of a call wait for their turns, from the call's arguments; None: they begin at
    once. Called with each `tools/call` that becomes a task."""
    build: "Callable[[Table], Callable[[Recorder, Ports], Gate]]"
    """Returns what builds the gate. Called once by each function that begins runs."""


class Kept(Struct, frozen=True):
    """What an item says to whoever exports or looks at what is held of a caller, without secrets."""

    data: "JsonObject"
    words: str
    """In one line, without anything that the caller sent."""
    ends_at: "datetime"
    """From when it has no effect."""


class Items(Struct, frozen=True):
    """Items of the table that an extra keeps below a caller."""

    kinds: Mapping[str, str] = MappingProxyType({})
    """What an item is, by how its sort key begins."""
    shown: "Mapping[str, Callable[[Item], Kept]]" = MappingProxyType({})
    """Returns what an item says that has secrets, or that is looked at by itself, by how its sort key begins."""
    elsewhere: "Callable[[Principal, Item], Iterable[Item]] | None" = None
    """Returns the keys of items elsewhere to which nothing but this item below the caller leads; erased before it."""


class Extra(Struct, frozen=True, kw_only=True):
    """What one extra adds. Each hook says who calls it, when, and what an error in it does.

    In a request, an error is the answer: a `ProtocolError` as it is, any other as an internal error that is reported.
    """

    name: str
    """The folder, the key in `tool.extras` and `task.notes`, and the word in EXTRAS."""

    protocol: Protocol = Protocol()
    """Methods of MCP, and the capabilities that declare them. An error is the answer."""

    tools: Tools | None = None
    """Tools of Stepwire's own. Called with `tools/list` and with each `tools/call`. An error is the answer."""

    way: "Callable[[Services, Call, Tool, Way], Way | None] | None" = None
    """Returns how a call of a tool of the catalog is confirmed and answered, given the way so far: a task's or a plain
    call's, as the extras before have changed it; None: it stays. Called with each `tools/call`. An error is the
    answer."""

    streams: Streams | None = None
    """Additions to the streams of legacy clients, and their responses. Called with each body of a stream, and with each
    response. An error on a stream is reported, and the client resumes; one in `take` is answered 503."""

    resources: Resources | None = None
    """Resources. Called with `resources/*`; the scheme decides whose they are. An error is the answer."""

    on_change: OnChange | None = None
    """What it does with changes of tasks, and what it tells of them. Called by function status_changes. An error in
    `listen` fails the batch, which Lambda delivers again in halves."""

    gate: Gates | None = None
    """Decides when runs of tools with a limit begin. At most one extra that is on has it. An error in the gate
    postpones a begin or what follows an end, and is reported; one of a new call is its answer."""

    router: Router | None = None
    """Puts questions of workflows to others. Asked where a task is made, where a workflow asks, and where a task with
    open questions is read. Where the extra is off, a question that would be for others fails: the caller gets none of
    them."""

    items: Items | None = None
    """What it keeps below a caller. Read by whoever exports or erases all that is held of a caller, whether the extra
    is on or off. An error fails the export or the erasure, which goes on when it is repeated."""

    refuses: "Callable[[Table, Callable[[Exception], None]], Refuses] | None" = None
    """Returns what tells whom an operator refuses, given the table and what takes faults. Called once by each function
    that serves callers, and asked before a request reads anything, before others answer a question, and before a
    delivery. An error in it is the answer; a delivery comes again."""

    commands: "Callable[[Ground], Commands] | None" = None
    """Returns operators' commands, by their names (`stepwire.background.commands`). Called once by function operator. A
    `CommandRefused` is the operator's answer; any other error fails the invocation."""

    fields: "Callable[[], ManifestFields[Any]] | None" = None
    """Returns fields of a manifest. Called by the compiler alone (function catalog, the command), which has pydantic. A
    `ValueError` of a check is a fault of the manifest."""
