"""The oracle lets right responses pass and rejects wrong ones: one line for each way to be wrong that we thought of."""

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
TOOL: dict[str, Any] = {"name": "echo", "description": "Echoes.", "inputSchema": {"type": "object"}}
TEXT: dict[str, Any] = {"content": [{"type": "text", "text": "hi"}]}
COMPLETE: dict[str, Any] = {"resultType": "complete", "_meta": META}
CACHED: dict[str, Any] = {**COMPLETE, "ttlMs": 0, "cacheScope": "private"}
FORM: dict[str, Any] = {
    "message": "Sure?",
    "requestedSchema": {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]},
}
URL: dict[str, Any] = {"mode": "url", "message": "Sign in.", "url": "https://example.com/sign-in?a=b"}
ELICITATION: dict[str, Any] = {"method": "elicitation/create", "params": FORM}
CAPABILITIES: dict[str, Any] = {"extensions": {TASKS_EXTENSION: {}}, "elicitation": {"form": {}, "url": {}}}

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


WRONG_INPUT_REQUIRED: list[dict[str, Any]] = [
    {},
    {"inputRequests": {}},
    {"inputRequests": None, "requestState": "s"},
    {"requestState": ""},
    {"requestState": {"a": 1}},
    {"requestState": "s", "taskId": ID},
    {"requestState": "s", "ttlMs": 0},
    {"requestState": "s", "cacheScope": "private"},
    {"requestState": "s", "content": []},
    {"inputRequests": {"sure": {**ELICITATION, "jsonrpc": "2.0"}}},
    {"inputRequests": {"sure": {"method": "tools/call", "params": {}}}},
]


@pytest.mark.parametrize("payload", WRONG_INPUT_REQUIRED)
def test_a_wrong_question_before_there_is_a_task_is_rejected(payload: dict[str, Any]) -> None:
    wrong = {"resultType": "input_required", "_meta": META, **payload}

    with pytest.raises(AssertionError):
        check(request_of(MODERN, "tools/call"), answer(wrong), MODERN)


# M43
@pytest.mark.parametrize(
    "method", ["server/discover", "tools/list", "tasks/get", "tasks/update", "tasks/cancel", "ping", "tasks/result"]
)
def test_only_a_call_of_a_tool_may_be_answered_with_a_question(method: str) -> None:
    question = {"resultType": "input_required", "_meta": META, "inputRequests": {"sure": ELICITATION}}

    with pytest.raises(AssertionError):
        check(request_of(MODERN, method), answer(question), MODERN)


def test_a_legacy_call_is_not_answered_with_a_question() -> None:
    with pytest.raises(AssertionError):
        check(request_of(LEGACY, "tools/call"), answer({"resultType": "input_required", "requestState": "s"}), LEGACY)


# M44, M48
@pytest.mark.parametrize("method", ["tools/call", "tasks/get"])
@pytest.mark.parametrize(
    ("declared", "params", "right"),
    [
        ({"elicitation": {}}, FORM, True),
        ({"elicitation": {"form": {}}}, FORM, True),
        ({"elicitation": {"url": {}}}, URL, True),
        ({}, FORM, False),
        ({"elicitation": {}}, URL, False),
        ({"elicitation": {"form": {}}}, URL, False),
        ({"elicitation": {"url": {}}}, FORM, False),
    ],
)
def test_a_client_is_asked_only_in_the_ways_that_it_declares(
    method: str, declared: dict[str, Any], params: dict[str, Any], right: bool
) -> None:
    request = request_of(MODERN, method)
    request["params"]["_meta"] = {CLIENT_CAPABILITIES: {"extensions": {TASKS_EXTENSION: {}}, **declared}}
    asked = {"inputRequests": {"a": {"method": "elicitation/create", "params": params}}, "_meta": META}
    task = {**MODERN_TASK, "status": "input_required", "resultType": "complete"}
    response = answer({**({"resultType": "input_required"} if method == "tools/call" else task), **asked})

    if right:
        check(request, response, MODERN)
        return
    with pytest.raises(AssertionError, match="does not declare"):
        check(request, response, MODERN)


