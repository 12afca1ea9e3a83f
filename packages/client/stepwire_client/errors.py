"""The errors of the client, one small tree. Each message says what happened; the attributes say it to programs.

    TaskClientError
    ├── NotConnected      no answer: network, name, certificate, proxy, or a server that is down
    ├── Busy              the server asks for fewer or later requests (HTTP 429, 502 to 504, a 500 without JSON-RPC)
    ├── SignInNeeded      no credentials, or they are not accepted (HTTP 401, 403)
    ├── NotUnderstood     what answered is no MCP server, or breaks the protocol
    ├── NotOffered        the server, or its protocol version, has no such method
    ├── Refused           the server answered the request with an error
    │   ├── UnknownTask   this caller has no such task, or it has expired
    │   └── CallFailed    the task ended with an error of the protocol
    ├── TaskCancelled     the task was cancelled, so it has no result
    └── Unanswered        the task asks something that no callback answers; the task goes on waiting

The rule: decide by a code, a status or a type, never by the text of a message.
"""

from collections.abc import Sequence
from typing import Any

from mcp_types import ErrorData


class TaskClientError(Exception):
    """Everything that this package raises."""

    task_id: str | None = None
    """The task that was waited for, if there was one. If it has not ended, `task_result` returns to it."""


class NotConnected(TaskClientError):
    """No answer came."""


class Busy(TaskClientError):
    """The server asks for fewer or later requests."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds to wait, if the server says so."""


class SignInNeeded(TaskClientError):
    """The server accepts only callers who sign in, or not these credentials."""

    def __init__(
        self, message: str, status: int | None = None, *, needs_client_id: bool = False, is_explained: bool = False
    ) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status, if there was one: 401, or 403 where the caller or the credentials may not."""
        self.is_explained = is_explained
        """Whether the message is the server's own, which says why."""
        self.needs_client_id = needs_client_id
        """Whether the issuer registers no clients, so that one with an id is needed."""


class NotUnderstood(TaskClientError):
    """What answered is no MCP server, or breaks the protocol."""


class NotOffered(TaskClientError):
    """The server, or the negotiated protocol version, has no such method."""


class Refused(TaskClientError):
    """The server answered with a JSON-RPC error."""

    def __init__(self, error: ErrorData) -> None:
        super().__init__(error.message)
        self.error = error

    @property
    def code(self) -> int:
        """The code of the error."""
        return self.error.code

    @property
    def data(self) -> Any:
        """What the server says beside the message."""
        return self.error.data


class UnknownTask(Refused):
    """This caller has no such task, or it has expired."""

    def __init__(self, task_id: str, error: ErrorData) -> None:
        super().__init__(error)
        self.task_id = task_id


class CallFailed(Refused):
    """The task ended with an error of the protocol. An error of the tool is a result with `is_error` instead."""

    def __init__(self, task_id: str, error: ErrorData) -> None:
        super().__init__(error)
        self.task_id = task_id


class TaskCancelled(TaskClientError):
    """The task was cancelled."""

    def __init__(self, task_id: str) -> None:
        super().__init__(f"The task {task_id} was cancelled.")
        self.task_id = task_id


class Unanswered(TaskClientError):
    """The task asks something that no callback answers. It goes on waiting."""

    def __init__(self, task_id: str, keys: Sequence[str]) -> None:
        asked = ", ".join(keys) or "a question"
        super().__init__(f"The task {task_id} waits for an answer ({asked}), and the client has no callback for it.")
        self.task_id = task_id
        self.keys = tuple(keys)
        """The keys of the questions; none in 2025-11-25, which has no keys."""
