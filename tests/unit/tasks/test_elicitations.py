"""The elicitations of a workflow: those that every client can show are sent unchanged, and all others are refused."""

from collections.abc import Set
from contextlib import suppress
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwire.json_text import Json, JsonObject, write
from stepwire.tasks.inputs import (
    LARGEST_QUESTION,
    FormElicitation,
    InvalidQuestion,
    Mode,
    UrlElicitation,
    elicitation_of,
    mode_of,
    modes_of,
    params_of,
)
from stepwire.tasks.question_schemas import LONGEST_QUESTION, LONGEST_URL
from tests.strategies import json_values

PAGE: Final = "https://sign.example/contract"
TITLED: Final = [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]

# Each type of field in the schemas of both eras, with all its members.
FIELDS: Final[dict[str, JsonObject]] = {
    "text": {"type": "string"},
    "described text": {"type": "string", "title": "T", "description": "D", "default": "d"},
    "bounded text": {"type": "string", "minLength": 0, "maxLength": 10},
    "email": {"type": "string", "format": "email", "default": "a@b.example"},
    "uri": {"type": "string", "format": "uri"},
    "date": {"type": "string", "format": "date"},
    "date-time": {"type": "string", "format": "date-time"},
    "number": {"type": "number", "minimum": -1.5, "maximum": 1.5, "default": 0.5, "title": "T", "description": "D"},
    "integer": {"type": "integer", "minimum": -1, "maximum": 1, "default": 0},
    "boolean": {"type": "boolean", "default": True, "title": "T", "description": "D"},
    "choice": {"type": "string", "enum": ["a", "b"], "default": "a", "title": "T", "description": "D"},
    "choice with names": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"], "default": "b"},
    "titled choice": {"type": "string", "oneOf": TITLED, "default": "a", "title": "T", "description": "D"},
    "choices": {
        "type": "array",
        "items": {"type": "string", "enum": ["a", "b"]},
        "minItems": 0,
        "maxItems": 2,
        "default": ["a"],
        "title": "T",
        "description": "D",
    },
    "titled choices": {"type": "array", "items": {"anyOf": TITLED}, "default": [], "minItems": 1},
}


def form(field: Json = None, **more: Any) -> JsonObject:
    """Return an elicitation with one field."""
    properties = {} if field is None else {"a": field}
    return {"message": "Why?", "requestedSchema": {"type": "object", "properties": properties, **more}}


def refusal(value: Json) -> str:
    """Return the message with which an elicitation is refused."""
    with pytest.raises(InvalidQuestion) as refused:
        elicitation_of(value)
    return str(refused.value)


# ------------------------------------------------------------------------------------------------------ what is asked


@pytest.mark.parametrize("kind", FIELDS)
def test_a_field_of_both_eras_is_accepted_unchanged(kind: str) -> None:
    """M47."""
    params = form(FIELDS[kind], required=["a"])

    elicitation = elicitation_of(params)

    assert elicitation == FormElicitation("Why?", write(params["requestedSchema"]))
    assert params_of(elicitation) == {"mode": "form", **params}
    assert mode_of(elicitation) is Mode.FORM


def test_several_fields_keep_their_order() -> None:
    params = {"message": "Why?", "requestedSchema": {"type": "object", "properties": FIELDS}}

    shown = params_of(elicitation_of(params))["requestedSchema"]["properties"]

    assert list(shown.items()) == list(FIELDS.items())


@pytest.mark.parametrize(
    "params",
    [
        form(),
        {"mode": "form", **form()},
        form(required=[]),
        form(**{"$schema": "https://json-schema.org/draft/2020-12/schema"}),
    ],
    ids=["no field", "mode", "nothing required", "dialect"],
)
def test_a_form_needs_only_a_message_and_a_schema(params: JsonObject) -> None:
    assert params_of(elicitation_of(params)) == {"mode": "form", **params}


def test_a_url_question_is_accepted_unchanged() -> None:
    """M49."""
    params = {"mode": "url", "message": "Please sign.", "url": PAGE}

    elicitation = elicitation_of(params)

    assert elicitation == UrlElicitation("Please sign.", PAGE)
    assert params_of(elicitation) == params
    assert mode_of(elicitation) is Mode.URL


