"""The oracle rejects wrong answers, a row for each rule; that it accepts right ones, the tests of the server show."""

import json
from copy import deepcopy
from typing import Any

import pytest

from tests.wire_oracle import (
    CLIENT_CAPABILITIES,
    LEGACY,
    MODERN,
    RELATED_TASK,
    SERVER_INFO,
    SUBSCRIPTION_ID,
    TASKS_EXTENSION,
    StreamJudge,
    check,
    check_stream,
    read_stream,
)

OLDER = "2025-06-18"
ID = "0198-task"
RELATED = {RELATED_TASK: {"taskId": ID}}
META = {SERVER_INFO: {"name": "stepwire", "version": "0.1.0"}}
TIMES = {"createdAt": "2026-08-01T10:00:00.000Z", "lastUpdatedAt": "2026-08-01T10:00:01.500Z"}
LEGACY_TASK: dict[str, Any] = {"taskId": ID, "status": "working", **TIMES, "ttl": 60000, "pollInterval": 1000}
MODERN_TASK: dict[str, Any] = {"taskId": ID, "status": "working", **TIMES, "ttlMs": None, "pollIntervalMs": 1000}
TEXT: dict[str, Any] = {"content": [{"type": "text", "text": "hi"}]}
COMPLETE: dict[str, Any] = {"resultType": "complete", "_meta": META}
DONE: dict[str, Any] = {**TEXT, "resultType": "complete"}
FORM: dict[str, Any] = {
    "message": "Sure?",
    "requestedSchema": {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]},
}
URL: dict[str, Any] = {"mode": "url", "message": "Sign in.", "url": "https://example.com/sign-in?a=b"}
ELICITATION: dict[str, Any] = {"method": "elicitation/create", "params": FORM}
QUESTION: dict[str, Any] = {"resultType": "input_required", "_meta": META, "inputRequests": {"sure": ELICITATION}}
CAPABILITIES: dict[str, Any] = {"extensions": {TASKS_EXTENSION: {}}, "elicitation": {"form": {}, "url": {}}}
TOOL: dict[str, Any] = {"name": "echo", "description": "Echoes.", "inputSchema": {"type": "object"}}
CACHED: dict[str, Any] = {**COMPLETE, "ttlMs": 0, "cacheScope": "private"}

# -------------------------------------------------------------------------------------------------- results and errors

