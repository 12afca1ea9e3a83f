"""The oracle accepts right bodies of legacy streams, and rejects wrong ones: one row for each way to be wrong."""

from typing import Any

import pytest

from tests.wire_oracle import (
    LEGACY,
    MODERN,
    RELATED_TASK,
    StreamJudge,
    check_stream,
    read_stream,
)
from tests.wire_oracle_samples import (
    CALL,
    FORM,
    ID,
    LEGACY_TASK,
    OLDER,
    RELATED,
    TEXT,
    URL,
    WRONG_PARAMS,
    asked,
    legacy_body,
    progress,
    refused,
    request_of,
    told,
)

WAIT: dict[str, Any] = {"jsonrpc": "2.0", "id": "w", "method": "tasks/result", "params": {"taskId": ID}}
STATUS: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/tasks/status", "params": LEGACY_TASK}


RIGHT_LEGACY_BODIES: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    (CALL, []),
    (CALL, [progress(0), progress(0.5, total=3), progress(2, message="Half.", _meta={"example/a": 1})]),
    (CALL, [told(CALL, TEXT)]),
    (CALL, [refused(CALL)]),
    (CALL, [progress(1), asked(), asked("q2", mode="form"), asked("q3", {**URL, "elicitationId": "e"}, _meta={})]),
    (WAIT, [progress(1, "t", _meta=RELATED), progress(1, 1, _meta=RELATED)]),
    (WAIT, [STATUS, {**STATUS, "params": {**LEGACY_TASK, "status": "input_required", "_meta": {}}}]),
    (WAIT, [asked(_meta=RELATED), told(WAIT, {**TEXT, "_meta": RELATED})]),
    (WAIT, [refused(WAIT)]),
]

WRONG_LEGACY_MESSAGES: list[tuple[dict[str, Any], Any]] = [
    (CALL, []),
    (CALL, "hi"),
    (CALL, {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "hi"}}),
    (CALL, {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}),
    (CALL, {"jsonrpc": "2.0", "id": 1, "method": "ping"}),
    (CALL, {"jsonrpc": "2.0", "id": 1, "method": "roots/list"}),
    (CALL, {"jsonrpc": "2.0", "id": "r", "method": "roots/list", "params": {"_meta": {RELATED_TASK: {"taskId": "t"}}}}),
    (CALL, {"jsonrpc": "2.0", "id": "s", "method": "sampling/createMessage", "params": {"messages": []}}),
    (CALL, {"jsonrpc": "2.0", "method": ["notifications/progress"], "params": {}}),
    (CALL, progress(1, token=2)),
    (CALL, progress(1, token="1")),
    (CALL, progress(1, token=True)),
    (CALL, progress("1")),
    (CALL, progress(True)),
    (CALL, progress(None)),
    (CALL, progress(float("nan"))),
    (CALL, progress(1, total="2")),
    (CALL, progress(1, message=2)),
    (CALL, progress(1, message=None)),
    (CALL, progress(1, percent=50)),
    (CALL, progress(1, _meta=RELATED)),
    (CALL, {**progress(1), "id": 1}),
    (CALL, {**progress(1), "jsonrpc": "1.0"}),
    (CALL, asked(1)),
    (CALL, asked("")),
    (CALL, asked(None)),
    (CALL, asked(_meta=RELATED)),
    (CALL, asked(_meta=[])),
    (CALL, {**asked(), "result": {}}),
    (CALL, asked("q", URL)),
    (CALL, told(CALL, {**TEXT, "_meta": RELATED})),
    (CALL, told(CALL, {**TEXT, "resultType": "complete"})),
    (CALL, told({"id": "7"}, TEXT)),
    (CALL, {"jsonrpc": "2.0", "id": 7}),
    (WAIT, progress(1)),
    (WAIT, progress(1, _meta={RELATED_TASK: {"taskId": "other"}})),
    (WAIT, asked()),
    (WAIT, asked(_meta={RELATED_TASK: {"taskId": "other"}})),
    (WAIT, told(WAIT, TEXT)),
    (WAIT, told(WAIT, {**TEXT, "_meta": {RELATED_TASK: {"taskId": "other"}}})),
    (WAIT, {**STATUS, "id": 1}),
    (WAIT, {**STATUS, "jsonrpc": "1.0"}),
    (WAIT, {**STATUS, "params": {**LEGACY_TASK, "_meta": RELATED}}),
    (WAIT, {**STATUS, "params": {**LEGACY_TASK, "taskId": "other"}}),
    (WAIT, {**STATUS, "params": {**LEGACY_TASK, "ttlMs": 1}}),
    (WAIT, {**STATUS, "params": {**LEGACY_TASK, "lastUpdatedAt": "2026-08-01T09:59:59Z"}}),
    (WAIT, {**STATUS, "params": {"taskId": ID, "status": "working"}}),
    (WAIT, {**STATUS, "params": {"task": LEGACY_TASK}}),
]