@pytest.mark.parametrize(
    "url",
    [
        "https://sign.example",
        "https://sign.example:8443/a?b=c#d",
        "HTTPS://sign.example/",
        "https://[2001:db8::1]/",
        "http://localhost:3000/sign",
        "http://127.0.0.1/sign",
    ],
)
def test_a_url_uses_https_or_points_to_localhost(url: str) -> None:
    """M49."""
    assert elicitation_of({"mode": "url", "message": "m", "url": url}) == UrlElicitation("m", url)


# ---------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "field",
    [
        {},
        {"type": "object"},
        {"type": "object", "properties": {"b": {"type": "string"}}},
        {"type": "null"},
        {"type": ["string", "null"]},
        {"type": "string", "pattern": "^a"},
        {"type": "string", "format": "uuid"},
        {"type": "string", "default": 1},
        {"type": "string", "minLength": -1},
        {"type": "string", "const": "a"},
        {"type": "string", "enum": []},
        {"type": "string", "enum": ["a", 1]},
        {"enum": ["a"]},
        {"type": "string", "enumNames": ["A"]},
        {"type": "string", "enum": ["a"], "oneOf": TITLED},
        {"type": "string", "oneOf": []},
        {"type": "string", "oneOf": [{"const": "a"}]},
        {"type": "string", "oneOf": [{"const": 1, "title": "A"}]},
        {"type": "string", "anyOf": TITLED},
        {"type": "number", "multipleOf": 2},
        {"type": "number", "default": "1"},
        {"type": "integer", "exclusiveMinimum": 0},
        {"type": "boolean", "enum": [True]},
        {"type": "array"},
        {"type": "array", "items": {"type": "string"}},
        {"type": "array", "items": {"type": "integer", "enum": [1]}},
        {"type": "array", "items": {"oneOf": TITLED}},
        {"type": "array", "items": {"anyOf": TITLED}, "uniqueItems": True},
        {"type": "array", "items": {"anyOf": TITLED}, "default": "a"},
        {"$ref": "#/properties/a"},
        {"type": "string", "title": 1},
        "string",
        True,
    ],
    ids=write,
)
def test_a_field_that_some_client_refuses_is_refused_with_its_pointer(field: Json) -> None:
    """M47."""
    assert "at /requestedSchema/properties/a: " in refusal(form(field))


@pytest.mark.parametrize(
    ("params", "place"),
    [
        ({**form(), "message": ""}, "at /message: "),
        ({**form(), "message": "x" * (LONGEST_QUESTION + 1)}, "at /message: "),
        ({**form(), "message": 1}, "at /message: "),
        ({**form(), "mode": "voice"}, "at /mode: "),
        ({**form(), "mode": None}, "at /mode: "),
        ({**form(), "url": PAGE}, "at the top level: "),
        ({**form(), "timeout": 5}, "at the top level: "),
        ({"message": "m"}, "at the top level: "),
        ({"requestedSchema": {"type": "object", "properties": {}}}, "at the top level: "),
        ({"message": "m", "requestedSchema": {"type": "object"}}, "at /requestedSchema: "),
        ({"message": "m", "requestedSchema": {"properties": {}}}, "at /requestedSchema: "),
        ({"message": "m", "requestedSchema": []}, "at /requestedSchema: "),
        ({"message": "m", "requestedSchema": {"type": "array", "properties": {}}}, "at /requestedSchema/type: "),
        (form(additionalProperties=False), "at /requestedSchema: "),
        (form(title="a form"), "at /requestedSchema: "),
        (form(required="a"), "at /requestedSchema/required: "),
        (form(required=["a"]), "at /requestedSchema/required: 'a' is not one of its properties"),
        (form(FIELDS["text"], required=["a", "a"]), "at /requestedSchema: at /required: "),
        (form(**{"$schema": "http://json-schema.org/draft-07/schema#"}), "at /requestedSchema: at $schema: "),
        ({"mode": "url", "message": "m"}, "at the top level: "),
        ({"mode": "url", "url": PAGE}, "at the top level: "),
        ({"mode": "url", "message": "m", "url": PAGE, **form()}, "at the top level: "),
        ({"mode": "url", "message": "m", "url": 7}, "at /url: "),
        ({"mode": "url", "message": "m", "url": PAGE + "a" * LONGEST_URL}, "at /url: "),
        (None, "at the top level: "),
        ("Why?", "at the top level: "),
        ([form()], "at the top level: "),
        ({}, "at the top level: "),
    ],
)
def test_an_invalid_elicitation_is_refused_with_a_pointer(params: Json, place: str) -> None:
    assert place in refusal(params)