RIGHT_FIELDS: list[dict[str, Any]] = [
    {"type": "string", "title": "Name", "description": "Yours.", "minLength": 1, "maxLength": 9, "default": "a"},
    {"type": "string", "format": "date-time"},
    {"type": "number", "minimum": 0.5, "maximum": 2, "default": 1},
    {"type": "integer"},
    {"type": "boolean", "default": False},
    {"type": "string", "enum": ["a", "b"], "default": "a"},
    {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
    {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
    {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1, "maxItems": 2, "default": ["a"]},
    {"type": "array", "title": "Some", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
]

WRONG_FIELDS: list[Any] = [
    {},
    True,
    {"type": "object", "properties": {}},
    {"type": "null"},
    {"type": ["string", "integer"]},
    {"type": "string", "format": "password"},
    {"type": "string", "pattern": "a*"},
    {"type": "string", "minimum": 1},
    {"type": "string", "default": 1},
    {"type": "string", "const": "a"},
    {"type": "string", "enum": ["a"], "minLength": 1},
    {"type": "string", "enum": ["a"], "oneOf": [{"const": "a", "title": "A"}]},
    {"type": "string", "enum": [1]},
    {"type": "string", "enum": []},
    {"enum": ["a"]},
    {"type": "string", "oneOf": [{"const": "a"}]},
    {"type": "integer", "multipleOf": 2},
    {"type": "boolean", "default": "yes"},
    {"type": "array", "items": {"type": "string"}},
    {"type": "array", "items": {"type": "integer", "enum": [1]}},
    {"type": "array"},
    {"$ref": "#/a"},
]


@pytest.mark.parametrize("field", RIGHT_FIELDS)
def test_a_form_may_have_the_fields_that_the_specification_lists(field: dict[str, Any]) -> None:
    check(request_of(MODERN, "tools/call"), answer(question_of(field)), MODERN)


@pytest.mark.parametrize("field", WRONG_FIELDS)
def test_a_form_with_any_other_field_is_rejected(field: Any) -> None:
    with pytest.raises(AssertionError):
        check(request_of(MODERN, "tools/call"), answer(question_of(field)), MODERN)


WRONG_PARAMS: list[dict[str, Any]] = [
    {**FORM, "mode": "dialog"},
    {**FORM, "message": ""},
    {**FORM, "message": None},
    {**FORM, "url": "https://example.com/"},
    {**FORM, "task": {}},
    {"message": "Sure?"},
    {"requestedSchema": FORM["requestedSchema"]},
    {**FORM, "requestedSchema": {"type": "array", "properties": {}}},
    {**FORM, "requestedSchema": {"type": "object"}},
    {**FORM, "requestedSchema": {"type": "object", "properties": {}, "required": ["sure"]}},
    {**FORM, "requestedSchema": {**FORM["requestedSchema"], "additionalProperties": False}},
    {**FORM, "requestedSchema": {**FORM["requestedSchema"], "title": "A form"}},
    {**URL, "url": "/sign-in"},
    {**URL, "url": "http://example.com/"},
    {**URL, "url": "https://example.com/a b"},
    {**URL, "requestedSchema": FORM["requestedSchema"]},
    {"mode": "url", "message": "Sign in."},
]


@pytest.mark.parametrize(
    "params",
    # M49: an id of the URL, and metadata of the request, are of the legacy era
    [*WRONG_PARAMS, {**URL, "elicitationId": "e"}, {**FORM, "_meta": {}}],
)
def test_a_wrong_modern_elicitation_is_rejected(params: dict[str, Any]) -> None:
    asked = {"sure": {"method": "elicitation/create", "params": params}}
    wrong = {"resultType": "input_required", "_meta": META, "inputRequests": asked}

    with pytest.raises(AssertionError):
        check(request_of(MODERN, "tools/call"), answer(wrong), MODERN)


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


def request_of(version: str, method: str) -> dict[str, Any]:
    name, _, as_task = method.partition(" ")
    params: dict[str, Any] = {"taskId": ID} if name.startswith("tasks/") and name != "tasks/list" else {}
    if as_task:
        params["task"] = {}
    if version == MODERN:
        params["_meta"] = {CLIENT_CAPABILITIES: CAPABILITIES}
    return {"jsonrpc": "2.0", "id": 1, "method": name, "params": params}


def question_of(field: Any) -> dict[str, Any]:
    form = {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {"a": field}}}
    asked = {"a": {"method": "elicitation/create", "params": form}}
    return {"resultType": "input_required", "_meta": META, "inputRequests": asked}


def answer(result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "result": result}


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


# -------------------------------------------------------------------------------------------------------- legacy bodies

CALL: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "tools/call",
    "params": {"name": "echo", "arguments": {}, "_meta": {"progressToken": 1}},
}
WAIT: dict[str, Any] = {"jsonrpc": "2.0", "id": "w", "method": "tasks/result", "params": {"taskId": ID}}
STATUS: dict[str, Any] = {"jsonrpc": "2.0", "method": "notifications/tasks/status", "params": LEGACY_TASK}
ERROR: dict[str, Any] = {"code": -32602, "message": "There is no such task."}


def progress(value: Any, token: Any = 1, **more: Any) -> dict[str, Any]:
    params = {"progressToken": token, "progress": value, **more}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def asked(message_id: Any = "q1", params: dict[str, Any] = FORM, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message_id, "method": "elicitation/create", "params": {**params, **more}}


def told(request: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request["id"], "result": result}


def refused(request: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request["id"], "error": ERROR}


def legacy_body(*messages: Any, first: int = 0, retry: int = 1000) -> str:
    events = [f"id: e{first}\ndata:\n\n"]
    events += [f"id: e{n}\ndata: {json.dumps(message)}\n\n" for n, message in enumerate(messages, first + 1)]
    return f"retry: {retry}\n\n" + "".join(events)


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
