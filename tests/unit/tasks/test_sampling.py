"""What a workflow may ask the client's model, and what it gets: only what the types of every client have."""

from contextlib import suppress
from typing import Any, Final

import pytest
from hypothesis import given

from stepwire.json_text import Json, JsonObject, parse, write
from stepwire.tasks.answers import InputResponse
from stepwire.tasks.inputs import (
    LARGEST_CONTENT,
    LARGEST_QUESTION,
    InvalidQuestion,
    InvalidResponse,
    Mode,
    Roots,
    Sampling,
    asked_of,
    method_of,
    mode_of,
    modes_of,
    params_of,
    response_of,
)
from stepwire.tasks.question_schemas import MOST_MESSAGES, MOST_TOKENS
from tests.kits import FORM, SAMPLING
from tests.strategies import json_values

TEXT: Final[JsonObject] = {"type": "text", "text": "Hello"}
IMAGE: Final[JsonObject] = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
AUDIO: Final[JsonObject] = {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}
TOOL_USE: Final[JsonObject] = {"type": "tool_use", "id": "1", "name": "x", "input": {}}
MESSAGE: Final[JsonObject] = SAMPLING["messages"][0]
RESULT: Final[JsonObject] = {"role": "assistant", "model": "a model", "content": TEXT}


def saying(content: Json, role: Json = "user") -> JsonObject:
    """Ask with one message of this content."""
    return {**SAMPLING, "messages": [{"role": role, "content": content}]}


# ------------------------------------------------------------------------------------------------------ what is asked


@pytest.mark.parametrize(
    "params",
    [
        SAMPLING,
        saying(IMAGE),
        saying(AUDIO),
        saying(TEXT, "assistant"),
        {**SAMPLING, "messages": [MESSAGE] * MOST_MESSAGES},
        {**SAMPLING, "maxTokens": MOST_TOKENS},
        {**SAMPLING, "systemPrompt": "Be brief.", "temperature": 0.5, "stopSequences": ["."], "includeContext": "none"},
        {**SAMPLING, "modelPreferences": {"hints": [{"name": "small"}], "costPriority": 1, "speedPriority": 0.5}},
    ],
)
def test_a_request_for_sampling_is_sent_unchanged(params: JsonObject) -> None:
    asked = asked_of({"sampling": params})

    assert (mode_of(asked), method_of(asked)) == (Mode.SAMPLING, "sampling/createMessage")
    assert params_of(asked) == params


def test_the_number_of_tokens_is_written_as_an_integer() -> None:
    asked = asked_of({"sampling": {**SAMPLING, "maxTokens": 100.0}})

    assert write(params_of(asked)) == write(SAMPLING)


def test_roots_are_asked_for_without_params() -> None:
    asked = asked_of({"roots": {}})

    assert (asked, mode_of(asked), method_of(asked), params_of(asked)) == (Roots(), Mode.ROOTS, "roots/list", {})


@pytest.mark.parametrize(
    ("params", "place"),
    [
        ("Hello", "at the top level"),
        ({}, "at the top level"),
        ({"messages": [MESSAGE]}, "maxTokens"),
        ({**SAMPLING, "maxTokens": 0}, "at /maxTokens"),
        ({**SAMPLING, "maxTokens": MOST_TOKENS + 1}, "at /maxTokens"),
        ({**SAMPLING, "maxTokens": 1.5}, "at /maxTokens"),
        ({**SAMPLING, "maxTokens": "100"}, "at /maxTokens"),
        ({**SAMPLING, "messages": []}, "at /messages"),
        ({**SAMPLING, "messages": [MESSAGE] * (MOST_MESSAGES + 1)}, "at /messages"),
        (saying(TEXT, "system"), "at /messages/0/role"),
        (saying("Hello"), "at /messages/0/content"),
        (saying([TEXT]), "at /messages/0/content"),
        (saying(TOOL_USE), "at /messages/0/content"),
        (saying({**TEXT, "annotations": {}}), "at /messages/0/content"),
        (saying({**IMAGE, "data": "no base64"}), "at /messages/0/content"),
        (saying({**IMAGE, "mimeType": "text/html"}), "at /messages/0/content"),
        ({**SAMPLING, "includeContext": "thisServer"}, "at /includeContext"),
        ({**SAMPLING, "tools": []}, "at the top level"),
        ({**SAMPLING, "toolChoice": {"mode": "auto"}}, "at the top level"),
        ({**SAMPLING, "task": {}}, "at the top level"),
        ({**SAMPLING, "_meta": {}}, "at the top level"),
        ({**SAMPLING, "temperature": -1}, "at /temperature"),
        ({**SAMPLING, "modelPreferences": {"costPriority": 2}}, "at /modelPreferences/costPriority"),
        *(
            ({**SAMPLING, "messages": [{"role": "user", "content": block}]}, "at /messages/0/content")
            for block in (
                {**IMAGE, "mimeType": 5},
                {**IMAGE, "mimeType": f"image/{'x' * 95}"},
                {**IMAGE, "type": "audio"},
                {**AUDIO, "type": "image"},
            )
        ),
        ({**SAMPLING, "systemPrompt": "\ud800"}, "lone surrogate"),
        ({**SAMPLING, "systemPrompt": "x" * LARGEST_QUESTION}, "larger than"),
    ],
)
def test_what_some_client_might_refuse_is_not_sent(params: Json, place: str) -> None:
    with pytest.raises(InvalidQuestion) as refused:
        asked_of({"sampling": params})

    assert place in str(refused.value)


