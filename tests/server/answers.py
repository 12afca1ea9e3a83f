"""The answer to a request, checked by the oracle."""

import json
from dataclasses import dataclass, field
from typing import Any, Final, cast

from stepwire.protocol.http import HttpResponse
from tests.wire_oracle import EventStream, check, check_stream, read_stream

Json = dict[str, Any]
# Statuses of answers that the server may send before it reads the body.
_BODY_UNREAD: Final = frozenset({401, 403, 405, 406, 413, 415})
KNOWN_STATUSES: Final = frozenset({200, 202, 400, 404, 409, 429, 503}) | _BODY_UNREAD
PARSE_ERROR: Final = -32700
_LONGEST_ID: Final = 256
_TOO_LARGE: Final = 2**53


@dataclass(frozen=True)
class Answer:
    """A response and the request that it answers."""

    response: HttpResponse
    request: Json = field(default_factory=dict[str, Any])
    """The request; for a GET, the request that opened the stream; empty if it cannot be parsed."""

    @property
    def status(self) -> int:
        """Return the HTTP status."""
        return self.response.status

    @property
    def body(self) -> Json:
        """Return the JSON-RPC response; fail the test if the stream does not have it yet."""
        if not self.is_stream:
            return json.loads(self.response.body)
        assert self.is_answered, f"the stream has no JSON-RPC response yet: {self.response.body}"
        return self.messages[-1]

    @property
    def is_stream(self) -> bool:
        """Tell whether the body is a stream of events."""
        return self.response.headers.get("content-type", "").startswith("text/event-stream")

    @property
    def is_page(self) -> bool:
        """Tell whether the body is the page for a browser."""
        return self.response.headers.get("content-type", "").startswith("text/html")

    @property
    def stream(self) -> EventStream:
        """Return the events of the body."""
        assert self.is_stream, self.response
        return read_stream(self.response.body)

    @property
    def messages(self) -> list[Json]:
        """Return the JSON-RPC messages of the stream in order, or the one response if the body is no stream."""
        return self.stream.messages if self.is_stream else [self.body]

    @property
    def is_answered(self) -> bool:
        """Tell whether the answer contains the JSON-RPC response."""
        return any("method" not in message for message in self.messages)

    @property
    def event_ids(self) -> list[str]:
        """Return the ids of the events in order."""
        return self.stream.event_ids

    @property
    def last_event_id(self) -> str:
        """Return the event id with which the client resumes."""
        return self.event_ids[-1]

    @property
    def retry_ms(self) -> int | None:
        """Return the time after which the client resumes, in milliseconds."""
        return self.stream.retry_ms

    @property
    def result(self) -> Json:
        """Return the result; fail the test if there is an error instead."""
        assert "result" in self.body, self.response.body
        return self.body["result"]

    @property
    def error(self) -> Json:
        """Return the error; fail the test if there is a result instead."""
        assert "error" in self.body, self.response.body
        return self.body["error"]

    @property
    def code(self) -> int:
        """Return the code of the error."""
        return self.error["code"]

    @property
    def text(self) -> str:
        """Return the text of the result, which the model reads."""
        return self.result["content"][0]["text"]

    def id_in(self, *path: str) -> str:
        """Return the task id at this path in the result."""
        value: Any = self.result
        for name in path:
            value = value[name]
        return cast(str, value["taskId"])


def judge(octets: bytes, answer: Answer, version: str) -> None:
    """Raise AssertionError unless the answer is well formed."""
    assert answer.status in KNOWN_STATUSES
    if answer.status == 202:  # M6: accepted, with an empty body
        assert answer.response.body == ""
    elif answer.is_stream:
        assert answer.status == 200
        check_stream(json.loads(octets), answer.response.body, version)
    elif answer.is_page:  # L9: for a person who opens the URL, and still a refusal
        assert (octets, answer.status) == (b"", 405)
        assert "GET" not in answer.response.headers["allow"]
    else:
        assert answer.response.headers.get("content-type") == "application/json"
        check(_request_for_oracle(octets, answer), answer.body, version)


def _request_for_oracle(octets: bytes, answer: Answer) -> Json:
    """Return the request for the oracle; empty if the server could not or need not read it."""
    unread = answer.status in _BODY_UNREAD and answer.body.get("id") is None
    if not octets or unread or answer.body.get("error", {}).get("code") == PARSE_ERROR:
        return {}
    message = json.loads(octets)
    if not isinstance(message, dict):
        return {}
    return {} if _may_omit_id(octets) else cast(Json, message)


def _may_omit_id(octets: bytes) -> bool:
    """Tell whether the answer may leave out the id: it is too long or too large, or the request has several."""
    pairs: list[tuple[str, Any]] = json.loads(octets, object_pairs_hook=lambda pairs: pairs)
    ids = [value for name, value in pairs if name == "id"]
    too_large = any(isinstance(one, int) and abs(one) >= _TOO_LARGE for one in ids)
    return len(ids) > 1 or too_large or any(len(str(one)) > _LONGEST_ID for one in ids)
