"""Judge the messages on a stream: their order, and each by the rules of its protocol version."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import mcp_types
from mcp_types.methods import SERVER_NOTIFICATIONS, SERVER_REQUESTS
from pydantic import BaseModel

from tests.wire_oracle.comparisons import (
    LEGACY,
    LONGEST_RETRY,
    MODERN,
    RELATED_TASK,
    SERVER_INFO,
    SUBSCRIPTION_ID,
    TASKS,
    Exchange,
    Json,
    check_core,
    check_equal,
    check_members,
    check_same_task,
    check_shape,
    check_times,
    is_array,
    is_object,
)
from tests.wire_oracle.event_streams import Event, EventStream
from tests.wire_oracle.questions import CAPABILITY_TO_ANSWER, check_elicitation, check_sampling, declared_tasks
from tests.wire_oracle.results import check_detailed_task, check_envelope, check_response


def check_order(events: Sequence[Event]) -> None:
    """Check the order of events, within one body or across several."""
    _check_no_repetition((event.event_id for event in events if event.event_id is not None), "event id")
    messages = [event.message for event in events if event.message is not None]
    ended = [index for index, message in enumerate(messages) if "method" not in message]
    assert all(index == len(messages) - 1 for index in ended), "something follows the response"  # L8
    asked = {*CAPABILITY_TO_ANSWER, *_ABOUT_CLIENT_TASKS}
    _check_no_repetition((message["id"] for message in messages if str(message.get("method")) in asked), "request id")
    _check_no_repetition(
        (json.dumps(m, sort_keys=True) for m in messages if m.get("method") == "notifications/tasks/status"), "status"
    )
    _check_increasing([m["params"] for m in messages if m.get("method") == "notifications/progress"])


def _check_no_repetition(found: Iterable[Any], what: str) -> None:
    seen: set[Any] = set()
    for value in found:
        assert value not in seen, f"{what} must not be repeated: {value}"
        seen.add(value)


def _check_increasing(progress: Sequence[Json]) -> None:
    latest: dict[str, float] = {}
    for params in progress:
        token = json.dumps(params["progressToken"])  # 1 and "1" are two tokens
        assert params["progress"] > latest.get(token, float("-inf")), (
            f"progress must increase, not go to {params['progress']}"
        )
        latest[token] = params["progress"]


def _check_published(message: Json, surface: Mapping[tuple[str, str], type[BaseModel]], version: str) -> None:
    """Check a message against its published type, and reject members that the type does not define."""
    known = surface[(message["method"], version)].model_validate(message, by_name=False)
    check_equal(message, known.model_dump(by_alias=True, mode="json", exclude_none=True), message["method"])


def _judge_by_method(table: Mapping[str, Callable[[Json, Json], None]], request: Json, message: Json) -> None:
    judge = table.get(str(message["method"]))
    assert judge, f"{message['method']} must not be sent on a stream of {request['method']}"
    judge(request, message)


# ----------------------------------------------------------------------------------------------------- legacy streams


def _check_legacy_stream(request: Json, stream: EventStream) -> None:
    """L8: first what a client needs to resume, then messages, then the response if it is ready."""
    params: Json = request.get("params") or {}
    creates_a_task = request["method"] == "tools/call" and params.get("task") is not None
    assert not creates_a_task, "a call that creates a task must be answered without a stream (T7)"
    assert stream.retry_ms is not None, "the body must begin with retry"
    assert 1 <= stream.retry_ms <= LONGEST_RETRY, f"retry must be 1 to {LONGEST_RETRY} ms"
    assert stream.events, "the body must have an event with an id and empty data"
    assert stream.events[0].message is None, "the first event must have an id and empty data"
    assert all(event.message for event in stream.events[1:]), "only the first event may have empty data"
    for event in stream.events:
        if event.message is None or str(event.message.get("method")) not in _ABOUT_CLIENT_TASKS:
            assert re.fullmatch("[!-~]+", event.event_id or ""), f"{event.event_id!r} cannot be an event id"
    for message in stream.messages:
        _check_legacy_message(request, message)


def _check_legacy_message(request: Json, message: Json) -> None:
    if "method" in message:
        _judge_by_method(_LEGACY_MESSAGES, request, message)
        return
    check_response(request, message, LEGACY)
    if "result" in message:
        _check_related(request, message["result"])


def _check_legacy_progress(request: Json, message: Json) -> None:
    _check_published(message, SERVER_NOTIFICATIONS, LEGACY)
    _check_related(request, message.get("params") or {})
    if request["method"] == "tools/call":  # T32: on tasks/result it can be the token of the call that created the task
        _check_same_token(request, message)


def _check_legacy_status(request: Json, message: Json) -> None:
    """T31."""
    check_shape(message, TASKS[LEGACY], "TaskStatusNotification")
    mcp_types.TaskStatusNotification.model_validate(message)
    check_times(message["params"])
    if request["method"] == "tasks/result":
        check_same_task(Exchange(request, {}, LEGACY), message["params"]["taskId"])


def _check_legacy_input_request(request: Json, message: Json) -> None:
    """T30, L19, M44."""
    assert isinstance(message.get("id"), str), "the id of a request from the server must be a string"
    assert message["id"], "the id of a request from the server must not be empty"
    _check_published(message, SERVER_REQUESTS, LEGACY)
    if message["method"] == "elicitation/create":
        check_elicitation(message["params"], "LegacyParams")
    elif message["method"] == "sampling/createMessage":
        check_sampling(message["params"])
    _check_related(request, message.get("params") or {})


def _check_related(request: Json, found: Json) -> None:
    """T16, T29: only messages on the stream of tasks/result name the task in `_meta`."""
    related = _meta_of(found).get(RELATED_TASK)
    wanted = {"taskId": request["params"]["taskId"]} if request["method"] == "tasks/result" else None
    assert related == wanted, f"_meta's {RELATED_TASK} must be {wanted}, not {related}"


def _meta_of(found: Json) -> Json:
    return found.get("_meta") or {}


def _check_same_token(request: Json, message: Json) -> None:
    wanted = _meta_of(request.get("params") or {}).get("progressToken")
    token = message["params"]["progressToken"]
    assert (type(token), token) == (type(wanted), wanted), f"progressToken must be {wanted!r}, not {token!r}"


_ABOUT_CLIENT_TASKS: Final[Mapping[str, type[BaseModel]]] = MappingProxyType(
    {
        "tasks/get": mcp_types.GetTaskRequest,
        "tasks/result": mcp_types.GetTaskPayloadRequest,
        "tasks/cancel": mcp_types.CancelTaskRequest,
    }
)
"""What a server asks about tasks that its client has made of its questions."""


def _check_about_client_task(_request: Json, message: Json) -> None:
    """N2, N3: the id names the task, so no metadata does."""
    assert isinstance(message.get("id"), str), "the id of a request of ours must be a string"
    known = _ABOUT_CLIENT_TASKS[message["method"]].model_validate(message)
    check_equal(message["params"], known.model_dump(by_alias=True, mode="json", exclude_none=True)["params"], "params")
    check_members(message["params"], {"taskId"}, "params")


_LEGACY_MESSAGES: Final[Mapping[str, Callable[[Json, Json], None]]] = MappingProxyType(
    {
        **dict.fromkeys(_ABOUT_CLIENT_TASKS, _check_about_client_task),
        "notifications/progress": _check_legacy_progress,
        "notifications/tasks/status": _check_legacy_status,
        **dict.fromkeys(CAPABILITY_TO_ANSWER, _check_legacy_input_request),
    }
)


# ----------------------------------------------------------------------------------------------------- modern streams


def _check_modern_stream(stream: EventStream) -> None:
    """M8: the stream cannot be resumed, so it has no retry and no ids, and it ends with the response."""
    assert stream.retry_ms is None, "only legacy streams have retry"
    assert stream.event_ids == [], "only legacy streams have event ids"
    assert len(stream.messages) == len(stream.events), "each event must have data"
    assert stream.messages, "the body must contain the response"
    assert "method" not in stream.messages[-1], "the body must end with the response"


def _check_modern_call_stream(request: Json, stream: EventStream) -> None:
    """M42: progress of this request, then its response."""
    _check_modern_stream(stream)
    assert "progressToken" in request["params"]["_meta"], (
        "a call without a progress token must not be answered with a stream"
    )
    *before, response = stream.messages
    for message in before:
        assert message.get("method") == "notifications/progress", "only progress may come before the response"
        _check_published(message, SERVER_NOTIFICATIONS, MODERN)
        _check_same_token(request, message)
    check_response(request, response, MODERN)


def _check_listen_stream(request: Json, stream: EventStream) -> None:
    """M51 to M53: an acknowledgement, notifications, and a result at the end."""
    _check_modern_stream(stream)
    assert len(stream.messages) > 1, "the first message must acknowledge the subscription"
    acknowledged, *notifications, response = stream.messages
    _check_acknowledged(request, acknowledged)
    agreed = acknowledged["params"]["notifications"]
    for message in notifications:
        _check_task_notification(request, message, agreed.get("taskIds", []))
    check_envelope(request, response)
    assert "result" in response, "an acknowledged subscription must end with a result"
    check_core(Exchange(request, response["result"], MODERN))
    assert SERVER_INFO in response["result"]["_meta"], f"_meta must have {SERVER_INFO}"  # M21
    _check_subscription(request, response["result"])


def _check_acknowledged(request: Json, message: Json) -> None:
    wanted = "notifications/subscriptions/acknowledged"
    assert message.get("method") == wanted, f"the first message must be {wanted}"
    found = message.get("params", {}).get("notifications")
    assert is_object(found), "params.notifications must be an object"
    _check_filter(request["params"]["notifications"], found)
    agreed = dict(found)
    if agreed.pop("taskIds", None) is not None:  # from the extension, which the published types do not cover
        declared_tasks(Exchange(request, {}, MODERN))
    core = {**message, "params": {**message["params"], "notifications": agreed}}
    _check_published(core, SERVER_NOTIFICATIONS, MODERN)
    _check_subscription(request, message["params"])


def _check_filter(requested: Json, agreed: Json) -> None:
    """M52: the acknowledged filter contains only what was requested, and leaves out what is not supported."""
    check_members(agreed, {name for name, value in requested.items() if value}, "notifications")
    for name, value in agreed.items():
        if not is_array(requested[name]):
            assert value is True, f"notifications.{name} must be true or left out"
            continue
        assert is_array(value), f"notifications.{name} must be an array"
        assert all(isinstance(item, str) for item in value), f"notifications.{name} must contain strings"
        check_members(dict.fromkeys(value), set(requested[name]), f"notifications.{name}")
        _check_no_repetition(value, f"notifications.{name}")


def _check_task_notification(request: Json, message: Json, agreed: Sequence[str]) -> None:
    """X22, X23: the notification contains what tasks/get would return."""
    check_shape(message, TASKS[MODERN], "TaskNotification")
    assert message["params"]["taskId"] in agreed, f"{message['params']['taskId']!r} is not in the acknowledged filter"
    _check_subscription(request, message["params"])
    check_detailed_task(Exchange(request, message["params"], MODERN))


def _check_subscription(request: Json, found: Json) -> None:
    """M51 to M53: `_meta` names the request's id, with the same type."""
    wanted, got = request["id"], _meta_of(found).get(SUBSCRIPTION_ID)
    assert (type(got), got) == (type(wanted), wanted), f"_meta's {SUBSCRIPTION_ID} must be {wanted!r}, not {got!r}"


STREAM_CHECKS: Final[Mapping[tuple[str, str], Callable[[Json, EventStream], None]]] = MappingProxyType(
    {
        (LEGACY, "tools/call"): _check_legacy_stream,
        (LEGACY, "tasks/result"): _check_legacy_stream,
        (MODERN, "tools/call"): _check_modern_call_stream,
        (MODERN, "subscriptions/listen"): _check_listen_stream,
    }
)
