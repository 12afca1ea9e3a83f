"""The oracle accepts right bodies of modern streams, and rejects wrong ones: one row for each way to be wrong."""

import json
from typing import Any

import pytest

from tests.wire_oracle import (
    CLIENT_CAPABILITIES,
    LEGACY,
    MODERN,
    SUBSCRIPTION_ID,
    check,
    check_stream,
)
from tests.wire_oracle_samples import (
    CALL,
    CAPABILITIES,
    COMPLETE,
    ELICITATION,
    ID,
    META,
    MODERN_TASK,
    RELATED,
    TEXT,
    asked,
    legacy_body,
    progress,
    refused,
    request_of,
    told,
)

# ------------------------------------------------------------------------------------------------------- modern bodies

CALL_NOW: dict[str, Any] = {
    **CALL,
    "params": {"name": "echo", "_meta": {CLIENT_CAPABILITIES: CAPABILITIES, "progressToken": 1}},
}
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


def acknowledged(notifications: Any, meta: Any = SUBSCRIBED, **more: Any) -> dict[str, Any]:
    params = {"notifications": notifications, "_meta": meta, **more}
    return {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}


def notified(meta: Any = SUBSCRIBED, **changes: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/tasks", "params": {**MODERN_TASK, "_meta": meta, **changes}}


def modern_body(*messages: Any) -> str:
    return "".join(f"data: {json.dumps(message)}\n\n" for message in messages)


ACKNOWLEDGED = acknowledged({"taskIds": [ID]})

RIGHT_MODERN_BODIES: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
    (CALL_NOW, [told(CALL, {**COMPLETE, **TEXT})]),
    (CALL_NOW, [progress(0), progress(1, total=2, message="Half."), told(CALL, {**COMPLETE, **TEXT})]),
    (CALL_NOW, [progress(1), refused(CALL)]),
    (CALL_NOW, [told(CALL, {**COMPLETE, **MODERN_TASK, "resultType": "task"})]),
    (LISTEN, [acknowledged({}), told(LISTEN, LISTENED)]),
    (LISTEN, [acknowledged({"toolsListChanged": True, "taskIds": []}), told(LISTEN, LISTENED)]),
    (LISTEN, [ACKNOWLEDGED, notified(), notified(), told(LISTEN, LISTENED)]),
    (
        LISTEN,
        [
            ACKNOWLEDGED,
            notified(status="input_required", inputRequests={"sure": ELICITATION}),
            notified(status="completed", result={**TEXT, "resultType": "complete"}),
            told(LISTEN, LISTENED),
        ],
    ),
]

WRONG_MODERN_BODIES: list[tuple[dict[str, Any], list[Any]]] = [
    (CALL_NOW, []),
    (CALL_NOW, [progress(1)]),
    (CALL_NOW, [told(CALL, {**COMPLETE, **TEXT}), progress(1)]),
    (CALL_NOW, [told(CALL, {**COMPLETE, **TEXT}), told(CALL, {**COMPLETE, **TEXT})]),
    (CALL_NOW, [progress(1), progress(1), told(CALL, {**COMPLETE, **TEXT})]),
    (CALL_NOW, [progress(1, token="1"), told(CALL, {**COMPLETE, **TEXT})]),
    (CALL_NOW, [progress(1, percent=5), told(CALL, {**COMPLETE, **TEXT})]),
    (CALL_NOW, [progress(1), told(CALL, TEXT)]),
    (CALL_NOW, [progress(1), told({"id": "7"}, {**COMPLETE, **TEXT})]),
    (CALL_NOW, [asked(), told(CALL, {**COMPLETE, **TEXT})]),
    (CALL_NOW, [notified(), told(CALL, {**COMPLETE, **TEXT})]),
    (request_of(MODERN, "tools/call"), [told({"id": 1}, {**COMPLETE, **TEXT})]),
    (LISTEN, []),
    (LISTEN, [ACKNOWLEDGED]),
    (LISTEN, [told(LISTEN, LISTENED)]),
    (LISTEN, [notified(), ACKNOWLEDGED, told(LISTEN, LISTENED)]),
    (LISTEN, [ACKNOWLEDGED, ACKNOWLEDGED, told(LISTEN, LISTENED)]),
    (LISTEN, [ACKNOWLEDGED, told(LISTEN, LISTENED), notified()]),
    (LISTEN, [ACKNOWLEDGED, told(LISTEN, LISTENED), told(LISTEN, LISTENED)]),
    (LISTEN, [ACKNOWLEDGED, refused(LISTEN)]),
    (LISTEN, [ACKNOWLEDGED, told({"id": 1}, LISTENED)]),
    (LISTEN, [ACKNOWLEDGED, told(LISTEN, COMPLETE)]),
    (LISTEN, [ACKNOWLEDGED, told(LISTEN, {"resultType": "complete", "_meta": SUBSCRIBED})]),
    (LISTEN, [ACKNOWLEDGED, told(LISTEN, {**LISTENED, "_meta": {**META, SUBSCRIPTION_ID: "other"}})]),
    (LISTEN, [ACKNOWLEDGED, told(LISTEN, {"_meta": LISTENED["_meta"]})]),
    (LISTEN, [ACKNOWLEDGED, told(LISTEN, {**LISTENED, "resultType": "input_required"})]),
    (LISTEN, [ACKNOWLEDGED, told(LISTEN, {**LISTENED, "taskIds": []})]),
]