WRONG_ORDERS: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    (CALL, [told(CALL, TEXT), progress(1)]),
    (CALL, [told(CALL, TEXT), told(CALL, TEXT)]),
    (CALL, [told(CALL, TEXT), refused(CALL)]),
    (CALL, [progress(1), progress(1)]),
    (CALL, [progress(2), progress(1.5)]),
    (CALL, [asked("q"), asked("q", message="Really?")]),
    (WAIT, [STATUS, STATUS]),
]

RIGHT_BODY = legacy_body(progress(1))

# What to replace in the right body, and by what.
WRONG_WRITINGS: list[tuple[str, str]] = [
    ("retry: 1000\n\n", ""),
    ("retry: 1000", "retry: 0"),
    ("retry: 1000", "retry: 20001"),
    ("retry: 1000", "retry: -1"),
    ("retry: 1000", "retry: 1.5"),
    ("retry: 1000", "retry: ١"),  # noqa: RUF001 - a digit, but not one of ASCII
    ("retry: 1000", "retry:  1"),
    ("retry: 1000", "retry"),
    ("retry: 1000", "Retry: 1000"),
    ("retry: 1000\n\n", ": hello\n\nretry: 1000\n\n"),
    ("retry: 1000\n\n", "retry: 1000\n\nretry: 1000\n\n"),
    ("retry: 1000\n\nid: e0\ndata:\n\n", "id: e0\nretry: 1000\ndata:\n\n"),
    ("id: e0\ndata:\n\n", ""),
    ("id: e0\ndata:\n", "id: e0\n"),
    ("id: e0\ndata:\n", "data:\n"),
    ("id: e0\ndata:\n\n", "id: e0\ndata:\n\nid: e00\ndata:\n\n"),
    ("id: e0", "id: e1"),
    ("id: e1", "id:"),
    ("id: e1\n", ""),
    ("id: e1", "id: e 1"),
    ("id: e1", "id:  e1"),
    ("id: e1", "id: é1"),
    ("id: e1", "id: e\x7f"),
    ("id: e1", "id: e1\nid: e2"),
    ("id: e1", "event: message\nid: e1"),
    ("id: e1", ": a comment\nid: e1"),
    ('"jsonrpc"', '\ndata: "jsonrpc"'),
    ('"jsonrpc"', '\n"jsonrpc"'),
    ('{"jsonrpc"', '{"jsonrpc'),
    ("\n", "\r\n"),
    ("\n", "\r"),
    ("}\n\n", "}\n"),
    ("}\n\n", "}"),
    ("}\n\n", "}\n\n\n"),
    ('"progress": 1', '"progress": 1, "message": "a\x85b"'),
    ('"progress": 1', '"progress": 1, "message": "a\u2028b"'),
    ('"progress": 1', '"progress": 1, "message": "a\u2029b"'),
    ('"progress": 1', '"progress": Infinity'),
]


@pytest.mark.parametrize(("request_", "messages"), RIGHT_LEGACY_BODIES)
def test_a_right_legacy_body_passes_and_gives_its_messages(
    request_: dict[str, Any], messages: list[dict[str, Any]]
) -> None:
    found = check_stream(request_, legacy_body(*messages), LEGACY)

    assert found == messages


@pytest.mark.parametrize(("request_", "message"), WRONG_LEGACY_MESSAGES)
def test_a_legacy_body_with_a_wrong_message_is_rejected(request_: dict[str, Any], message: Any) -> None:
    with pytest.raises(AssertionError):
        check_stream(request_, legacy_body(message), LEGACY)


