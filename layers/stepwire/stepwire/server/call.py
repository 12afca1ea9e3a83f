"""What a caller asks for, read once, and the kinds of reply to it.

Every request, notification, response and resumption of either era becomes one `Call`, when it has passed the ladder
(`stepwire.protocol.inbound`). What is asked of a call several times is read on first use, and kept: a parameter that
cannot be read is refused when a method asks for it, not before.
"""

from datetime import datetime
from functools import cached_property
from typing import Any, Final, TypeAlias

from msgspec import Struct, field

from stepwire.catalog.tools import Tool
from stepwire.json_text import Json, JsonObject, as_object
from stepwire.principal import Caller
from stepwire.protocol.http import RequestHeaders
from stepwire.protocol.messages import (
    LEGACY_VERSIONS,
    LEGACY_WITH_TASKS,
    META_CLIENT,
    TASKS_EXTENSION,
    MessageId,
    optional_object_in,
    optional_text_in,
)
from stepwire.protocol.sessions import NEVER, Resumes, Session, shows_cards
from stepwire.protocol.url_query import Selection, selection_in, switch_in
from stepwire.tasks.inputs import Mode, modes_of
from stepwire.tasks.task import Task
from stepwire.tracing import Trace

_ROUNDS: Final = "rounds"
"""In the query of the endpoint's URL: 1 or 0 decides for a client of one's own."""
_TAKING_ROUNDS: Final = ("fastmcp",)
_PYTHON_SDK: Final = "mcp"
"""The name of the Python SDK, in every host that keeps its default."""


class Call(Struct, frozen=True, dict=True):
    """What a caller asks for, in either era."""

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
    task: Task | None = None
    """The task that it is about, if that was read already (`stepwire.engine.blocks`)."""
    headers: RequestHeaders = field(default_factory=RequestHeaders)
    query: str = ""
    """Of the endpoint's URL."""
    is_indirect: bool = False
    """Whether the client named the tool in the arguments of another, so that its headers repeat nothing of it."""
    deadline: datetime | None = None
    """When Lambda ends the invocation; None: not known."""

    @cached_property
    def arguments(self) -> JsonObject:
        """The arguments for a tool; empty if the call has none."""
        return optional_object_in(self.params, "arguments") or {}

    @cached_property
    def request_state(self) -> str | None:
        """The requestState of a round before, of 2026-07-28."""
        return optional_text_in(self.params, "requestState")

    @cached_property
    def input_responses(self) -> JsonObject:
        """What the client answers to what it was asked before, or in advance; of 2026-07-28."""
        return optional_object_in(self.params, "inputResponses") or {}

    @cached_property
    def asks_for_task(self) -> bool:
        """Whether a call is to be a task: a modern client declares that it may, an older one says so each time.

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
        """What the client can be asked."""
        return modes_of(self.client_capabilities)

    @cached_property
    def shows_cards(self) -> bool:
        """Whether the client's host shows cards: in this era it says so in this very request, else in its session."""
        return shows_cards(self.client_capabilities, self.query)

    def shows_card_of(self, tool: Tool) -> bool:
        """Tell whether the client's host shows a card of this tool's tasks."""
        return tool.has_card and self.shows_cards

    @cached_property
    def selection(self) -> Selection | None:
        """Which tools of the catalog the URL names; None: all.

        Raises:
            InvalidParams: the URL names nothing, or too much.
        """
        return selection_in(self.query) if self.query else None

    @cached_property
    def resumes(self) -> Resumes:
        """Which responses the client resumes; all others are sent as JSON."""
        # VS Code and the PHP SDK send no version, and never resume a response.
        is_able = self.headers.accepts_events and self.headers.version and self.session.id
        return self.session.resumes if self.version in LEGACY_VERSIONS and is_able else NEVER

    @cached_property
    def takes_rounds(self) -> bool:
        """Whether a client of 2026-07-28 calls again after an InputRequiredResult (decision 51).

        One that declares tasks, or what it can be asked, does. Of the others only some names are known: the Python SDK
        sends the same name and bytes from hosts that take rounds and from hosts that fail the call.
        """
        asked = switch_in(self.query, _ROUNDS)
        return self.asks_for_task or bool(self.modes) or self._name in _TAKING_ROUNDS if asked is None else asked

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
