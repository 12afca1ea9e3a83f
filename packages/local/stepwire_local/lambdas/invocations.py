"""What an invocation of a function has and gives: settings, context and outcome, whatever runs its code."""

import json
import logging
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, cast

from stepwire_local.iam.permissions import Role, acting_as
from stepwire_local.lambdas.function_output import output_of
from stepwire_local.stubs import owners

logger = logging.getLogger(__name__)

PAYLOAD_LIMIT: Final = 6 * 1024 * 1024  # bytes of a request and of a response
TIMED_OUT: Final = "Sandbox.Timedout"


@dataclass(frozen=True)
class FunctionSettings:
    """The template's settings of a function."""

    name: str
    arn: str
    folder: Path
    handler: str
    timeout: float = 3.0  # seconds
    memory: int = 128  # MB
    log_group: str = ""
    variables: dict[str, str] = field(default_factory=dict[str, str])
    dead_letters: str | None = None  # ARN of a queue
    role: Role | None = None  # None: every call is allowed
    not_run: str = ""  # why its code cannot run here; then only a stub answers
    error_type: str = owners.NOT_SERVED  # of each invocation then
    runtime: str = "python3.13"
    packages: Sequence[Path] = ()  # folders of packages that its code finds besides those beside it


@dataclass(frozen=True)
class Returned:
    """The handler returned; the payload is its result as JSON text."""

    payload: str


@dataclass(frozen=True)
class Failed:
    """The invocation failed; the payload is the error as JSON text, as Lambda writes it."""

    payload: str


Outcome = Returned | Failed


@dataclass(frozen=True)
class LambdaContext:
    """The second argument of a handler."""

    function_name: str
    invoked_function_arn: str
    memory_limit_in_mb: str
    aws_request_id: str
    log_group_name: str
    log_stream_name: str
    deadline: float  # of time.monotonic()
    function_version: str = "$LATEST"
    identity: None = None
    client_context: None = None

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until the invocation times out."""
        return max(0, int((self.deadline - time.monotonic()) * 1000))


@contextmanager
def running_as(settings: FunctionSettings) -> Generator[None]:
    """Give the code of the block a function's role and its log."""
    with acting_as(settings.role), output_of(settings.name):
        yield


def returned(payload: str) -> Outcome:
    """Return the outcome of a handler whose result is this JSON text."""
    if len(payload.encode()) > PAYLOAD_LIMIT:
        return failed("Function.ResponseSizeTooLarge", f"Response payload size exceeded {PAYLOAD_LIMIT} bytes.")
    return Returned(payload)


def returned_value(value: object) -> Outcome:
    """Return the outcome of a handler that returned a value of Python's; numbers of DynamoDB are numbers."""
    try:
        return returned(json.dumps(value, default=_number))
    except (TypeError, ValueError) as error:
        return failed("Runtime.MarshalError", f"Unable to marshal response: {error}")


def _number(value: object) -> float:
    """Return a number of DynamoDB: as Lambda's own client, write it as a number."""
    if isinstance(value, Decimal):
        return int(value) if value.is_finite() and value == value.to_integral_value() else float(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def failed(kind: str, message: str, stack_trace: Sequence[str] = ()) -> Failed:
    """Return the outcome of an invocation that fails."""
    return Failed(json.dumps({"errorMessage": message, "errorType": kind, "stackTrace": list(stack_trace)}))


def in_one_line(failure: Failed) -> str:
    """Return the type and the message of an error as the terminal shows them; its log has the stack."""
    entries = entries_of(failure.payload) or {"errorType": "Runtime.Unknown", "errorMessage": failure.payload}
    return " ".join(f"{entries.get('errorType')}: {entries.get('errorMessage')}".split())


def entries_of(error: str) -> dict[str, Any] | None:
    """Return the entries of an error; None if it has none."""
    try:
        told: Any = json.loads(error)
    except ValueError:
        return None
    return cast("dict[str, Any]", told) if isinstance(told, dict) else None


def timed_out(settings: FunctionSettings, request_id: str) -> Failed:
    """Return the outcome of an invocation that took longer than its function may."""
    message = f"RequestId: {request_id} Error: Task timed out after {settings.timeout:.2f} seconds"
    logger.warning("%s: %s", settings.name, message)
    return failed(TIMED_OUT, message)