RIGHT: dict[tuple[str, str], dict[str, Any]] = {
    (LEGACY, "ping"): {},
    (LEGACY, "initialize"): {
        "protocolVersion": LEGACY,
        "capabilities": {"tools": {}, "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}},
        "serverInfo": {"name": "stepwire", "version": "0.1.0"},
    },
    (LEGACY, "tools/list"): {"tools": [{**TOOL, "execution": {"taskSupport": "optional"}}], "nextCursor": "2"},
    (OLDER, "tools/list"): {"tools": [TOOL]},
    (LEGACY, "tools/call"): {**TEXT, "structuredContent": {"none": None}, "isError": False},
    (LEGACY, "tools/call task"): {"task": LEGACY_TASK},
    (LEGACY, "tasks/get"): {**LEGACY_TASK, "ttl": None},
    (LEGACY, "tasks/result"): {**TEXT, "isError": True, "_meta": RELATED},
    (LEGACY, "tasks/list"): {"tasks": [LEGACY_TASK, {**LEGACY_TASK, "taskId": "other"}]},
    (LEGACY, "tasks/cancel"): {**LEGACY_TASK, "status": "cancelled"},
    (MODERN, "server/discover"): {
        **CACHED,
        "supportedVersions": [MODERN],
        "capabilities": {"tools": {}, "extensions": {TASKS_EXTENSION: {}}},
    },
    (MODERN, "tools/list"): {**CACHED, "tools": [TOOL]},
    (MODERN, "tools/call"): {**COMPLETE, **TEXT, "structuredContent": [1, 2]},
    (MODERN, "tools/call task"): {**COMPLETE, **MODERN_TASK, "resultType": "task"},
    (MODERN, "tools/call question"): QUESTION,
    (MODERN, "tasks/get"): {**COMPLETE, **MODERN_TASK},
    (MODERN, "tasks/update"): COMPLETE,
    (MODERN, "tasks/cancel"): COMPLETE,
}

NOTHING: Any = object()
# Each row is a dotted path and the wrong value to put there; NOTHING removes the member.
WRONG: list[tuple[str, str, str, Any]] = [
    (LEGACY, "ping", "resultType", "complete"),
    (LEGACY, "initialize", "protocolVersion", "2024-11-05"),
    (LEGACY, "initialize", "serverInfo.version", NOTHING),
    (LEGACY, "initialize", "capabilities.extensions", {}),
    (LEGACY, "initialize", "capabilities.tasks.requests.tools.calls", {}),
    (LEGACY, "tools/list", "ttlMs", 1),
    (LEGACY, "tools/list", "tools.0.inputSchema", NOTHING),
    (LEGACY, "tools/list", "tools.0.inputSchema.properties", {"a": {"type": "text"}}),
    (OLDER, "tools/list", "tools.0.execution", {"taskSupport": "optional"}),
    (LEGACY, "tools/call", "resultType", "complete"),
    (LEGACY, "tools/call", "structuredContent", [1]),
    (LEGACY, "tools/call", "isError", 0),
    (LEGACY, "tools/call task", "content", []),
    (LEGACY, "tools/call task", "task.ttlMs", 1),
    (LEGACY, "tasks/get", "resultType", "complete"),
    (LEGACY, "tasks/get", "ttl", 0),
    (LEGACY, "tasks/get", "status", "canceled"),
    (LEGACY, "tasks/get", "taskId", "other"),
    (LEGACY, "tasks/get", "createdAt", "2026-08-01 10:00"),
    (LEGACY, "tasks/get", "lastUpdatedAt", "2026-08-01T09:59:59Z"),
    (LEGACY, "tasks/result", "_meta", NOTHING),
    (LEGACY, "tasks/result", "_meta", {RELATED_TASK: {"taskId": "other"}}),
    (LEGACY, "tasks/result", "resultType", "complete"),
    (LEGACY, "tasks/result", "content", NOTHING),
    (LEGACY, "tasks/list", "tasks.1.taskId", ID),
    (LEGACY, "tasks/list", "tasks.0.ttlMs", 1),
    (LEGACY, "tasks/cancel", "status", "working"),
    (MODERN, "server/discover", "_meta", NOTHING),
    (MODERN, "server/discover", "capabilities.tasks", {}),
    (MODERN, "server/discover", f"capabilities.extensions.{TASKS_EXTENSION}", {"list": True}),
    (MODERN, "server/discover", "supportedVersions", [LEGACY]),
    (MODERN, "server/discover", "cacheScope", NOTHING),
    (MODERN, "tools/list", "resultType", NOTHING),
    (MODERN, "tools/call", "resultType", "done"),
    (MODERN, "tools/call", "content", NOTHING),
    (MODERN, "tools/call", "taskId", ID),
    (MODERN, "tools/call question", "inputRequests", {}),
    (MODERN, "tools/call question", "inputRequests", None),
    (MODERN, "tools/call question", "requestState", {"a": 1}),
    (MODERN, "tools/call question", "requestState", ""),
    (MODERN, "tools/call question", "inputRequests.sure.jsonrpc", "2.0"),
    (MODERN, "tools/call question", "inputRequests.sure.method", "tools/call"),
    (MODERN, "tasks/get", "resultType", "task"),
    (MODERN, "tasks/get", "ttl", 1),
    (MODERN, "tasks/get", "ttlMs", 0),
    (MODERN, "tasks/get", "taskId", "other"),
    (MODERN, "tasks/get", "result", DONE),
    (MODERN, "tasks/get", "status", "completed"),
    (MODERN, "tasks/get", "status", "failed"),
    (MODERN, "tasks/get", "status", "input_required"),
    (MODERN, "tasks/update", "taskId", ID),
]

WRONG_PAYLOADS: list[tuple[str, dict[str, Any]]] = [
    ("completed", {"result": TEXT}),
    ("completed", {"result": {"resultType": "complete"}}),
    ("completed", {"result": {**DONE, "_meta": RELATED}}),
    ("completed", {"result": {**DONE, "ttlMs": 1}}),
    ("failed", {"error": {"code": -32001, "message": "No."}}),
    ("failed", {"error": {"code": 1}}),
    ("failed", {"error": {"code": 1, "message": "No."}, "result": DONE}),
    ("input_required", {"inputRequests": {"sure": {"method": "elicitation/create"}}}),
    ("input_required", {"inputRequests": {"sure": ELICITATION}, "requestState": "s"}),
    ("input_required", {"inputRequests": {"where": {"method": "roots/list"}}}),
    ("cancelled", {"result": DONE}),
]

WRONG_RESPONSES: list[tuple[str, str, dict[str, Any]]] = [
    (LEGACY, "ping", {"jsonrpc": "2.0", "id": 1}),
    (LEGACY, "ping", {"id": 1, "result": {}}),
    (LEGACY, "ping", {"jsonrpc": "2.0", "id": "1", "result": {}}),
    (LEGACY, "ping", {"jsonrpc": "2.0", "id": 1, "result": []}),
    (LEGACY, "ping", {"jsonrpc": "2.0", "id": 1, "result": {}, "method": "ping"}),
    # Methods that the version does not define
    (LEGACY, "server/discover", {"jsonrpc": "2.0", "id": 1, "result": RIGHT[MODERN, "server/discover"]}),
    (OLDER, "tasks/get", {"jsonrpc": "2.0", "id": 1, "result": LEGACY_TASK}),
    (MODERN, "tasks/list", {"jsonrpc": "2.0", "id": 1, "result": RIGHT[LEGACY, "tasks/list"]}),
    # M43: only a tools/call of the modern era is answered with a question
    (MODERN, "tasks/get", {"jsonrpc": "2.0", "id": 1, "result": QUESTION}),
    (LEGACY, "tools/call", {"jsonrpc": "2.0", "id": 1, "result": QUESTION}),
]

WRONG_ERRORS: list[tuple[str, dict[str, Any]]] = [
    (MODERN, {"code": -32601}),
    (MODERN, {"code": -32601, "message": ""}),
    (MODERN, {"code": -32601, "message": "No.", "details": 1}),
    (MODERN, {"code": -32002, "message": "Retired."}),
    (MODERN, {"code": -32021, "message": "Missing."}),
    (MODERN, {"code": -32021, "message": "Missing.", "data": {"requiredCapabilities": {}}}),
    (MODERN, {"code": -32022, "message": "Unsupported.", "data": {"supported": [LEGACY], "requested": "1"}}),
    (MODERN, {"code": -32022, "message": "Unsupported.", "data": {"supported": [MODERN]}}),
    (LEGACY, {"code": -32020, "message": "Of the other era."}),
]


@pytest.mark.parametrize(("version", "method"), RIGHT)
def test_a_right_result_passes(version: str, method: str) -> None:
    check(request_of(version, method), answer(RIGHT[version, method]), version)


@pytest.mark.parametrize(("version", "method", "path", "value"), WRONG)
def test_a_result_with_one_wrong_member_is_rejected(version: str, method: str, path: str, value: Any) -> None:
    wrong = with_member(RIGHT[version, method], path, value)

    with pytest.raises(AssertionError):
        check(request_of(version, method), answer(wrong), version)


@pytest.mark.parametrize(("status", "payload"), WRONG_PAYLOADS)
def test_a_modern_task_with_the_wrong_payload_is_rejected(status: str, payload: dict[str, Any]) -> None:
    wrong = {**COMPLETE, **MODERN_TASK, "status": status, **payload}

    with pytest.raises(AssertionError):
        check(request_of(MODERN, "tasks/get"), answer(wrong), MODERN)


@pytest.mark.parametrize(
    ("version", "method", "response"),
    [
        *WRONG_RESPONSES,
        *((v, "tools/list", {"jsonrpc": "2.0", "id": 1, "error": error}) for v, error in WRONG_ERRORS),
    ],
)
def test_a_wrong_envelope_method_or_error_is_rejected(version: str, method: str, response: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        check(request_of(version, method), response, version)


@pytest.mark.parametrize("method", ["tools/call", "tasks/get", "tasks/update"])
def test_a_task_for_a_request_that_does_not_declare_the_extension_is_rejected(method: str) -> None:
    task = RIGHT[MODERN, "tools/call task"] if method == "tools/call" else COMPLETE
    request = request_of(MODERN, method)
    request["params"]["_meta"] = {CLIENT_CAPABILITIES: {"tasks": {}}}

    with pytest.raises(AssertionError, match="does not declare"):
        check(request, answer(task), MODERN)


# L6
def test_an_error_that_answers_a_response_may_repeat_its_id_or_leave_it_out() -> None:
    response = {"jsonrpc": "2.0", "id": "asked-1", "result": {"action": "decline"}}
    error = {"code": -32600, "message": "Nothing was asked under this id."}

    check(response, {"jsonrpc": "2.0", "error": error}, LEGACY)
    check(response, {"jsonrpc": "2.0", "id": "asked-1", "error": error}, LEGACY)
    with pytest.raises(AssertionError):
        check(response, {"jsonrpc": "2.0", "id": "other", "error": error}, LEGACY)


def test_the_error_names_the_place_and_shows_both_messages() -> None:
    wrong = with_member(RIGHT[LEGACY, "tools/list"], "tools.0.color", "red")

    with pytest.raises(AssertionError, match=r"(?s)result\.tools\[0\] must not have color.*asked.*answered"):
        check(request_of(LEGACY, "tools/list"), answer(wrong), LEGACY)


# ----------------------------------------------------------------------------------------------------------- questions


# M44, M48
@pytest.mark.parametrize(
    ("declared", "params", "right"),
    [
        ({"elicitation": {}}, FORM, True),
        ({"elicitation": {"url": {}}}, URL, True),
        ({}, FORM, False),
        ({"elicitation": {}}, URL, False),
        ({"elicitation": {"url": {}}}, FORM, False),
    ],
)
def test_a_question_needs_a_capability_that_the_client_declares(
    declared: dict[str, Any], params: dict[str, Any], right: bool
) -> None:
    request = request_of(MODERN, "tools/call")
    request["params"]["_meta"] = {CLIENT_CAPABILITIES: declared}
    response = answer({**QUESTION, "inputRequests": {"a": {"method": "elicitation/create", "params": params}}})

    if right:
        check(request, response, MODERN)
        return
    with pytest.raises(AssertionError, match="does not declare"):
        check(request, response, MODERN)


def form(field: Any) -> dict[str, Any]:
    return {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {"a": field}}}


@pytest.mark.parametrize(
    "params",
    [
        form({"type": "string", "format": "date-time", "minLength": 1, "default": "a"}),
        form({"type": "integer", "minimum": 1, "maximum": 2}),
        form({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}),
        form({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "default": ["a"]}),
        URL,
    ],
)
def test_a_right_elicitation_passes_in_both_eras(params: dict[str, Any]) -> None:
    check(request_of(MODERN, "tools/call"), answer(with_member(QUESTION, "inputRequests.sure.params", params)), MODERN)
    legacy = {"elicitationId": "e", **params} if "url" in params else params
    check_stream(CALL, legacy_body(question_message("q", legacy)), LEGACY)


@pytest.mark.parametrize(
    "params",
    [
        {**FORM, "mode": "dialog"},
        {**FORM, "message": ""},
        {**FORM, "task": {}},
        {**FORM, "elicitationId": "e"},
        {"message": "Sure?"},
        {**FORM, "requestedSchema": {"type": "object"}},
        {**FORM, "requestedSchema": {"type": "object", "properties": {}, "required": ["sure"]}},
        {**FORM, "requestedSchema": {**FORM["requestedSchema"], "additionalProperties": False}},
        {**URL, "url": "http://example.com/"},
        {**URL, "requestedSchema": FORM["requestedSchema"]},
        form({"type": "object", "properties": {}}),
        form({"type": "string", "format": "password"}),
        form({"type": "string", "default": 1}),
        form({"type": "string", "enum": []}),
        form({"type": "integer", "multipleOf": 2}),
        form({"type": "array", "items": {"type": "string"}}),
        form({"$ref": "#/a"}),
    ],
)
def test_a_wrong_elicitation_is_rejected_in_both_eras(params: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        check(
            request_of(MODERN, "tools/call"), answer(with_member(QUESTION, "inputRequests.sure.params", params)), MODERN
        )
    legacy = {"elicitationId": "e", **params} if params.get("mode") == "url" else params
    with pytest.raises(AssertionError):
        check_stream(CALL, legacy_body(question_message("q", legacy)), LEGACY)


# M49: only the legacy era has elicitationId and _meta
def test_an_elicitation_has_an_id_in_the_legacy_era_alone() -> None:
    asked = with_member(QUESTION, "inputRequests.sure.params", {**URL, "elicitationId": "e"})

    with pytest.raises(AssertionError):
        check(request_of(MODERN, "tools/call"), answer(asked), MODERN)
    with pytest.raises(AssertionError):
        check_stream(CALL, legacy_body(question_message("q", URL)), LEGACY)


# ------------------------------------------------------------------------------------------------------ legacy streams

CALL: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "tools/call",
    "params": {"name": "echo", "arguments": {}, "_meta": {"progressToken": 1}},
}
WAIT: dict[str, Any] = {"jsonrpc": "2.0", "id": "w", "method": "tasks/result", "params": {"taskId": ID}}
STATUS: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/tasks/status", "params": LEGACY_TASK}


def progress(value: Any, token: Any = 1, **more: Any) -> dict[str, Any]:
    params = {"progressToken": token, "progress": value, **more}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def question_message(message_id: Any = "q1", params: dict[str, Any] = FORM, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message_id, "method": "elicitation/create", "params": {**params, **more}}


def result_message(request: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request["id"], "result": result}


def error_message(request: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32602, "message": "There is no such task."}}


