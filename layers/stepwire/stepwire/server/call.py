"""A caller's request, read once; the tools of the catalog that it reaches; and the kinds of reply to it.

Every request, notification, response and resumption of either era becomes one `Call`, when it has passed the ladder
(`stepwire.protocol.inbound`). Parameters are parsed on first use and cached, so an invalid one is refused when a method
needs it, not before, and the error names it (M37).

A call reaches the tools that its caller may call and its URL selects; every list and call of tools uses this. Tasks are
not selected: a caller has the same ones at every URL.
"""

from datetime import datetime
from functools import cached_property
from math import ceil
from typing import Any, Final, TypeAlias, cast

from msgspec import Struct, field

from stepwire.catalog.tools import OWN_TOOLS, Tool
from stepwire.errors import InvalidParams, UnknownSelection, UnknownTool
from stepwire.hooks import View
from stepwire.json_text import Json, JsonObject, as_object
from stepwire.principal import Caller
from stepwire.protocol.http import RequestHeaders, Selection, selection_in, switch_in
from stepwire.protocol.messages import (
    LEGACY_VERSIONS,
    LEGACY_WITH_TASKS,
    META_CLIENT,
    TASKS_EXTENSION,
    MessageId,
    is_id,
)
from stepwire.protocol.sessions import NEVER, Resumes, Session
from stepwire.server.services import Services
from stepwire.tasks.inputs import Mode, modes_of
from stepwire.tasks.task import Task
from stepwire.tracing import Trace

_ROUNDS: Final = "rounds"
"""In the query of the endpoint's URL: 1 or 0 decides for one's own client."""
_TAKING_ROUNDS: Final = ("fastmcp",)
_PYTHON_SDK: Final = "mcp"
"""The name of the Python SDK, in every host that keeps its default."""


class Call(Struct, frozen=True, dict=True):
    """A caller's request, in either era."""

    caller: Caller
    params: JsonObject
    at: datetime
    """When the invocation began. Whoever has waited since then reads the clock anew."""
    meta: JsonObject = field(default_factory=dict[str, Any])
    """The `_meta` of the parameters."""
    message_id: MessageId = 0
    version: str = ""
    """The protocol version that the client speaks."""
    is_modern: bool = False
    """Whether that is a version of the modern era."""
    client_capabilities: JsonObject = field(default_factory=dict[str, Any])
    """What the client declares: a modern one in each request, a legacy one in its session."""
    session: Session = field(default_factory=Session)
    idempotency_key: str | None = None
    """The client's key for this call: a retry with the same key gets the same task."""
    trace: Trace | None = None
    """The trace that the request continues."""
    headers: RequestHeaders = field(default_factory=RequestHeaders)
    query: str = ""
    """Of the endpoint's URL."""
    is_indirect: bool = False
    """Whether the client named the tool in another tool's arguments, so that its headers do not repeat it."""
    deadline: datetime | None = None
    """When Lambda ends the invocation; None: not known."""

    @cached_property
    def arguments(self) -> JsonObject:
        """The arguments for a tool; empty if the call has none."""
        return optional_object_in(self.params, "arguments") or {}

    @cached_property
    def request_state(self) -> str | None:
        """The requestState of an earlier round, of 2026-07-28."""
        return None if self.params.get("requestState") is None else text_in(self.params, "requestState")

    @cached_property
    def input_responses(self) -> JsonObject:
        """The client's answers to earlier questions, or in advance; of 2026-07-28."""
        return optional_object_in(self.params, "inputResponses") or {}

    @cached_property
    def asks_for_task(self) -> bool:
        """Whether a call should be a task: a modern client declares that it may, an older one says so each time.

        Raises:
            InvalidParams: `params.task` is no object.
        """
        if self.is_modern:  # X2: in this very request; A5: not in older eras
            return TASKS_EXTENSION in as_object(self.client_capabilities.get("extensions"))
        # T2: before 2025-11-25 the parameter means nothing.
        return self.version == LEGACY_WITH_TASKS and optional_object_in(self.params, "task") is not None

    @property
    def declares_tasks(self) -> bool:
        """Whether the client declares the extension for tasks, which older eras do not have."""
        return self.is_modern and self.asks_for_task

    @cached_property
    def modes(self) -> frozenset[Mode]:
        """The kinds of questions that the client can be asked."""
        return modes_of(self.client_capabilities)

    @cached_property
    def selection(self) -> Selection | None:
        """The tools of the catalog that the URL selects; None: all.

        Raises:
            InvalidParams: the URL names nothing, or too much.
        """
        return selection_in(self.query) if self.query else None

    @cached_property
    def resumes(self) -> Resumes:
        """The responses that the client resumes; all others are sent as JSON."""
        # VS Code and the PHP SDK send no version, and never resume a response.
        is_able = self.headers.accepts_events and self.headers.version and self.session.id
        return self.session.resumes if self.version in LEGACY_VERSIONS and is_able else NEVER

    @cached_property
    def takes_rounds(self) -> bool:
        """Whether a client of 2026-07-28 calls again after an InputRequiredResult (decision 51).

        A client that declares tasks, or kinds of questions, does. For others only some names are known: the Python SDK
        sends the same bytes from hosts that support rounds and from hosts that fail the call.
        """
        asked = switch_in(self.query, _ROUNDS)
        return self.asks_for_task or bool(self.modes) or self._name in _TAKING_ROUNDS if asked is None else asked

    @property
    def progress_token(self) -> MessageId | None:
        """The token for notifications of progress; None if the client wants none."""
        token = self.meta.get("progressToken")
        return token if is_id(token) else None

    @property
    def may_give_up_soon(self) -> bool:
        """Whether the client may give up a call after 5 seconds, as the OpenAI Agents SDK does by default."""
        return self._name == _PYTHON_SDK

    @property
    def _name(self) -> Json:
        """The name of a client of 2026-07-28, as it sent it in this request."""
        return as_object(self.meta.get(META_CLIENT)).get("name")

    def is_followed(self, *, as_task: bool = False) -> bool:
        """Tell whether questions reach the client: it polls its task, takes rounds, or resumes its response."""
        if self.is_modern:
            return as_task or self.takes_rounds
        return self.resumes.results if as_task else self.resumes.calls


