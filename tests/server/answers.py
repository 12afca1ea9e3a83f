"""The answer that a client gets, judged by the oracle whatever the request was."""

import json
from dataclasses import dataclass, field
from typing import Any, Final, cast

from stepwire.protocol.http import HttpResponse
from tests.wire_oracle import EventStream, check, check_stream, read_stream

Json = dict[str, Any]
# Of answers that can be given before the body is looked at.
_BODY_UNREAD: Final = frozenset({401, 403, 405, 406, 413, 415})
KNOWN_STATUSES: Final = frozenset({200, 202, 400, 404, 409, 429, 503}) | _BODY_UNREAD
PARSE_ERROR: Final = -32700
_LONGEST_ID: Final = 256
_TOO_LARGE: Final = 2**53


@dataclass(frozen=True)
class Answer:
    """A response, with the request that it answers."""

    response: HttpResponse
    request: Json = field(default_factory=dict[str, Any])
    """The request that it answers; of a GET, the one that opened the stream. Empty where there is none to be read."""

    @property
    def status(self) -> int:
        """Return the HTTP status."""
        return self.response.status

    @property
    def body(self) -> Json:
        """Read the JSON-RPC response; a stream that does not have it yet fails the test."""
        if not self.is_stream:
            return json.loads(self.response.body)
        assert self.is_answered, f"the response is not there yet: {self.response.body}"
        return self.messages[-1]

    @property
    def is_stream(self) -> bool:
        """Tell whether the body is one of events."""
        return self.response.headers.get("content-type", "").startswith("text/event-stream")

    @property
    def stream(self) -> EventStream:
        """Read the body of events."""
        assert self.is_stream, self.response
        return read_stream(self.response.body)

    @property
    def messages(self) -> list[Json]:
        """Return the JSON-RPC messages of the body, in their order; the one response, where it is no stream."""
        return self.stream.messages if self.is_stream else [self.body]

    @property
    def is_answered(self) -> bool:
        """Tell whether the JSON-RPC response is there."""
        return any("method" not in message for message in self.messages)

    @property
    def event_ids(self) -> list[str]:
        """Return the ids of the events, in their order."""
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
        """Return the result; an error fails the test."""
        assert "result" in self.body, self.response.body
        return self.body["result"]

    @property
    def error(self) -> Json:
        """Return the error; a result fails the test."""
        assert "error" in self.body, self.response.body
        return self.body["error"]

    @property
    def code(self) -> int:
        """Return the error's code."""
        return self.error["code"]

    @property
    def text(self) -> str:
        """Return the words that the model gets to read."""
        return self.result["content"][0]["text"]

    def id_in(self, *path: str) -> str:
        """Return the id of a task, from the place in the result where it is."""
        value: Any = self.result
        for name in path:
            value = value[name]
        return cast(str, value["taskId"])


def judge(octets: bytes, answer: Answer, version: str) -> None:
    """Raise AssertionError unless the answer is well formed, whatever the question was."""
    assert answer.status in KNOWN_STATUSES
    if answer.status == 202:  # M6: accepted, and nothing to say
        assert answer.response.body == ""
    elif answer.is_stream:
        assert answer.status == 200
        check_stream(json.loads(octets), answer.response.body, version)
    else:
        assert answer.response.headers.get("content-type") == "application/json"
        check(_readable(octets, answer), answer.body, version)


def _readable(octets: bytes, answer: Answer) -> Json:
    """Return of a request what its answer can be held against: nothing, where it could not or need not be read."""
    unread = answer.status in _BODY_UNREAD and answer.body.get("id") is None
    if not octets or unread or answer.body.get("error", {}).get("code") == PARSE_ERROR:
        return {}
    message = json.loads(octets)
    if not isinstance(message, dict):
        return {}
    return {} if _is_id_in_doubt(octets) else cast(Json, message)


def _is_id_in_doubt(octets: bytes) -> bool:
    """Tell whether an answer cannot repeat the id: it is too long or too large, or there are two."""
    pairs: list[tuple[str, Any]] = json.loads(octets, object_pairs_hook=lambda pairs: pairs)
    ids = [value for name, value in pairs if name == "id"]
    too_large = any(isinstance(one, int) and abs(one) >= _TOO_LARGE for one in ids)
    return len(ids) > 1 or too_large or any(len(str(one)) > _LONGEST_ID for one in ids)