def legacy_body(*messages: Any, first: int = 0) -> str:
    events = [f"id: e{first}\ndata:\n\n"]
    events += [f"id: e{n}\ndata: {json.dumps(message)}\n\n" for n, message in enumerate(messages, first + 1)]
    return "retry: 1000\n\n" + "".join(events)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (CALL, []),
        (CALL, {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "hi"}}),
        (CALL, {"jsonrpc": "2.0", "id": 1, "method": "roots/list"}),
        (CALL, {"jsonrpc": "2.0", "id": "s", "method": "sampling/createMessage", "params": {"messages": []}}),
        (CALL, progress(1, token="1")),
        (CALL, progress("1")),
        (CALL, progress(True)),
        (CALL, progress(float("nan"))),
        (CALL, progress(1, percent=50)),
        (CALL, progress(1, _meta=RELATED)),
        (CALL, question_message(1)),
        (CALL, question_message("")),
        (CALL, question_message(_meta=RELATED)),
        (CALL, result_message(CALL, {**TEXT, "_meta": RELATED})),
        (WAIT, question_message(_meta={RELATED_TASK: {"taskId": "other"}})),
        (WAIT, {**STATUS, "id": 1}),
        (WAIT, {**STATUS, "params": {**LEGACY_TASK, "taskId": "other"}}),
        (WAIT, {**STATUS, "params": {**LEGACY_TASK, "ttlMs": 1}}),
        (WAIT, {**STATUS, "params": {**LEGACY_TASK, "lastUpdatedAt": "2026-08-01T09:59:59Z"}}),
    ],
)
def test_a_legacy_body_with_a_wrong_message_is_rejected(request_: dict[str, Any], message: Any) -> None:
    with pytest.raises(AssertionError):
        check_stream(request_, legacy_body(message), LEGACY)