def test_the_type_of_a_picture_may_have_a_hundred_characters() -> None:
    params = {**SAMPLING, "messages": [{"role": "user", "content": {**IMAGE, "mimeType": f"image/{'x' * 94}"}}]}

    assert params_of(asked_of({"sampling": params})) == params


@pytest.mark.parametrize("roots", [[], "all", {"_meta": {}}, True, 0])
def test_roots_take_no_params(roots: Json) -> None:
    with pytest.raises(InvalidQuestion, match="roots must be an empty object"):
        asked_of({"roots": roots})


@pytest.mark.parametrize(
    "given", [{}, {"elicitation": FORM, "sampling": SAMPLING}, {"sampling": SAMPLING, "roots": {}}]
)
def test_a_state_asks_one_thing(given: JsonObject) -> None:
    with pytest.raises(InvalidQuestion, match="exactly one of"):
        asked_of(given)


@given(json_values)
def test_any_value_is_sent_as_it_is_or_refused(value: Json) -> None:
    with suppress(InvalidQuestion):
        assert params_of(asked_of({"sampling": value})) == value


# --------------------------------------------------------------------------------------------------- what is answered


@pytest.mark.parametrize(
    ("result", "seen"),
    [
        (RESULT, RESULT),
        ({**RESULT, "content": [TEXT, IMAGE, AUDIO]}, {**RESULT, "content": [TEXT, IMAGE, AUDIO]}),
        ({**RESULT, "stopReason": "endTurn"}, {**RESULT, "stopReason": "endTurn"}),
        ({**RESULT, "stopReason": None, "_meta": {"a": 1}, "resultType": "complete"}, RESULT),
        ({**RESULT, "content": {**TEXT, "annotations": {}}}, {**RESULT, "content": {**TEXT, "annotations": {}}}),
    ],
)
def test_a_workflow_gets_the_result_as_mcp_writes_it(result: JsonObject, seen: JsonObject) -> None:
    response = response_of(Sampling(write(SAMPLING)), result)

    assert response.action is None
    assert parse(response.content or "") == seen


def test_a_result_is_measured_in_bytes() -> None:
    room = LARGEST_CONTENT - len(write({**RESULT, "content": {**TEXT, "text": ""}}))

    def answered(length: int) -> InputResponse:
        return response_of(Sampling(write(SAMPLING)), {**RESULT, "content": {**TEXT, "text": "x" * length}})

    assert len(answered(room).content or "") == LARGEST_CONTENT
    with pytest.raises(InvalidResponse, match="larger than"):
        answered(room + 1)


def test_a_refusal_names_at_most_three_faults() -> None:
    result = {"role": "user", "model": 1, "content": 2, "stopReason": 3}

    with pytest.raises(InvalidResponse) as refused:
        response_of(Sampling(write(SAMPLING)), result)

    assert str(refused.value) == (
        'at /role: "assistant" was expected; at /model: 1 is not of type "string"; '
        "at /content: 2 is not valid under any of the schemas listed in the 'anyOf' keyword"
    )


@given(json_values)
def test_no_other_value_reaches_a_workflow(value: Json) -> None:
    for asked in (Sampling(write(SAMPLING)), Roots()):
        with pytest.raises(InvalidResponse):
            response_of(asked, value)


# ------------------------------------------------------------------------------------------------------- who is asked


@pytest.mark.parametrize(
    ("capabilities", "modes"),
    [
        ({}, set[Mode]()),
        ({"sampling": {}}, {Mode.SAMPLING}),
        ({"sampling": {"tools": {}}, "roots": {"listChanged": True}}, {Mode.SAMPLING, Mode.ROOTS}),
        ({"elicitation": {"sampling": {}, "roots": {}}}, set[Mode]()),
        ({"elicitation": {}, "roots": {}}, {Mode.FORM, Mode.ROOTS}),
        ({"sampling": True, "roots": None}, set[Mode]()),
    ],
)
def test_a_client_is_asked_what_it_declares(capabilities: Any, modes: set[Mode]) -> None:
    assert modes_of(capabilities) == modes
