"""The answers of users: what a question asks for reaches the workflow, and nothing else does."""

from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwire.json_text import Json, JsonObject, parse, write
from stepwire.tasks.answers import Action, Given, InputResponse
from stepwire.tasks.inputs import (
    LARGEST_CONTENT,
    FormElicitation,
    InvalidResponse,
    UndeliveredAnswer,
    UrlElicitation,
    response_of,
)
from tests.strategies import json_objects, json_values

TITLED: Final = [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]
PAGE: Final = UrlElicitation("Please sign.", "https://sign.example/contract")


def form(properties: JsonObject, *required: str) -> FormElicitation:
    return FormElicitation("Why?", write({"type": "object", "properties": properties, "required": list(required)}))


REFUND: Final = form({"amount": {"type": "number", "minimum": 1, "maximum": 100}, "note": {"type": "string"}}, "amount")


def accepted(content: Json, elicitation: FormElicitation = REFUND) -> Json:
    """Return what a workflow gets of an accepted form."""
    response = response_of(elicitation, {"action": "accept", "content": content})
    assert response.action is Action.ACCEPT
    return parse(response.content or "null")


def refusal(value: Json, elicitation: FormElicitation | UrlElicitation = REFUND) -> str:
    """Return the message with which an answer is refused."""
    with pytest.raises(InvalidResponse) as refused:
        response_of(elicitation, value)
    return str(refused.value)


# ------------------------------------------------------------------------------------------------------------- actions


def test_an_accepted_form_contains_its_fields() -> None:
    assert accepted({"amount": 25, "note": "grüße"}) == {"amount": 25, "note": "grüße"}


@pytest.mark.parametrize("action", [Action.DECLINE, Action.CANCEL])
@pytest.mark.parametrize("content", [None, {}, {"amount": "wrong"}, "nonsense"])
def test_a_declined_or_cancelled_form_has_no_content_and_is_valid(action: Action, content: Json) -> None:
    response = response_of(REFUND, {"action": action.value, "content": content})

    assert response == InputResponse(action)


@pytest.mark.parametrize("action", Action)
def test_an_answer_to_a_url_question_contains_only_the_action(action: Action) -> None:
    """M49: the client does not see what happens on the page."""
    response = response_of(PAGE, {"action": action.value, "content": {"password": "secret"}})

    assert response == InputResponse(action)


@pytest.mark.parametrize(
    "value",
    [None, "accept", [], {}, {"action": None}, {"action": "ACCEPT"}, {"action": "yes"}, {"action": ["accept"]}],
)
@pytest.mark.parametrize("elicitation", [REFUND, PAGE], ids=["form", "page"])
def test_an_answer_contains_the_users_action(value: Json, elicitation: FormElicitation | UrlElicitation) -> None:
    assert refusal(value, elicitation) == 'it must have an "action": "accept", "decline" or "cancel"'


@pytest.mark.parametrize(
    ("response", "text"),
    [
        (InputResponse(Action.ACCEPT, '{"amount":25}'), '{"action":"accept","content":{"amount":25}}'),
        (InputResponse(Action.ACCEPT), '{"action":"accept"}'),
        (InputResponse(Action.DECLINE), '{"action":"decline"}'),
        (InputResponse(Action.CANCEL), '{"action":"cancel"}'),
    ],
)
def test_a_workflow_receives_an_answer_in_the_format_of_mcp(response: InputResponse, text: str) -> None:
    given = Given("a" * 32, datetime(2026, 8, 1, tzinfo=UTC), response)

    assert UndeliveredAnswer("a token", (given,)).text() == text


# ------------------------------------------------------------------------------------------------------------- content


def test_a_field_outside_the_schema_is_left_out() -> None:
    assert accepted({"amount": 25, "admin": True, "amount ": 1}) == {"amount": 25}


@given(json_objects)
def test_no_field_outside_the_schema_ever_reaches_a_workflow(content: JsonObject) -> None:
    assert accepted({"_meta": {}, **content, "amount": 25}).keys() <= {"amount", "note"}


def test_an_optional_field_may_be_missing() -> None:
    assert accepted({"amount": 25}) == {"amount": 25}