def test_a_refusal_names_at_most_three_faults() -> None:
    params = {"message": 1, "requestedSchema": {"type": "list", "properties": 2, "required": 3}}

    assert refusal(params) == (
        'at /message: 1 is not of type "string"; at /requestedSchema/type: "object" was expected; '
        'at /requestedSchema/properties: 2 is not of type "object"'
    )


@pytest.mark.parametrize(
    "url",
    [
        "",
        "sign.example",
        "//sign.example",
        "http://sign.example",
        "http://localhost.example",
        "http://127.0.0.1.example/",
        "http://user@localhost/",
        "https://",
        "https:///path",
        "https://user@sign.example",
        "https://user:secret@sign.example",
        "https://@sign.example",
        "https://[sign.example",
        "javascript:alert(1)",
        "data:text/html,hello",
        "file:///etc/passwd",
        "ftp://sign.example",
    ],
)
def test_an_unsafe_url_is_refused(url: str) -> None:
    """M49."""
    assert refusal({"mode": "url", "message": "m", "url": url}).startswith("at /url: it must be an https URL")


# M7: Chromium opens good.example.evil.example
@pytest.mark.parametrize(
    "url",
    [
        "https://good.example\n.evil.example/",
        "https://good.example\t.evil.example/",
        "https://good.example/a b",
        "https://good.example/\u202egpj",
        "https://g\u043e\u043ed.example/",
        "https://good.example\\.evil.example/",
        " https://good.example/",
        "https://good.example/\x7f",
    ],
)
def test_a_url_that_two_readers_see_differently_is_refused(url: str) -> None:
    assert refusal({"mode": "url", "message": "m", "url": url}).startswith("at /url: it must be printable ASCII")


def test_a_refusal_fits_the_cause_of_a_failure() -> None:
    name = "\U000e0001" * 4_000  # each is shown as ten characters

    with pytest.raises(InvalidQuestion, match="is not one of its properties") as refusal:
        elicitation_of(form(required=[name]))

    assert len(str(refusal.value)) < 1_000


def test_an_elicitation_too_large_for_a_task_is_refused() -> None:
    params = form({"type": "string", "description": "x" * LARGEST_QUESTION})

    assert refusal(params) == f"it is larger than {LARGEST_QUESTION} bytes of JSON"


def test_an_elicitation_of_the_largest_size_is_accepted() -> None:
    params = form({"type": "string", "description": ""})
    params["requestedSchema"]["properties"]["a"]["description"] = "x" * (LARGEST_QUESTION - len(write(params)))

    assert params_of(elicitation_of(params)) == {"mode": "form", **params}


@pytest.mark.parametrize("message", ["\ud800", float("nan")])
def test_json_that_only_some_readers_accept_is_refused(message: Json) -> None:
    """It could not be sent to every client."""
    assert refusal({**form(), "message": message}) == "it has a lone surrogate, or a number that JSON does not allow"


@given(json_values | st.dictionaries(st.sampled_from(["mode", "message", "requestedSchema", "url"]), json_values))
def test_any_elicitation_is_accepted_unchanged_or_refused(value: Json) -> None:
    asked: JsonObject | None = None
    with suppress(InvalidQuestion):
        asked = params_of(elicitation_of(value))

    assert asked is None or asked == {"mode": "form", **value}


# ---------------------------------------------------------------------------------------------------------------- modes


@pytest.mark.parametrize(
    ("capability", "modes"),
    [
        ({}, {Mode.FORM}),
        ({"form": {}}, {Mode.FORM}),
        ({"url": {}}, {Mode.URL}),
        ({"form": {}, "url": {}}, {Mode.FORM, Mode.URL}),
        ({"form": {"applyDefaults": True}}, {Mode.FORM}),
        ({"voice": {}}, frozenset[Mode]()),
        ({"voice": {}, "url": {}}, {Mode.URL}),
        (None, frozenset[Mode]()),
        (True, frozenset[Mode]()),
        ("form", frozenset[Mode]()),
        (["form"], frozenset[Mode]()),
    ],
)
def test_the_modes_are_those_that_the_client_declared(capability: Json, modes: Set[Mode]) -> None:
    """M46: an empty capability means forms."""
    assert modes_of({} if capability is None else {"elicitation": capability}) == modes