@pytest.mark.parametrize(
    ("request_", "messages"),
    [
        (CALL, [result_message(CALL, TEXT), progress(1)]),
        (CALL, [progress(2), progress(1.5)]),
        (CALL, [question_message("q"), question_message("q", message="Really?")]),
        (WAIT, [STATUS, STATUS]),
    ],
)
def test_messages_in_a_wrong_order_are_rejected_in_one_body_and_in_two(
    request_: dict[str, Any], messages: list[dict[str, Any]]
) -> None:
    stream = StreamJudge(request_)
    stream.check(legacy_body(messages[0]))

    with pytest.raises(AssertionError):
        check_stream(request_, legacy_body(*messages), LEGACY)
    with pytest.raises(AssertionError):
        stream.check(legacy_body(*messages[1:], first=2))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("retry: 1000\n\n", ""),
        ("retry: 1000", "retry: 0"),
        ("retry: 1000", "retry: ١"),  # noqa: RUF001 - a digit, but not one of ASCII
        ("retry: 1000", "retry"),
        ("retry: 1000\n\n", "retry: 1000\n\nretry: 1000\n\n"),
        ("id: e0\ndata:\n\n", ""),
        ("id: e0\ndata:\n", "id: e0\n"),
        ("id: e0\ndata:\n", "data:\n"),
        ("id: e0\ndata:\n\n", "id: e0\ndata:\n\nid: e00\ndata:\n\n"),
        ("id: e1", "id: e 1"),
        ("id: e1", "id: e1\nid: e2"),
        ("id: e1", "event: message\nid: e1"),
        ("id: e1", ": a comment\nid: e1"),
        ('{"jsonrpc"', '{"jsonrpc'),
        ("\n", "\r\n"),
        ('"progress": 1', '"progress": 1, "message": "a\u2028b"'),
    ],
)
def test_a_legacy_body_with_wrong_syntax_is_rejected(right: str, wrong: str) -> None:
    body = legacy_body(progress(1))
    assert right in body

    with pytest.raises(AssertionError):
        check_stream(CALL, body.replace(right, wrong), LEGACY)


