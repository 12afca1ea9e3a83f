"""Right messages of both eras, from which the tests of the oracle make wrong ones."""

import json
from typing import Any

from tests.wire_oracle import (
    CLIENT_CAPABILITIES,
    MODERN,
    RELATED_TASK,
    SERVER_INFO,
    TASKS_EXTENSION,
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
FORM: dict[str, Any] = {
    "message": "Sure?",
    "requestedSchema": {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]},
}
URL: dict[str, Any] = {"mode": "url", "message": "Sign in.", "url": "https://example.com/sign-in?a=b"}
ELICITATION: dict[str, Any] = {"method": "elicitation/create", "params": FORM}
CAPABILITIES: dict[str, Any] = {"extensions": {TASKS_EXTENSION: {}}, "elicitation": {"form": {}, "url": {}}}


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


def request_of(version: str, method: str) -> dict[str, Any]:
    name, _, as_task = method.partition(" ")
    params: dict[str, Any] = {"taskId": ID} if name.startswith("tasks/") and name != "tasks/list" else {}
    if as_task:
        params["task"] = {}
    if version == MODERN:
        params["_meta"] = {CLIENT_CAPABILITIES: CAPABILITIES}
    return {"jsonrpc": "2.0", "id": 1, "method": name, "params": params}


def answer(result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "result": result}


# -------------------------------------------------------------------------------------------------------- legacy bodies

CALL: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "tools/call",
    "params": {"name": "echo", "arguments": {}, "_meta": {"progressToken": 1}},
}
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
