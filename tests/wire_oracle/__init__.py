"""Judge a JSON-RPC response: is it correct for that request in that protocol version?

The oracle does not import the package under test. It takes the published types from `mcp_types`, and what they leave
open or leave out (the tasks of both eras, the fields of a form) from `tests/schemas`. A member that the version does
not
define is an error, so a name of the other era is found.

    check({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, response, "2026-07-28")

A response can also be a body of server-sent events, and a legacy one continues in the next body:

    messages = check_stream(request, body, "2026-07-28")
    stream = StreamJudge(request)
    messages = stream.check(first_body) + stream.check(second_body)
"""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from tests.wire_oracle.comparisons import (
    CLIENT_CAPABILITIES,
    LEGACY,
    LEGACY_WITHOUT_TASKS,
    MODERN,
    RELATED_TASK,
    SERVER_INFO,
    SUBSCRIPTION_ID,
    TASKS_EXTENSION,
    Json,
)
from tests.wire_oracle.event_streams import Event, EventStream, read_stream
from tests.wire_oracle.results import check_response
from tests.wire_oracle.streams import STREAM_CHECKS, check_order

__all__ = [
    "CLIENT_CAPABILITIES",
    "LEGACY",
    "MODERN",
    "RELATED_TASK",
    "SERVER_INFO",
    "SUBSCRIPTION_ID",
    "TASKS_EXTENSION",
    "EventStream",
    "StreamJudge",
    "check",
    "check_stream",
    "read_stream",
]


def check(request: Json, response: Json, version: str) -> None:
    """Raise AssertionError unless `response` is a correct answer to `request` in protocol `version`.

    The request may be invalid: then the answer must be an error, with the request's id if that can be read.
    """
    assert version in {MODERN, LEGACY, *LEGACY_WITHOUT_TASKS}, f"unknown version {version!r}"
    with _complaining(request, response, version):
        check_response(request, response, version)


def check_stream(request: Json, body: str, version: str) -> list[dict[str, Any]]:
    """Raise AssertionError unless `body` is a correct SSE body for `request`; return its messages.

    Args:
        request: the JSON-RPC request that opened the stream, even if the body answers a GET that resumes it.
    """
    with _complaining(request, body, version):
        stream = read_stream(body)
        judge = STREAM_CHECKS.get((version, request["method"]))
        assert judge, f"{request['method']} must not be answered with events in {version}"
        judge(request, stream)
        check_order(stream.events)
    return stream.messages


@dataclass
class StreamJudge:
    """Judges all bodies of a legacy stream: the one that answers the POST, and one for each GET."""

    request: Json
    version: str = LEGACY
    events: list[Event] = field(default_factory=list[Event])

    def check(self, body: str) -> list[dict[str, Any]]:
        """Raise AssertionError unless `body` is correct, alone and after the earlier bodies; return its messages."""
        messages = check_stream(self.request, body, self.version)
        self.events.extend(read_stream(body).events)
        with _complaining(self.request, body, self.version):
            check_order(self.events)
        return messages

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Return the messages of all bodies."""
        return [event.message for event in self.events if event.message is not None]

    @property
    def response(self) -> dict[str, Any] | None:
        """Return the response that ended the stream, or None before it was sent."""
        return next((message for message in self.messages if "method" not in message), None)


@contextmanager
def _complaining(request: Json, answered: Json | str, version: str) -> Generator[None]:
    """Add the request and the response to each AssertionError."""
    try:
        yield
    except (AssertionError, ValidationError) as error:
        asked = json.dumps(request, indent=2)
        shown = answered if isinstance(answered, str) else json.dumps(answered, indent=2)
        raise AssertionError(f"{error}\n--- asked ({version})\n{asked}\n--- answered\n{shown}") from None