@pytest.mark.parametrize("content", [{}, None])
def test_a_form_without_required_fields_may_be_empty(content: Json) -> None:
    assert accepted(content, form({"note": {"type": "string"}})) == {}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, 'at content: "amount" is a required property'),
        (None, 'at content: "amount" is a required property'),
        ({"amount": "25"}, 'at content/amount: "25" is not of type "number"'),
        ({"amount": 0.5}, "at content/amount: 0.5 is less than the minimum of 1"),
        ({"amount": 101}, "at content/amount: 101 is greater than the maximum of 100"),
        ({"amount": None}, 'at content/amount: null is not of type "number"'),
        ({"amount": 25, "note": 7}, 'at content/note: 7 is not of type "string"'),
        ([25], 'at content: it must be an object with the fields of "requestedSchema"'),
        ("25", 'at content: it must be an object with the fields of "requestedSchema"'),
        (True, 'at content: it must be an object with the fields of "requestedSchema"'),
    ],
)
def test_a_wrong_answer_is_refused_with_what_was_expected(content: Json, words: str) -> None:
    """T29: so that the user can correct it."""
    assert refusal({"action": "accept", "content": content}) == words


def test_all_violations_are_reported_together() -> None:
    words = refusal({"action": "accept", "content": {"amount": "25", "note": 7}})

    assert "at content/amount: " in words
    assert "; at content/note: " in words


@pytest.mark.parametrize(
    ("field", "right", "wrong"),
    [
        ({"type": "string", "minLength": 2, "maxLength": 3}, "ab", "a"),
        ({"type": "string", "format": "email"}, "a@b.example", "nobody"),
        ({"type": "string", "format": "uri"}, "https://a.example", "a b"),
        ({"type": "string", "format": "date"}, "2026-08-01", "1.8.2026"),
        ({"type": "string", "format": "date-time"}, "2026-08-01T12:00:00Z", "noon"),
        ({"type": "integer"}, 2, 2.5),
        ({"type": "boolean"}, False, "false"),
        ({"type": "string", "enum": ["a", "b"]}, "a", "c"),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}, "b", "B"),
        ({"type": "string", "oneOf": TITLED}, "a", "A"),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "maxItems": 1}, ["a"], ["a", "b"]),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, [], ["c"]),
        ({"type": "array", "items": {"anyOf": TITLED}, "minItems": 1}, ["b", "a"], []),
    ],
    ids=write,
)
def test_every_kind_of_field_is_validated(field: JsonObject, right: Json, wrong: Json) -> None:
    elicitation = form({"a": field}, "a")

    assert accepted({"a": right}, elicitation) == {"a": right}
    assert "at content/a" in refusal({"action": "accept", "content": {"a": wrong}}, elicitation)


def test_an_answer_that_is_too_large_is_refused() -> None:
    content = {"amount": 25, "note": "x" * LARGEST_CONTENT}

    words = refusal({"action": "accept", "content": content})

    assert words == f"at content: it is larger than {LARGEST_CONTENT} bytes of JSON"


def test_an_answer_is_measured_in_bytes_without_unknown_fields() -> None:
    room = LARGEST_CONTENT - len('{"amount":25,"note":""}')
    just_right = {"amount": 25, "note": "ü" * (room // 2), "unknown": "x" * LARGEST_CONTENT}

    assert accepted(just_right).keys() == {"amount", "note"}
    assert refusal({"action": "accept", "content": {**just_right, "note": "ü" * (room // 2 + 1)}})


def test_a_field_may_have_any_name() -> None:
    names = ["", "a/b", "m~n", "__proto__", "constructor", "grüße", "action", "required"]
    elicitation = form({name: {"type": "integer"} for name in names}, *names)

    assert accepted(dict.fromkeys(names, 1), elicitation) == dict.fromkeys(names, 1)


@given(json_values | st.fixed_dictionaries({"action": st.just("accept"), "content": json_values}))
def test_any_answer_conforms_to_its_question_or_is_refused(value: Json) -> None:
    response: InputResponse | None = None
    with suppress(InvalidResponse):
        response = response_of(REFUND, value)

    assert response is None or response.action is Action(value["action"])