@pytest.mark.parametrize(
    ("version", "request_"),
    [(OLDER, CALL), (MODERN, WAIT), (LEGACY, {**CALL, "params": {"task": {}}})],
)
def test_a_method_that_must_be_answered_in_json_is_not_answered_with_events(
    version: str, request_: dict[str, Any]
) -> None:
    with pytest.raises(AssertionError):
        check_stream(request_, legacy_body(), version)


def test_a_legacy_stream_may_continue_over_several_bodies_and_repeats_no_event_id() -> None:
    stream = StreamJudge(WAIT)

    first = stream.check(legacy_body(STATUS, progress(1, _meta=RELATED), question_message(_meta=RELATED)))
    nothing = stream.check(legacy_body(first=10))
    unfinished = stream.response
    last = stream.check(
        legacy_body(progress(2, _meta=RELATED), result_message(WAIT, {**TEXT, "_meta": RELATED}), first=20)
    )

    assert (nothing, unfinished) == ([], None)
    assert stream.messages == first + last
    assert stream.response == last[-1]
    assert read_stream(legacy_body(STATUS)).event_ids == ["e0", "e1"]
    with pytest.raises(AssertionError, match="event id must not be repeated"):
        stream.check(legacy_body(first=10))


def test_the_error_about_a_body_shows_the_body() -> None:
    with pytest.raises(AssertionError, match=r"(?s)progress must increase.*asked.*answered.*retry: 1000"):
        check_stream(CALL, legacy_body(progress(1), progress(1)), LEGACY)


