"""The clients of the tests: what they send, which responses they reject, and how they resume a stream."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from stepwire.protocol.http import HttpRequest, HttpResponse
from tests.server.answers import Answer, Json
from tests.server.clients import (
    ASKING_CAPABILITY,
    META_CAPABILITIES,
    RELATED_TASK,
    SERVER_INFO,
    TASKS_CAPABILITY,
    LegacyClient,
    ModernClient,
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
    """Gives the answers that it was made with, one after the other, and keeps what it was asked."""

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
    """Write a legacy body: what to come back with, then the messages."""
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


# ------------------------------------------------------------------------------------------------------------- answers


def test_an_answer_in_json_is_one_message() -> None:
    answer = LegacyClient(fake(in_json(told({})))).ask("ping")

    assert (answer.is_stream, answer.is_answered, answer.result) == (False, True, {})
    assert answer.messages == [answer.body]
    assert answer.request == {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def test_an_answer_in_events_gives_its_messages_and_what_to_come_back_with() -> None:
    answer = LegacyClient(fake(in_events(progress(1), progress(2)))).call("a", progress_token="t")

    assert (answer.is_stream, answer.is_answered) == (True, False)
    assert answer.messages == [progress(1), progress(2)]
    assert (answer.event_ids, answer.last_event_id, answer.retry_ms) == (["e0", "e1", "e2"], "e2", 700)


def test_the_result_of_an_answer_in_events_is_that_of_its_response() -> None:
    answer = LegacyClient(fake(in_events(told(TEXT)))).call("a")

    assert answer.is_answered
    assert (answer.result, answer.text) == (TEXT, "hi")


def test_the_result_of_a_stream_that_is_not_answered_yet_fails_the_test() -> None:
    answer = LegacyClient(fake(in_events())).call("a")

    with pytest.raises(AssertionError, match="not there yet"):
        _ = answer.result


@pytest.mark.parametrize(
    "answer",
    [
        in_events(progress(1)),  # nobody asked for progress
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


# ------------------------------------------------------------------------------------------------------ legacy clients


def test_a_client_that_opens_a_session_says_what_it_is_and_then_names_the_session() -> None:
    endpoint = fake(in_json(introduction(), mcp_session_id="s!~"), HttpResponse(202), in_json(told({})))

    client = LegacyClient.opened(endpoint, capabilities={"elicitation": {}}, name="Visual Studio Code")
    client.ask("ping")

    assert client.session == "s!~"
    assert endpoint.messages[0]["params"]["capabilities"] == {"elicitation": {}}
    assert endpoint.messages[0]["params"]["clientInfo"]["name"] == "Visual Studio Code"
    assert [message["method"] for message in endpoint.messages] == ["initialize", "notifications/initialized", "ping"]
    sessions = [request.headers.get("mcp-session-id") for request in endpoint.asked]
    versions = [request.headers.get("mcp-protocol-version") for request in endpoint.asked]
    assert sessions == [None, "s!~", "s!~"]
    assert versions == [None, "2025-11-25", "2025-11-25"]


def test_a_client_that_is_given_no_session_goes_without() -> None:
    endpoint = fake(in_json(introduction("2025-06-18")), HttpResponse(202))

    client = LegacyClient.opened(endpoint, "2025-06-18")

    assert (client.session, client.version) == (None, "2025-06-18")


# L10
@pytest.mark.parametrize("session", ["", "a b", "é"])
def test_a_session_that_no_client_may_take_fails_the_test(session: str) -> None:
    endpoint = fake(in_json(introduction(), mcp_session_id=session), HttpResponse(202))

    with pytest.raises(AssertionError):
        LegacyClient.opened(endpoint)


def test_a_client_resumes_with_a_get_that_has_no_body() -> None:
    endpoint = fake(in_events(told(TEXT, 5)))
    opened_by: Json = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "a"}}

    answer = LegacyClient(endpoint, session="s").resume("e7", opened_by=opened_by)

    assert answer.result == TEXT
    assert endpoint.asked[0].method == "GET"
    assert endpoint.asked[0].body == b""
    assert endpoint.asked[0].headers == {
        "accept": "text/event-stream",
        "last-event-id": "e7",
        "mcp-protocol-version": "2025-11-25",
        "mcp-session-id": "s",
    }


def test_a_body_to_a_get_is_judged_as_one_to_the_request_that_opened_the_stream() -> None:
    opened_by: Json = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "a"}}

    with pytest.raises(AssertionError, match="id must be 5"):
        LegacyClient(fake(in_events(told(TEXT, 1)))).resume("e7", opened_by=opened_by)


# L9
@pytest.mark.parametrize("event_id", [None, "e7"])
def test_a_get_may_be_refused(event_id: str | None) -> None:
    endpoint = fake(in_json(refused(), status=405))

    answer = LegacyClient(endpoint).resume(event_id, opened_by={"id": 1, "method": "tools/call"})

    assert (answer.status, answer.code) == (405, -32600)
    assert endpoint.asked[0].headers.get("last-event-id") == event_id


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


def test_the_world_can_move_before_the_client_comes_back() -> None:
    end = told({**TEXT, "_meta": RELATED})
    endpoint, client, answer = following(in_events(QUESTION), HttpResponse(202), in_events(end, first=10))
    statuses: list[int] = []

    def accept(messages: Any) -> None:
        statuses.extend(client.respond(m, result={"action": "accept", "content": {}}).status for m in messages)

    messages = client.follow(answer, between=accept)

    assert messages == [QUESTION, end]
    assert statuses == [202]
    assert endpoint.messages[1] == told({"action": "accept", "content": {}}, "q1")


def test_a_client_stops_to_follow_after_so_many_bodies() -> None:
    endpoint, client, answer = following(*[in_events(first=n) for n in range(0, 100, 10)])

    messages = client.follow(answer, limit=3)

    assert messages == []
    assert len(endpoint.asked) == 3


def test_there_is_nothing_to_follow_where_the_answer_is_there() -> None:
    end = told({**TEXT, "_meta": RELATED})
    for body in (in_json(end), in_events(end)):
        endpoint, client, answer = following(body)

        assert client.follow(answer) == [end]
        assert len(endpoint.asked) == 1


@pytest.mark.parametrize(
    "second",
    [
        in_events(QUESTION, first=10),  # asked again
        in_events(),  # the first event id again
        in_json(refused(), status=405),  # the stream is still owed its response
        HttpResponse(202),
    ],
)
def test_a_stream_that_goes_on_wrong_fails_the_test(second: HttpResponse) -> None:
    _, client, answer = following(in_events(QUESTION), second)

    with pytest.raises(AssertionError):
        client.follow(answer)


def test_a_client_answers_a_request_with_an_error_too() -> None:
    endpoint = fake(HttpResponse(202))

    answer = LegacyClient(endpoint).respond(QUESTION, error={"code": -1, "message": "No."})

    assert answer.status == 202
    assert endpoint.messages == [{"jsonrpc": "2.0", "id": "q1", "error": {"code": -1, "message": "No."}}]


# L6
@pytest.mark.parametrize("message_id", [None, "q1"])
def test_an_answer_to_nothing_may_be_refused(message_id: str | None) -> None:
    answer = LegacyClient(fake(in_json(refused(message_id), status=400))).respond(QUESTION, result={})

    assert (answer.status, answer.code) == (400, -32600)


def test_a_client_tells_without_an_id() -> None:
    endpoint = fake(HttpResponse(202))

    LegacyClient(endpoint).notify("notifications/cancelled", {"requestId": 1})

    expected = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    assert endpoint.messages == [expected]


def test_a_request_has_the_id_that_a_test_gives_it() -> None:
    sends: list[Callable[[LegacyClient], object]] = [
        lambda client: client.ask("ping", message_id="x"),
        lambda client: client.call("a", message_id="x"),
        lambda client: client.task("result", TASK, message_id="x"),
    ]

    for send in sends:
        endpoint = fake(in_json(refused("x", -32602)))
        send(LegacyClient(endpoint))
        assert endpoint.messages[0]["id"] == "x"


# ------------------------------------------------------------------------------------------------------ modern clients


def test_a_modern_client_reads_progress_and_then_the_result() -> None:
    end = told({**COMPLETE, **TEXT}, 9)
    endpoint = fake(in_modern_events(progress(1), progress(2), end))

    answer = ModernClient(endpoint).call("a", progress_token="t", message_id=9)

    assert answer.messages == [progress(1), progress(2), end]
    assert answer.text == "hi"
    assert endpoint.messages[0]["params"]["_meta"]["progressToken"] == "t"


def test_a_modern_client_listens() -> None:
    meta = {"io.modelcontextprotocol/subscriptionId": "l"}
    notice = {"notifications": {"taskIds": [TASK]}, "_meta": meta}
    acknowledged = {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": notice}
    end = told({**COMPLETE, "_meta": {**META, **meta}}, "l")
    endpoint = fake(in_modern_events(acknowledged, end))

    answer = ModernClient(endpoint).listen({"taskIds": [TASK]}, message_id="l")

    assert answer.messages == [acknowledged, end]
    assert endpoint.messages[0]["params"]["notifications"] == {"taskIds": [TASK]}
    assert endpoint.asked[0].headers["mcp-method"] == "subscriptions/listen"


def test_a_modern_client_answers_what_a_task_asks() -> None:
    endpoint = fake(in_json(told(COMPLETE)))

    ModernClient(endpoint).update(TASK, {"sure": {"action": "decline"}})

    assert endpoint.messages[0]["method"] == "tasks/update"
    assert endpoint.messages[0]["params"]["taskId"] == TASK
    assert endpoint.messages[0]["params"]["inputResponses"] == {"sure": {"action": "decline"}}
    assert endpoint.asked[0].headers["mcp-name"] == TASK


def test_a_modern_client_says_in_each_request_how_it_can_be_asked() -> None:
    endpoint = fake(in_json(told({"resultType": "input_required", "_meta": META, "requestState": "s"})))
    client = ModernClient(endpoint, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})

    answer = client.call("a", more={"requestState": "r", "inputResponses": {}})

    assert answer.result["requestState"] == "s"
    assert endpoint.messages[0]["params"]["requestState"] == "r"
    declared = endpoint.messages[0]["params"]["_meta"][META_CAPABILITIES]
    assert declared["elicitation"] == {"form": {}, "url": {}}