# ----------------------------------------------------------------------------------------------------------- parameters


def text_in(params: JsonObject, name: str) -> str:
    """Return a required string."""
    value = params.get(name)
    if not isinstance(value, str):
        raise InvalidParams(f"params.{name} must be a string.")
    return value


def optional_object_in(params: JsonObject, name: str) -> JsonObject | None:
    """Return an optional object."""
    value = params.get(name)
    if value is not None and not isinstance(value, dict):
        raise InvalidParams(f"params.{name} must be an object.")
    return cast(JsonObject | None, value)


def object_in(params: JsonObject, name: str) -> JsonObject:
    """Return a required object."""
    value = optional_object_in(params, name)
    if value is None:
        raise InvalidParams(f"params.{name} must be an object.")
    return value


def optional_milliseconds_in(params: JsonObject, name: str, shown: str) -> int | None:
    """Return an optional duration, rounded up because any number is allowed. `shown` is its name in errors."""
    value = params.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
        raise InvalidParams(f"{shown} must be a positive number of milliseconds.")
    return ceil(value)


# -------------------------------------------------------------------------------------------------------------- replies


class Stream(Struct, frozen=True):
    """A response whose body is server-sent events."""

    body: str


class Written(Struct, frozen=True):
    """A JSON-RPC response that is already serialized."""

    text: str


class ResultOnStream(Struct, frozen=True):
    """The result of a task, on a stream that the client resumes until it is there."""

    task: Task


class SessionOpened(Struct, frozen=True):
    """The result of `initialize`, with the id of the new session."""

    result: JsonObject
    session_id: str


Reply: TypeAlias = JsonObject | Stream | Written | ResultOnStream | SessionOpened


# ------------------------------------------------------------------------------------------------------ what is reached


def finder_of(services: Services, call: Call) -> str | None:
    """Return the tool with which a client finds the catalog's tools in place of a list; None: it lists them."""
    finders = (one.tools.finder(services, call) for one in services.parts if one.tools and one.tools.finder)
    return next((finder for finder in finders if finder is not None), None)


def listed_tools(services: Services, call: Call) -> list[Tool]:
    """Return the tools in a client's list: those that its calls reach, unless it finds them by a tool."""
    return [] if finder_of(services, call) is not None else reached_tools(services, call)


def views(services: Services, call: Call) -> list[View]:
    """Return the views that the client's host shows."""
    found = [one.resources.view for one in services.parts if one.resources is not None]
    return [view for view in found if view is not None and view.is_shown(services, call)]


def meta_of(shown: list[View], tool: Tool) -> JsonObject:
    """Return the `_meta` of a tool that a client with these views is listed; empty: it has none."""
    return {name: value for view in shown for name, value in view.of_tool(tool).items()}


def reached_tools(services: Services, call: Call) -> list[Tool]:
    """Return the tools that a call reaches, in the order of their names.

    Raises:
        UnknownSelection: the URL names a tool or a group that this caller does not have, whether or not others have.
    """
    allowed = [tool for tool in services.catalog.in_order if services.access.allows(tool, call.caller.scopes)]
    chosen = call.selection
    if chosen is None:
        return allowed
    usable = {group for tool in allowed for group in tool.groups}
    # Every URL has Stepwire's own tools, so naming one changes nothing.
    unknown = chosen.tools - OWN_TOOLS - {tool.name for tool in allowed}
    if unknown or not chosen.groups <= usable:
        raise UnknownSelection(unknown, chosen.groups - usable, usable)
    return [tool for tool in allowed if chosen.has(tool.name, tool.groups)]


def reached_tool(services: Services, call: Call) -> Tool:
    """Return the tool that is called.

    Raises:
        UnknownTool: there is none of that name, or the URL does not select it.
        InsufficientScope: its caller may not call it.
    """
    name = text_in(call.params, "name")
    tool, chosen = services.catalog.tools.get(name), call.selection
    if tool is None or (chosen is not None and not chosen.has(tool.name, tool.groups)):
        raise UnknownTool(name, finder_of(services, call) or "tools/list")
    services.access.check(call.caller.scopes, tool, services.catalog)
    return tool