# ------------------------------------------------------------------------------------------------------ modern streams

CALL_NOW: dict[str, Any] = {
    **CALL,
    "params": {"name": "echo", "_meta": {CLIENT_CAPABILITIES: CAPABILITIES, "progressToken": 1}},
}
CALLED = result_message(CALL, {**COMPLETE, **TEXT})
LISTEN: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": "listen-1",
    "method": "subscriptions/listen",
    "params": {
        "notifications": {"taskIds": [ID, "other"], "toolsListChanged": True, "promptsListChanged": False},
        "_meta": {CLIENT_CAPABILITIES: CAPABILITIES},
    },
}
SUBSCRIBED: dict[str, Any] = {SUBSCRIPTION_ID: "listen-1"}
LISTENED: dict[str, Any] = {"resultType": "complete", "_meta": {**META, **SUBSCRIBED}}
ENDED = result_message(LISTEN, LISTENED)


def acknowledged(notifications: Any, meta: Any = SUBSCRIBED) -> dict[str, Any]:
    params = {"notifications": notifications, "_meta": meta}
    return {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}


def notified(meta: Any = SUBSCRIBED, **changes: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/tasks", "params": {**MODERN_TASK, "_meta": meta, **changes}}


def modern_body(*messages: Any) -> str:
    return "".join(f"data: {json.dumps(message)}\n\n" for message in messages)


AGREED = acknowledged({"taskIds": [ID]})


@pytest.mark.parametrize(
    ("request_", "messages"),
    [
        (CALL_NOW, [progress(0), progress(1, total=2, message="Half."), CALLED]),
        (CALL_NOW, [progress(1), error_message(CALL)]),
        (LISTEN, [acknowledged({"toolsListChanged": True, "taskIds": []}), ENDED]),
        (LISTEN, [AGREED, notified(), notified(status="completed", result=DONE), ENDED]),
    ],
)
def test_a_right_modern_body_passes_and_its_messages_are_returned(
    request_: dict[str, Any], messages: list[dict[str, Any]]
) -> None:
    assert check_stream(request_, modern_body(*messages), MODERN) == messages


@pytest.mark.parametrize(
    ("request_", "messages"),
    [
        (CALL_NOW, []),
        (CALL_NOW, [progress(1)]),
        (CALL_NOW, [progress(1), progress(1), CALLED]),
        (CALL_NOW, [progress(1, token="1"), CALLED]),
        (CALL_NOW, [progress(1), result_message(CALL, TEXT)]),
        (CALL_NOW, [question_message(), CALLED]),
        ({**CALL_NOW, "params": {"_meta": {}}}, [CALLED]),
        (LISTEN, [ENDED]),
        (LISTEN, [notified(), AGREED, ENDED]),
        (LISTEN, [AGREED, AGREED, ENDED]),
        (LISTEN, [AGREED, error_message(LISTEN)]),
        (LISTEN, [AGREED, result_message(LISTEN, COMPLETE)]),
        (LISTEN, [AGREED, result_message(LISTEN, {"resultType": "complete", "_meta": SUBSCRIBED})]),
        (LISTEN, [AGREED, result_message(LISTEN, {"_meta": LISTENED["_meta"]})]),
        (LISTEN, [AGREED, result_message(LISTEN, {**LISTENED, "taskIds": []})]),
        # What is acknowledged
        (LISTEN, [acknowledged({}, meta=None), ENDED]),
        (LISTEN, [acknowledged({}, meta={SUBSCRIPTION_ID: 1}), ENDED]),
        (LISTEN, [acknowledged(None), ENDED]),
        (LISTEN, [acknowledged({"promptsListChanged": True}), ENDED]),
        (LISTEN, [acknowledged({"toolsListChanged": False}), ENDED]),
        (LISTEN, [acknowledged({"taskIds": ["unknown"]}), ENDED]),
        (LISTEN, [acknowledged({"taskIds": [ID, ID]}), ENDED]),
        (LISTEN, [acknowledged({"taskIds": [1]}), ENDED]),
        (LISTEN, [acknowledged({"taskIds": True}), ENDED]),
        # What a listener gets
        (LISTEN, [AGREED, notified(taskId="other"), ENDED]),
        (LISTEN, [AGREED, notified(resultType="complete"), ENDED]),
        (LISTEN, [AGREED, notified(status="completed"), ENDED]),
        (LISTEN, [AGREED, notified(lastUpdatedAt="2026-08-01T09:59:59Z"), ENDED]),
    ],
)
def test_a_wrong_modern_body_is_rejected(request_: dict[str, Any], messages: list[Any]) -> None:
    with pytest.raises(AssertionError):
        check_stream(request_, modern_body(*messages), MODERN)


@pytest.mark.parametrize("wrong", ["id: 1\ndata", "retry: 1\n\ndata", "data:\n\ndata", ": a comment\n\ndata"])
def test_a_modern_body_with_retry_or_event_ids_is_rejected(wrong: str) -> None:
    with pytest.raises(AssertionError):
        check_stream(LISTEN, modern_body(AGREED, ENDED).replace("data", wrong, 1), MODERN)


# X24
def test_no_task_is_acknowledged_to_a_listener_that_does_not_declare_the_extension() -> None:
    nothing: dict[str, Any] = {CLIENT_CAPABILITIES: {}}
    request = {**LISTEN, "params": {**LISTEN["params"], "_meta": nothing}}

    with pytest.raises(AssertionError, match="does not declare"):
        check_stream(request, modern_body(AGREED, ENDED), MODERN)


# M7: the one method whose answer is always a stream, unless it is an error
def test_a_listener_must_be_answered_with_a_stream() -> None:
    with pytest.raises(AssertionError):
        check(LISTEN, ENDED, MODERN)

    check(LISTEN, error_message(LISTEN), MODERN)


# ------------------------------------------------------------------------------------------------------------- helpers


def request_of(version: str, method: str) -> dict[str, Any]:
    name, _, kind = method.partition(" ")
    params: dict[str, Any] = {"taskId": ID} if name.startswith("tasks/") and name != "tasks/list" else {}
    if kind == "task":
        params["task"] = {}
    if version == MODERN:
        params["_meta"] = {CLIENT_CAPABILITIES: CAPABILITIES}
    return {"jsonrpc": "2.0", "id": 1, "method": name, "params": params}


def answer(result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "result": result}


def with_member(result: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    # The name of the extension contains dots; it counts as one step of the path.
    *way, name = path.split(".") if "/" not in path else ("capabilities", "extensions", TASKS_EXTENSION)
    changed: dict[str, Any] = deepcopy(result)
    place: Any = changed
    for step in way:
        place = place[int(step)] if step.isdigit() else place[step]
    if value is NOTHING:
        del place[name]
    else:
        place[name] = value
    return changed
