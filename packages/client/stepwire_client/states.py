"""The states of a task, the same for both eras. Frozen; each status carries exactly its payload.

The eras differ in what a failed tool call is: `failed` in 2025-11-25, `completed` with `is_error` in 2026-07-28. Here
it is `Completed` with `is_error` always, and `Failed` is an error of the protocol.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Literal, TypeAlias

from mcp_types import CallToolResult, ErrorData, InputRequest

Status: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known of a task in every status."""

    task_id: str
    created_at: datetime
    last_updated_at: datetime
    ttl: timedelta | None
    """How long the server keeps the task, from its creation; None for ever."""
    poll_interval: timedelta | None = None
    """How long to wait before the next poll, if the server says so."""
    status_message: str | None = None
    """The server's words on where the task stands."""


@dataclass(frozen=True, kw_only=True)
class Working(Facts):
    """The task is running."""

    status: ClassVar[Literal["working"]] = "working"


@dataclass(frozen=True, kw_only=True)
class InputRequired(Facts):
    """The task waits for answers."""

    questions: Mapping[str, InputRequest]
    """The open questions by their keys. Always empty in 2025-11-25, where the wait for the result brings them."""
    status: ClassVar[Literal["input_required"]] = "input_required"


@dataclass(frozen=True, kw_only=True)
class Completed(Facts):
    """The tool returned a result, or an error of its own (`result.is_error`)."""

    result: CallToolResult
    status: ClassVar[Literal["completed"]] = "completed"


@dataclass(frozen=True, kw_only=True)
class Failed(Facts):
    """The call ended with an error of the protocol."""

    error: ErrorData
    status: ClassVar[Literal["failed"]] = "failed"


@dataclass(frozen=True, kw_only=True)
class Cancelled(Facts):
    """The task was cancelled."""

    status: ClassVar[Literal["cancelled"]] = "cancelled"


Ended: TypeAlias = Completed | Failed | Cancelled
Task: TypeAlias = Working | InputRequired | Ended


@dataclass(frozen=True, kw_only=True)
class ListedTask(Facts):
    """A task in a list, which shows neither questions nor results."""

    status: Status


@dataclass(frozen=True)
class Listing:
    """A page of the caller's tasks."""

    tasks: tuple[ListedTask, ...]
    next_cursor: str | None = None
    """Names the next page; None on the last."""
