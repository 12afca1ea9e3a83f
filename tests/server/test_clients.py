"""The clients of the tests reject wrong responses, and follow streams. What they send, all tests of the server show."""

import json
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from stepwire.protocol.http import HttpRequest, HttpResponse
from tests.server.answers import Answer, Json
from tests.server.clients import (
    RELATED_TASK,
    SERVER_INFO,
    LegacyClient,
)

TASK: Final = "0198-task"
TEXT: Final[Json] = {"content": [{"type": "text", "text": "hi"}]}
RELATED: Final[Json] = {RELATED_TASK: {"taskId": TASK}}
QUESTION: Final[Json] = {
    "jsonrpc": "2.0",
    "id": "q1",
    "method": "elicitation/create",
    "params": {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}, "_meta": RELATED},
}
META: Final[Json] = {SERVER_INFO: {"name": "a fake", "version": "1"}}
COMPLETE: Final[Json] = {"resultType": "complete", "_meta": META}


@dataclass
class FakeEndpoint:
    """Returns prepared answers in order, and keeps the requests."""

    answers: list[HttpResponse]
    asked: list[HttpRequest] = field(default_factory=list[HttpRequest])

    @property
    def server(self) -> "FakeEndpoint":
        return self

    def handle(self, request: HttpRequest) -> HttpResponse:
        self.asked.append(request)
        return self.answers.pop(0)

    @property
    def messages(self) -> list[Json]:
        return [json.loads(request.body) for request in self.asked if request.method == "POST"]


def fake(*answers: HttpResponse) -> FakeEndpoint:
    return FakeEndpoint(list(answers))


def in_json(body: Json, status: int = 200, **headers: str) -> HttpResponse:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpResponse(status, json.dumps(body), {"content-type": "application/json", **named})


def in_events(*messages: Json, first: int = 0) -> HttpResponse:
    """Return a legacy SSE body: an event id to resume with, then the messages."""
    events = [f"id: e{first}\ndata:\n\n"]
    events += [f"id: e{n}\ndata: {json.dumps(message)}\n\n" for n, message in enumerate(messages, first + 1)]
    return HttpResponse(200, "retry: 700\n\n" + "".join(events), {"content-type": "text/event-stream"})


def in_modern_events(*messages: Json) -> HttpResponse:
    body = "".join(f"data: {json.dumps(message)}\n\n" for message in messages)
    return HttpResponse(200, body, {"content-type": "text/event-stream"})


def told(result: Json, message_id: object = 1) -> Json:
    return {"jsonrpc": "2.0", "id": message_id, "result": result}


def progress(value: int, **more: Any) -> Json:
    params = {"progressToken": "t", "progress": value, **more}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def refused(message_id: object = None, code: int = -32600) -> Json:
    return {"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": "Not here."}}


def introduction(version: str = "2025-11-25") -> Json:
    info = {"name": "a fake", "version": "1"}
    return told({"protocolVersion": version, "capabilities": {}, "serverInfo": info})


def test_reading_the_result_of_an_unfinished_stream_fails_the_test() -> None:
    answer = LegacyClient(fake(in_events())).call("a")

    with pytest.raises(AssertionError, match="no JSON-RPC response yet"):
        _ = answer.result


@pytest.mark.parametrize(
    "answer",
    [
        in_events(progress(1)),  # progress without a token
        in_events(told(TEXT, 2)),
        in_modern_events(told(TEXT)),
        HttpResponse(200, "", {"content-type": "text/event-stream"}),
        HttpResponse(400, in_events().body, {"content-type": "text/event-stream"}),
        HttpResponse(200, json.dumps(told(TEXT)), {"content-type": "text/plain"}),
        HttpResponse(200, json.dumps(told(TEXT))),
        HttpResponse(202, json.dumps(told(TEXT)), {"content-type": "application/json"}),
        in_json(told(TEXT), status=201),
    ],
)
def test_a_wrong_answer_fails_the_test(answer: HttpResponse) -> None:
    with pytest.raises(AssertionError):
        LegacyClient(fake(answer)).call("a")


# L10
@pytest.mark.parametrize("session", ["", "a b", "é"])
def test_a_session_id_with_invalid_characters_fails_the_test(session: str) -> None:
    endpoint = fake(in_json(introduction(), mcp_session_id=session), HttpResponse(202))

    with pytest.raises(AssertionError):
        LegacyClient.opened(endpoint)


def test_the_answer_to_a_get_is_checked_against_the_request_that_opened_the_stream() -> None:
    opened_by: Json = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "a"}}

    with pytest.raises(AssertionError, match="id must be 5"):
        LegacyClient(fake(in_events(told(TEXT, 1)))).resume("e7", opened_by=opened_by)


def test_a_get_is_not_answered_with_a_result_in_json() -> None:
    with pytest.raises(AssertionError):
        LegacyClient(fake(in_json(told(TEXT)))).resume("e1", opened_by={"id": 1, "method": "tools/call"})


def following(*bodies: HttpResponse) -> tuple[FakeEndpoint, LegacyClient, Answer]:
    endpoint = fake(*bodies)
    client = LegacyClient(endpoint, session="s")
    return endpoint, client, client.task("result", TASK)


def test_a_client_follows_a_stream_to_its_response() -> None:
    end = told({**TEXT, "_meta": RELATED})
    first, second = progress(1, _meta=RELATED), progress(2, _meta=RELATED)
    endpoint, client, answer = following(in_events(first), in_events(first=10), in_events(second, end, first=20))

    messages = client.follow(answer)

    assert messages == [first, second, end]
    assert [request.headers.get("last-event-id") for request in endpoint.asked] == [None, "e1", "e10"]


def test_a_client_stops_following_at_the_limit_of_bodies() -> None:
    endpoint, client, answer = following(*[in_events(first=n) for n in range(0, 100, 10)])

    messages = client.follow(answer, limit=3)

    assert messages == []
    assert len(endpoint.asked) == 3


@pytest.mark.parametrize(
    "second",
    [
        in_events(QUESTION, first=10),  # a repeated question
        in_events(),  # a repeated event id
        in_json(refused(), status=405),  # an empty body instead of the stream
        HttpResponse(202),
    ],
)
def test_a_wrong_later_body_of_a_stream_fails_the_test(second: HttpResponse) -> None:
    _, client, answer = following(in_events(QUESTION), second)

    with pytest.raises(AssertionError):
        client.follow(answer)
