"""The oracle accepts right results and errors, and rejects wrong ones: one row for each way to be wrong."""

from copy import deepcopy
from typing import Any

import pytest

from tests.wire_oracle import (
    CLIENT_CAPABILITIES,
    LEGACY,
    MODERN,
    SERVER_INFO,
    TASKS_EXTENSION,
    check,
)
from tests.wire_oracle_samples import (
    COMPLETE,
    ELICITATION,
    FORM,
    ID,
    LEGACY_TASK,
    META,
    MODERN_TASK,
    OLDER,
    RELATED,
    TEXT,
    URL,
    answer,
    request_of,
)

TOOL: dict[str, Any] = {"name": "echo", "description": "Echoes.", "inputSchema": {"type": "object"}}
CACHED: dict[str, Any] = {**COMPLETE, "ttlMs": 0, "cacheScope": "private"}

RIGHT: list[tuple[str, str, dict[str, Any]]] = [
    (LEGACY, "ping", {}),
    (
        LEGACY,
        "initialize",
        {
            "protocolVersion": LEGACY,
            "capabilities": {"tools": {}, "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}},
            "serverInfo": {"name": "stepwire", "version": "0.1.0"},
        },
    ),
    (LEGACY, "tools/list", {"tools": [{**TOOL, "execution": {"taskSupport": "optional"}}], "nextCursor": "2"}),
    (OLDER, "tools/list", {"tools": [TOOL]}),
    (LEGACY, "tools/call", {**TEXT, "structuredContent": {"none": None}, "isError": False}),
    (LEGACY, "tools/call task", {"task": LEGACY_TASK}),
    (LEGACY, "tasks/get", {**LEGACY_TASK, "ttl": None}),
    (LEGACY, "tasks/get", {**LEGACY_TASK, "status": "failed", "statusMessage": "It broke."}),
    (LEGACY, "tasks/get", {**LEGACY_TASK, "status": "input_required"}),
    (LEGACY, "tasks/result", {**TEXT, "isError": True, "_meta": RELATED}),
    (LEGACY, "tasks/list", {"tasks": [LEGACY_TASK, {**LEGACY_TASK, "taskId": "other"}]}),
    (LEGACY, "tasks/cancel", {**LEGACY_TASK, "status": "cancelled"}),
    (
        MODERN,
        "server/discover",
        {
            **CACHED,
            "supportedVersions": [MODERN],
            "capabilities": {"tools": {}, "extensions": {TASKS_EXTENSION: {}}},
        },
    ),
    (MODERN, "tools/list", {**CACHED, "tools": [TOOL]}),
    (MODERN, "tools/call", {**COMPLETE, **TEXT, "structuredContent": [1, 2]}),
    (MODERN, "tools/call", {**COMPLETE, **TEXT, "_meta": {**META, "example/a": None}}),
    (MODERN, "tools/call", {"resultType": "input_required", "_meta": META, "inputRequests": {"sure": ELICITATION}}),
    (MODERN, "tools/call", {"resultType": "input_required", "_meta": META, "requestState": "signed"}),
    (
        MODERN,
        "tools/call",
        {
            "resultType": "input_required",
            "_meta": META,
            "requestState": "signed",
            "inputRequests": {
                "form": {"method": "elicitation/create", "params": {**FORM, "mode": "form"}},
                "url": {"method": "elicitation/create", "params": URL},
            },
        },
    ),
    (MODERN, "tools/call", {**COMPLETE, **MODERN_TASK, "resultType": "task"}),
    (MODERN, "tasks/get", {**COMPLETE, **MODERN_TASK}),
    (MODERN, "tasks/get", {**COMPLETE, **MODERN_TASK, "status": "cancelled"}),
    (
        MODERN,
        "tasks/get",
        {
            **COMPLETE,
            **MODERN_TASK,
            "status": "completed",
            "result": {**TEXT, "isError": True, "resultType": "complete"},
        },
    ),
    (
        MODERN,
        "tasks/get",
        {**COMPLETE, **MODERN_TASK, "status": "failed", "error": {"code": 418, "message": "Teapot."}},
    ),
    (
        MODERN,
        "tasks/get",
        {**COMPLETE, **MODERN_TASK, "status": "input_required", "inputRequests": {"sure": ELICITATION}},
    ),
    (MODERN, "tasks/get", {**COMPLETE, **MODERN_TASK, "status": "input_required", "inputRequests": {}}),
    (MODERN, "tasks/update", COMPLETE),
    (MODERN, "tasks/cancel", COMPLETE),
]

# A dotted path and what to put there, or this to take away what is there.
NOTHING: Any = object()

WRONG: list[tuple[str, str, str, Any]] = [
    (LEGACY, "ping", "resultType", "complete"),
    (LEGACY, "initialize", "protocolVersion", "2024-11-05"),
    (LEGACY, "initialize", "serverInfo.version", NOTHING),
    (LEGACY, "initialize", "capabilities.extensions", {}),
    (LEGACY, "initialize", "capabilities.tasks.requests.tools.calls", {}),
    (LEGACY, "tools/list", "ttlMs", 1),
    (LEGACY, "tools/list", "tools.0.inputSchema", NOTHING),
    (LEGACY, "tools/list", "tools.0.inputSchema.type", "array"),
    (LEGACY, "tools/list", "tools.0.inputSchema.properties", {"a": {"type": "text"}}),
    (LEGACY, "tools/list", "tools.0.execution.taskSupport", "maybe"),
    (LEGACY, "tools/list", "tools.0.task_support", "optional"),
    (LEGACY, "tools/list", "nextCursor", None),
    (OLDER, "tools/list", "tools.0.execution", {"taskSupport": "optional"}),
    (LEGACY, "tools/call", "resultType", "complete"),
    (LEGACY, "tools/call", "structuredContent", [1]),
    (LEGACY, "tools/call", "isError", "no"),
    (LEGACY, "tools/call", "isError", 0),
    (LEGACY, "tools/call", "content", "hi"),
    (LEGACY, "tools/call", "content.0.type", "words"),
    (LEGACY, "tools/call", "task", LEGACY_TASK),
    (LEGACY, "tools/call task", "content", []),
    (LEGACY, "tools/call task", "resultType", "task"),
    (LEGACY, "tools/call task", "task.ttlMs", 1),
    (LEGACY, "tools/call task", "task.ttl", NOTHING),
    (LEGACY, "tools/call task", "task.result", TEXT),
    (LEGACY, "tasks/get", "resultType", "complete"),
    (LEGACY, "tasks/get", "pollIntervalMs", 1000),
    (LEGACY, "tasks/get", "ttl", 0),
    (LEGACY, "tasks/get", "ttl", 1.5),
    (LEGACY, "tasks/get", "status", "canceled"),
    (LEGACY, "tasks/get", "taskId", "other"),
    (LEGACY, "tasks/get", "statusMessage", None),
    (LEGACY, "tasks/get", "createdAt", "2026-08-01 10:00"),
    (LEGACY, "tasks/get", "createdAt", 1785578400),
    (LEGACY, "tasks/get", "lastUpdatedAt", "2026-08-01T09:59:59Z"),
    (LEGACY, "tasks/get", "_meta", RELATED),
    (LEGACY, "tasks/get", "task", LEGACY_TASK),
    (LEGACY, "tasks/result", "_meta", NOTHING),
    (LEGACY, "tasks/result", "_meta", {"io.modelcontextprotocol/related-task": {"taskId": "other"}}),
    (LEGACY, "tasks/result", "resultType", "complete"),
    (LEGACY, "tasks/result", "content", NOTHING),
    (LEGACY, "tasks/list", "tasks.1.taskId", ID),
    (LEGACY, "tasks/list", "tasks.0.ttlMs", 1),
    (LEGACY, "tasks/list", "nextCursor", None),
    (LEGACY, "tasks/list", "tasks", NOTHING),
    (LEGACY, "tasks/cancel", "status", "working"),
    (MODERN, "server/discover", "_meta", NOTHING),
    (MODERN, "server/discover", "capabilities.tasks", {}),
    (MODERN, "server/discover", f"capabilities.extensions.{TASKS_EXTENSION}", {"list": True}),
    (MODERN, "server/discover", "supportedVersions", [LEGACY]),
    (MODERN, "server/discover", "cacheScope", NOTHING),
    (MODERN, "server/discover", "serverInfo", META[SERVER_INFO]),
    (MODERN, "tools/list", "ttlMs", NOTHING),
    (MODERN, "tools/list", "cacheScope", "shared"),
    (MODERN, "tools/list", "resultType", NOTHING),
    (MODERN, "tools/list", "tools.0.execution", {"taskSupport": "optional"}),
    (MODERN, "tools/call", "resultType", "done"),
    (MODERN, "tools/call", "resultType", NOTHING),
    (MODERN, "tools/call", "content", NOTHING),
    (MODERN, "tools/call", "taskId", ID),
    (MODERN, "tools/call", "ttlMs", 1),
    (MODERN, "tasks/get", "resultType", "task"),
    (MODERN, "tasks/get", "resultType", NOTHING),
    (MODERN, "tasks/get", "_meta", NOTHING),
    (MODERN, "tasks/get", "ttl", 1),
    (MODERN, "tasks/get", "ttlMs", NOTHING),
    (MODERN, "tasks/get", "ttlMs", 0),
    (MODERN, "tasks/get", "pollIntervalMs", 0.5),
    (MODERN, "tasks/get", "pollInterval", 1),
    (MODERN, "tasks/get", "taskId", "other"),
    (MODERN, "tasks/get", "statusMessage", None),
    (MODERN, "tasks/get", "result", {**TEXT, "resultType": "complete"}),
    (MODERN, "tasks/get", "error", {"code": 1, "message": "No."}),
    (MODERN, "tasks/get", "inputRequests", {"sure": ELICITATION}),
    (MODERN, "tasks/get", "requestState", "s"),
    (MODERN, "tasks/get", "status", "completed"),
    (MODERN, "tasks/get", "status", "failed"),
    (MODERN, "tasks/get", "status", "input_required"),
    (MODERN, "tasks/update", "taskId", ID),
    (MODERN, "tasks/update", "_meta", NOTHING),
    (MODERN, "tasks/cancel", "status", "cancelled"),
    (MODERN, "tasks/cancel", "resultType", NOTHING),
]

WRONG_PAYLOADS: list[tuple[str, dict[str, Any]]] = [
    ("completed", {"result": TEXT}),
    ("completed", {"result": {"resultType": "complete"}}),
    ("completed", {"result": {**TEXT, "resultType": "complete", "_meta": RELATED}}),
    ("completed", {"result": {**TEXT, "resultType": "complete"}, "error": {"code": 1, "message": "No."}}),
    ("completed", {"result": {**TEXT, "resultType": "complete", "ttlMs": 1}}),
    ("failed", {"error": {"code": -32001, "message": "No."}}),
    ("failed", {"error": {"code": "1", "message": "No."}}),
    ("failed", {"error": {"code": 1}}),
    ("failed", {"error": {"code": 1, "message": "No."}, "result": {**TEXT, "resultType": "complete"}}),
    ("input_required", {}),
    ("input_required", {"inputRequests": [ELICITATION]}),
    ("input_required", {"inputRequests": {"sure": {**ELICITATION, "id": 1}}}),
    ("input_required", {"inputRequests": {"sure": {"method": "elicitation/create"}}}),
    ("input_required", {"inputRequests": {"sure": ELICITATION}, "requestState": "s"}),
    ("input_required", {"inputRequests": {"where": {"method": "roots/list"}}}),
    ("input_required", {"inputRequests": {"sure": {"method": "elicitation/ask", "params": {}}}}),
    ("input_required", {"inputRequests": {"sure": {"method": "elicitation/create", "params": {"message": "Sure?"}}}}),
    ("cancelled", {"result": {**TEXT, "resultType": "complete"}}),
]

WRONG_ERRORS: list[tuple[str, dict[str, Any]]] = [
    (MODERN, {"code": -32601}),
    (MODERN, {"code": "-32601", "message": "No."}),
    (MODERN, {"code": -32601, "message": ""}),
    (MODERN, {"code": -32601, "message": "No.", "details": 1}),
    (MODERN, {"code": -32002, "message": "Retired."}),
    (MODERN, {"code": -32042, "message": "Retired."}),
    (MODERN, {"code": -32000, "message": "Reserved."}),
    (MODERN, {"code": -32021, "message": "Missing."}),
    (MODERN, {"code": -32021, "message": "Missing.", "data": {"requiredCapabilities": {}}}),
    (MODERN, {"code": -32022, "message": "Unsupported.", "data": {"supported": [LEGACY], "requested": "1"}}),
    (MODERN, {"code": -32022, "message": "Unsupported.", "data": {"supported": [MODERN]}}),
    (LEGACY, {"code": -32020, "message": "Of the other era."}),
    (LEGACY, {"code": -32021, "message": "Of the other era.", "data": {"requiredCapabilities": {"sampling": {}}}}),
]


@pytest.mark.parametrize(("version", "method", "result"), RIGHT)
def test_a_right_result_passes(version: str, method: str, result: dict[str, Any]) -> None:
    request = request_of(version, method)

    check(request, answer(result), version)


@pytest.mark.parametrize(("version", "method", "path", "value"), WRONG)
def test_a_result_with_one_wrong_member_is_rejected(version: str, method: str, path: str, value: Any) -> None:
    right = next(result for v, m, result in RIGHT if (v, m) == (version, method))
    wrong = with_member(right, path, value)

    with pytest.raises(AssertionError):
        check(request_of(version, method), answer(wrong), version)


@pytest.mark.parametrize(("status", "payload"), WRONG_PAYLOADS)
def test_a_modern_task_with_the_wrong_payload_is_rejected(status: str, payload: dict[str, Any]) -> None:
    wrong = {**COMPLETE, **MODERN_TASK, "status": status, **payload}

    with pytest.raises(AssertionError):
        check(request_of(MODERN, "tasks/get"), answer(wrong), MODERN)


@pytest.mark.parametrize(
    ("version", "method"),
    [
        (LEGACY, "server/discover"),
        (LEGACY, "tasks/update"),
        (OLDER, "tasks/get"),
        (OLDER, "tasks/list"),
        (MODERN, "initialize"),
        (MODERN, "ping"),
        (MODERN, "tasks/list"),
        (MODERN, "tasks/result"),
    ],
)
def test_a_result_for_a_method_that_the_version_does_not_have_is_rejected(version: str, method: str) -> None:
    other_era = next(result for v, m, result in RIGHT if m == method and v != version)

    with pytest.raises(AssertionError):
        check(request_of(version, method), answer(other_era), version)


@pytest.mark.parametrize("method", ["tools/call", "tasks/get", "tasks/update", "tasks/cancel"])
def test_a_task_for_a_request_that_does_not_declare_the_extension_is_rejected(method: str) -> None:
    task = {**COMPLETE, **MODERN_TASK, "resultType": "task"} if method == "tools/call" else COMPLETE
    request = request_of(MODERN, method)
    request["params"]["_meta"] = {CLIENT_CAPABILITIES: {"tasks": {}}}

    with pytest.raises(AssertionError, match="does not declare"):
        check(request, answer(task), MODERN)


@pytest.mark.parametrize(
    "response",
    [
        {"jsonrpc": "2.0", "id": 1},
        {"id": 1, "result": {}},
        {"jsonrpc": "2.0", "result": {}},
        {"jsonrpc": "2.0", "id": "1", "result": {}},
        {"jsonrpc": "2.0", "id": True, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "result": []},
        {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1, "message": "No."}},
        {"jsonrpc": "2.0", "id": 1, "result": {}, "method": "ping"},
    ],
)
def test_a_wrong_envelope_is_rejected(response: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        check({"jsonrpc": "2.0", "id": 1, "method": "ping"}, response, LEGACY)


# L6
def test_an_error_to_a_response_may_leave_its_id_out_or_repeat_it() -> None:
    response = {"jsonrpc": "2.0", "id": "asked-1", "result": {"action": "decline"}}
    error = {"code": -32600, "message": "Nothing was asked under this id."}

    check(response, {"jsonrpc": "2.0", "id": None, "error": error}, LEGACY)
    check(response, {"jsonrpc": "2.0", "error": error}, LEGACY)
    check(response, {"jsonrpc": "2.0", "id": "asked-1", "error": error}, LEGACY)
    with pytest.raises(AssertionError):
        check(response, {"jsonrpc": "2.0", "id": "other", "error": error}, LEGACY)


@pytest.mark.parametrize(("version", "error"), WRONG_ERRORS)
def test_a_wrong_error_is_rejected(version: str, error: dict[str, Any]) -> None:
    response = {"jsonrpc": "2.0", "id": 1, "error": error}

    with pytest.raises(AssertionError):
        check(request_of(version, "tools/list"), response, version)


@pytest.mark.parametrize(
    "error",
    [
        {"code": -32602, "message": "Unknown tool."},
        {"code": -32020, "message": "Header and body differ."},
        {
            "code": -32021,
            "message": "Missing.",
            "data": {"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}},
        },
        {"code": -32022, "message": "Unsupported.", "data": {"supported": [MODERN, LEGACY], "requested": "1"}},
        {"code": 418, "message": "Teapot.", "data": [1]},
    ],
)
def test_a_right_error_passes(error: dict[str, Any]) -> None:
    response = {"jsonrpc": "2.0", "id": 1, "error": error}

    check(request_of(MODERN, "tools/list"), response, MODERN)


def test_a_task_that_is_null_asks_for_none() -> None:
    request = request_of(LEGACY, "tools/call task")
    request["params"]["task"] = None

    check(request, answer(TEXT), LEGACY)


def test_an_error_to_a_request_without_a_readable_id_has_none() -> None:
    error = {"code": -32600, "message": "id must be a string or an integer."}

    check({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, {"jsonrpc": "2.0", "id": None, "error": error}, LEGACY)
    check({"jsonrpc": "2.0", "method": 5}, {"jsonrpc": "2.0", "error": error}, LEGACY)


def test_the_complaint_names_the_place_and_shows_both_messages() -> None:
    wrong = with_member(next(r for v, m, r in RIGHT if (v, m) == (LEGACY, "tools/list")), "tools.0.color", "red")

    with pytest.raises(AssertionError, match=r"(?s)result\.tools\[0\] must not hold color.*asked.*answered"):
        check(request_of(LEGACY, "tools/list"), answer(wrong), LEGACY)


def with_member(result: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    # Keys with dots (they hold a slash) count as one step.
    head, _, name = path.rpartition(".") if "/" not in path else ("capabilities.extensions", "", TASKS_EXTENSION)
    changed: dict[str, Any] = deepcopy(result)
    place: Any = changed
    for step in filter(None, head.split(".")):
        place = place[int(step)] if step.isdigit() else place[step]
    if value is NOTHING:
        del place[name]
    else:
        place[name] = value
    return changed
