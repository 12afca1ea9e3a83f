"""The oracle accepts right questions to a client, and rejects wrong ones: one row for each way to be wrong."""

from typing import Any

import pytest

from tests.wire_oracle import (
    CLIENT_CAPABILITIES,
    LEGACY,
    MODERN,
    TASKS_EXTENSION,
    check,
)
from tests.wire_oracle_samples import ELICITATION, FORM, ID, META, MODERN_TASK, URL, WRONG_PARAMS, answer, request_of

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


def question_of(field: Any) -> dict[str, Any]:
    form = {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {"a": field}}}
    asked = {"a": {"method": "elicitation/create", "params": form}}
    return {"resultType": "input_required", "_meta": META, "inputRequests": asked}
