"""How a call is answered: the ways of a call of the catalog's tools, and Stepwire's own tools with what they return."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final, TypeAlias

from msgspec import Struct

from stepwire.catalog.tools import Confirmation, TaskSupport
from stepwire.engine.calls import Begun, ToolCall
from stepwire.json_text import Json, JsonObject, write
from stepwire.protocol.messages import LEGACY_WITH_TASKS
from stepwire.server.call import Call, Reply
from stepwire.server.services import Services
from stepwire.tasks.inputs import InputRequest
from stepwire.tasks.task import Task, ToolResult

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
    """The outcome of a tool that asks: ask the client's user, whose answer becomes the call's result."""

    request: InputRequest
    """The question; on a stream, a higher number is asked after a lower one."""
    message_id: str
    """Id of the request that asks the client on a stream."""
    until: datetime
    """The time from which answers no longer count."""
    put: Callable[[], None]
    """Called when the client is asked."""
    take: Callable[[Json], "ToolResult | Ask"]
    """Takes the answer; returns the result or the next question. On a stream, `hooks.Streams.take` gets the answers."""


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
    meant: Callable[[Services, Call], Call | None] | None = None
    """Returns the call that a call of this tool stands for, before its arguments are checked; None: it stands for none,
    and runs. So such a call may start work."""

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
    is_cancellable: bool = True
    """Whether a cancellation of the request stops the work."""
    is_shown: bool = False
    """Whether the host shows the task to its user, who is asked there; the names of its states are then recorded."""


class PlainWay(Way, frozen=True, kw_only=True):
    """The way of a call that is not a task. Stepwire's own tools also use it to ask a task's questions."""

    question: Callable[[Task], Reply]
    """Asks the client the open questions."""
    ask: Callable[[Ask], Reply]
    """Asks the client's user for one of Stepwire's own tools."""
    answered: Callable[[Task], Task] = lambda task: task
    """Returns the task with the answers in the call."""