@pytest.mark.parametrize("params", [*WRONG_PARAMS, {**FORM, "elicitationId": "e"}, {**URL, "elicitationId": ""}])
def test_a_wrong_legacy_elicitation_is_rejected(params: dict[str, Any]) -> None:
    if params.get("mode") == "url":
        params = {"elicitationId": "e", **params}

    with pytest.raises(AssertionError):
        check_stream(CALL, legacy_body(asked("q", params)), LEGACY)


@pytest.mark.parametrize(("request_", "messages"), WRONG_ORDERS)
def test_messages_in_a_wrong_order_are_rejected_in_one_body_and_in_two(
    request_: dict[str, Any], messages: list[dict[str, Any]]
) -> None:
    stream = StreamJudge(request_)
    stream.check(legacy_body(messages[0]))

    with pytest.raises(AssertionError):
        check_stream(request_, legacy_body(*messages), LEGACY)
    with pytest.raises(AssertionError):
        stream.check(legacy_body(*messages[1:], first=2))


@pytest.mark.parametrize(("right", "wrong"), WRONG_WRITINGS)
def test_a_legacy_body_that_is_written_wrong_is_rejected(right: str, wrong: str) -> None:
    body = RIGHT_BODY.replace(right, wrong)
    assert body != RIGHT_BODY

    with pytest.raises(AssertionError):
        check_stream(CALL, body, LEGACY)


@pytest.mark.parametrize("body", ["", "\n", "\n\n", "retry: 1\n\n", "data: {}\n\n"])
def test_a_legacy_body_with_nothing_to_come_back_with_is_rejected(body: str) -> None:
    with pytest.raises(AssertionError):
        check_stream(CALL, body, LEGACY)


@pytest.mark.parametrize("body", ["retry:1\nid:a\ndata:\n\n", "retry: 20000\n\ndata: \nid: a\n\n"])
def test_a_legacy_body_may_be_written_as_the_format_allows(body: str) -> None:
    assert check_stream(CALL, body, LEGACY) == []


def test_what_a_body_says_besides_its_messages_can_be_read() -> None:
    found = read_stream(legacy_body(progress(1), retry=500))

    assert (found.retry_ms, found.event_ids, found.messages) == (500, ["e0", "e1"], [progress(1)])


@pytest.mark.parametrize("token", [{}, {"progressToken": None}])
def test_progress_that_was_not_asked_for_is_rejected(token: dict[str, Any]) -> None:
    request = {**CALL, "params": {"name": "echo", "_meta": token}}

    with pytest.raises(AssertionError):
        check_stream(request, legacy_body(progress(1)), LEGACY)


@pytest.mark.parametrize(
    ("version", "request_"),
    [
        (OLDER, CALL),
        ("2025-03-26", CALL),
        (MODERN, WAIT),
        (LEGACY, request_of(LEGACY, "tools/call task")),
        (LEGACY, request_of(LEGACY, "tasks/get")),
        (LEGACY, request_of(LEGACY, "tools/list")),
        (LEGACY, request_of(LEGACY, "initialize")),
        (LEGACY, request_of(LEGACY, "subscriptions/listen")),
    ],
)
def test_what_is_answered_at_once_is_not_answered_with_events(version: str, request_: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        check_stream(request_, legacy_body(), version)


def test_a_legacy_stream_may_go_on_over_many_bodies() -> None:
    stream = StreamJudge(WAIT)

    first = stream.check(legacy_body(STATUS, progress(1, _meta=RELATED)))
    nothing = stream.check(legacy_body(first=10))
    unfinished = stream.response
    last = stream.check(legacy_body(progress(2, _meta=RELATED), told(WAIT, {**TEXT, "_meta": RELATED}), first=20))

    assert (nothing, unfinished) == ([], None)
    assert stream.messages == first + last
    assert stream.response == last[-1]


@pytest.mark.parametrize("second", [legacy_body(), legacy_body(first=1), legacy_body(progress(1), first=-1)])
def test_an_event_id_that_comes_again_in_a_later_body_is_rejected(second: str) -> None:
    stream = StreamJudge(CALL)
    stream.check(legacy_body(progress(0)))

    with pytest.raises(AssertionError, match="event id given twice"):
        stream.check(second)
