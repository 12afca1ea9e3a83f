"""What answers say of tasks, read from the wire of either era."""

import json
from datetime import datetime, timedelta
from typing import Final

from tests.model.reference import OPEN, Told
from tests.server.answers import Answer, Json
from tests.server.messages import questions

NOT_FOUND: Final = "Task not found"
CONFIRMATION: Final = "Really do "
_NOT_STARTED: Final = "could not be started"
_CANCELLED: Final = "was cancelled, so it has no result"


def error_of(answer: Answer) -> Json:
    """Give the error of an answer; an empty one where it is none."""
    is_short = answer.status == 202 or (answer.is_stream and not answer.is_answered)
    return {} if is_short else answer.body.get("error", {})


def says_nothing(answer: Answer) -> bool:
    """Tell whether an answer is a retryable error, after which anything may have happened."""
    error = error_of(answer)
    return error.get("code") == -32603 and _NOT_STARTED not in error["message"]


def is_missing(answer: Answer) -> bool:
    """Tell whether an answer says that there is no such task."""
    return error_of(answer).get("message", "").startswith(NOT_FOUND)


def modern_task(value: Json) -> Told:
    """Read a task of 2026-07-28, without its questions and its result."""
    return Told(value["taskId"], _kinds(value["status"], {"error", "output"}, {"protocol"}), expires_at=_expiry(value))


def modern_details(value: Json) -> Told:
    """Read what `tasks/get` of 2026-07-28 says."""
    task_id, expires_at = value["taskId"], _expiry(value)
    match value["status"]:
        case "completed":
            kinds = frozenset({"error" if value["result"]["isError"] else "output"})
            return Told(task_id, kinds, json.dumps(value["result"]), expires_at=expires_at)
        case "failed":
            return Told(task_id, frozenset({"protocol"}), json.dumps(value["error"]), expires_at=expires_at)
        case status:
            requests = value.get("inputRequests", {})
            asked = {key: request["params"]["message"] for key, request in requests.items()}
            return Told(task_id, _kinds(status, set(), set()), questions=_of_states(asked), expires_at=expires_at)


def legacy_task(value: Json) -> Told:
    """Read a task of 2025-11-25."""
    kinds = _kinds(value["status"], {"output"}, {"error", "protocol"})
    return Told(value["taskId"], kinds, expires_at=_expiry(value))


def legacy_result(answer: Answer, task_id: str) -> Told:
    """Read what `tasks/result` says: an end, or what is asked meanwhile."""
    if answer.is_stream and not answer.is_answered:
        asked = {str(one["id"]): one["params"]["message"] for one in questions(answer.messages)}
        return Told(task_id, OPEN, questions=_of_states(asked))
    if "error" in answer.body:
        return Told(task_id, frozenset({"protocol"}), json.dumps(answer.error))
    text = json.dumps(answer.result)
    if not answer.result["isError"]:
        return Told(task_id, frozenset({"output"}), text)
    return Told(task_id, frozenset({"cancelled" if _CANCELLED in text else "error"}), text)


def _kinds(status: str, completed: set[str], failed: set[str]) -> frozenset[str]:
    kinds = {"completed": completed, "failed": failed, "cancelled": {"cancelled"}}
    return frozenset(kinds.get(status, OPEN))


def _expiry(value: Json) -> datetime:
    ttl = value["ttlMs"] if "ttlMs" in value else value["ttl"]
    return datetime.fromisoformat(value["createdAt"]) + timedelta(milliseconds=ttl)


def _of_states(asked: dict[str, str]) -> dict[str, str]:
    """Choose what workflows ask, without what was wrong with an earlier answer."""
    return {key: message.partition("?")[0] for key, message in asked.items() if not message.startswith(CONFIRMATION)}
