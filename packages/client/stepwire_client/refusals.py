"""Translate the library's errors into ours. The rule: the code, kind or type decides, never the text of a message."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final, cast

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, METHOD_NOT_FOUND, PARSE_ERROR, REQUEST_TIMEOUT, ErrorData
from pydantic import ValidationError

from stepwire_client.callbacks import CallbackRaised
from stepwire_client.errors import (
    Busy,
    NotConnected,
    NotOffered,
    NotUnderstood,
    Refused,
    SignInNeeded,
    TaskClientError,
    UnknownTask,
)
from stepwire_client.http import BUSY, EXPLAINED, KIND, NO_CLIENT, NOT_CONNECTED, NOT_MCP, RETRY_AFTER, SIGN_IN, STATUS

_LOST: Final = frozenset({CONNECTION_CLOSED, REQUEST_TIMEOUT})


@contextmanager
def told(task_id: str | None = None) -> Generator[None]:
    """Raise our errors for those of the library.

    What a callback has raised is raised as it is.

    Args:
        task_id: the task that the request names, if a -32602 can mean nothing but that there is none.
    """
    try:
        yield
    except Exception as raised:
        error = the_only_one_in(raised)
        if isinstance(error, CallbackRaised):
            raise error.error from None
        ours = _ours(error, task_id)
        if ours is None:
            raise
        raise ours from error


def the_only_one_in(error: BaseException) -> BaseException:
    """Return the error in a group of one, in which a task group wraps it; any other error as it is."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    return the_only_one_in(group.exceptions[0]) if len(group.exceptions) == 1 else group


def _ours(error: BaseException, task_id: str | None) -> TaskClientError | None:
    match error:
        case TaskClientError():
            return error
        case MCPError():
            return refusal(error.error, task_id)
        case ValidationError():
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            return NotUnderstood(f"The server's answer is not what MCP says: {where}: {first['msg']}.")
        case RuntimeError():  # the library's: a result against its schema, or a version that it does not know
            return NotUnderstood(str(error))
        case _:
            return None


def refusal(error: ErrorData, task_id: str | None = None) -> TaskClientError:
    """Return our error for an error of JSON-RPC."""
    said = cast("object", error.data)
    data = cast("dict[str, Any]", said) if isinstance(said, dict) else {}
    match data.get(KIND):
        case kind if kind in (SIGN_IN, NO_CLIENT):
            status, is_explained = data.get(STATUS), bool(data.get(EXPLAINED))
            return SignInNeeded(error.message, status, needs_client_id=kind == NO_CLIENT, is_explained=is_explained)
        case kind if kind == BUSY:
            return Busy(error.message, data.get(RETRY_AFTER))
        case kind if kind == NOT_CONNECTED:
            return NotConnected(error.message)
        case kind if kind == NOT_MCP:
            return NotUnderstood(error.message)
        case None if isinstance(milliseconds := data.get("retryAfterMs"), int | float):
            return Busy(error.message, milliseconds / 1000)
        case _:
            return _by_code(error, task_id)


def _by_code(error: ErrorData, task_id: str | None) -> TaskClientError:
    if error.code in _LOST:
        return NotConnected(error.message)
    if error.code == PARSE_ERROR:
        return NotUnderstood("It answers with something other than JSON-RPC.")
    if error.code == METHOD_NOT_FOUND:
        return NotOffered(error.message)
    if error.code == INVALID_PARAMS and task_id is not None:
        return UnknownTask(task_id, error)
    return Refused(error)