WRONG_ACKNOWLEDGEMENTS: list[dict[str, Any]] = [
    acknowledged({}, meta={}),
    acknowledged({}, meta=None),
    acknowledged({}, meta={SUBSCRIPTION_ID: "other"}),
    acknowledged({}, meta={SUBSCRIPTION_ID: 1}),
    acknowledged({}, taskIds=[ID]),
    acknowledged(None),
    acknowledged([]),
    acknowledged({"resourcesListChanged": True}),
    acknowledged({"promptsListChanged": True}),
    acknowledged({"toolsListChanged": False}),
    acknowledged({"toolsListChanged": 1}),
    acknowledged({"taskIds": ["unknown"]}),
    acknowledged({"taskIds": [ID, ID]}),
    acknowledged({"taskIds": [1]}),
    acknowledged({"taskIds": True}),
    acknowledged({"taskIds": None}),
    {**acknowledged({}), "id": 1},
    {**acknowledged({}), "jsonrpc": "1.0"},
    {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged"},
]

WRONG_NOTIFICATIONS: list[dict[str, Any]] = [
    notified(meta={}),
    notified(meta={SUBSCRIPTION_ID: "other"}),
    notified(meta={SUBSCRIPTION_ID: 1}),
    notified(meta={**SUBSCRIBED, **RELATED}),
    notified(taskId="other"),
    notified(resultType="complete"),
    notified(ttl=1),
    notified(status="completed"),
    notified(status="completed", result=TEXT),
    notified(status="completed", result={"resultType": "complete"}),
    notified(status="input_required"),
    notified(status="input_required", inputRequests={"a": {"method": "roots/list"}}),
    notified(lastUpdatedAt="2026-08-01T09:59:59Z"),
    {**notified(), "id": 1},
    {**notified(), "method": "notifications/tasks/status"},
    progress(1),
    {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "hi"}},
    {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": SUBSCRIBED}},
]


@pytest.mark.parametrize(("request_", "messages"), RIGHT_MODERN_BODIES)
def test_a_right_modern_body_passes_and_gives_its_messages(
    request_: dict[str, Any], messages: list[dict[str, Any]]
) -> None:
    found = check_stream(request_, modern_body(*messages), MODERN)

    assert found == messages


@pytest.mark.parametrize(("request_", "messages"), WRONG_MODERN_BODIES)
def test_a_wrong_modern_body_is_rejected(request_: dict[str, Any], messages: list[Any]) -> None:
    with pytest.raises(AssertionError):
        check_stream(request_, modern_body(*messages), MODERN)


@pytest.mark.parametrize("wrong", WRONG_ACKNOWLEDGEMENTS)
def test_a_wrong_acknowledgement_is_rejected(wrong: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        check_stream(LISTEN, modern_body(wrong, told(LISTEN, LISTENED)), MODERN)


@pytest.mark.parametrize("wrong", WRONG_NOTIFICATIONS)
def test_a_wrong_notification_to_a_listener_is_rejected(wrong: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        check_stream(LISTEN, modern_body(ACKNOWLEDGED, wrong, told(LISTEN, LISTENED)), MODERN)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("data", "id: 1\ndata"), ("data", "retry: 1\n\ndata"), ("data", "data:\n\ndata"), ("data", ": a comment\n\ndata")],
)
def test_a_modern_body_with_what_only_a_resumable_one_has_is_rejected(right: str, wrong: str) -> None:
    body = modern_body(ACKNOWLEDGED, told(LISTEN, LISTENED)).replace(right, wrong, 1)

    with pytest.raises(AssertionError):
        check_stream(LISTEN, body, MODERN)


# X24
def test_no_task_is_agreed_to_for_a_listener_that_does_not_declare_the_extension() -> None:
    nothing: dict[str, Any] = {CLIENT_CAPABILITIES: {}}
    request = {**LISTEN, "params": {**LISTEN["params"], "_meta": nothing}}

    with pytest.raises(AssertionError, match="does not declare"):
        check_stream(request, modern_body(ACKNOWLEDGED, told(LISTEN, LISTENED)), MODERN)


# M7: the one method whose answer is never a single object, but for an error
def test_a_listener_is_not_answered_with_one_object() -> None:
    with pytest.raises(AssertionError):
        check(LISTEN, told(LISTEN, LISTENED), MODERN)

    check(LISTEN, refused(LISTEN), MODERN)


def test_the_complaint_about_a_body_shows_it() -> None:
    with pytest.raises(AssertionError, match=r"(?s)progress must increase.*asked.*answered.*retry: 1000"):
        check_stream(CALL, legacy_body(progress(1), progress(1)), LEGACY)
