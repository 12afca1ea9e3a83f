"""A form of a question: what a browser sends is the content that the question asks for, or has a fault at its field."""

from html import escape
from typing import Any, Final

import pytest

from stepwire.extras.approvals.page.forms import begun, drawn, fields_of, filled
from stepwire.json_text import write
from tests.server.warm_counts import counted_calls

FLAG: Final = {"type": "boolean"}
PICKED: Final = {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}}


def sent(schema: dict[str, Any], *values: str, required: bool = False) -> Any:
    """Return the value that a form with one field has; a text is what is wrong with it."""
    form = {"type": "object", "properties": {"it": schema}, **({"required": ["it"]} if required else {})}
    found = filled(write(form), {"field-0": list(values)})
    return f"fault: {found.faults['it']}" if found.faults else found.content.get("it")


@pytest.mark.parametrize(
    ("schema", "values", "expected"),
    [
        ({"type": "string"}, ["a\r\nb"], "a\nb"),
        ({"type": "string"}, [""], None),
        ({"type": "string"}, [], None),
        ({"type": "string", "format": "date-time"}, ["2026-11-27T12:00"], "2026-11-27T12:00:00Z"),
        ({"type": "string", "format": "date-time"}, ["2026-11-27T12:00:30"], "2026-11-27T12:00:30Z"),
        ({"type": "string", "format": "date-time"}, ["2026-11-27T12:00:00+01:00"], "2026-11-27T12:00:00+01:00"),
        ({"type": "string", "format": "date"}, ["2026-11-27"], "2026-11-27"),
        ({"type": "number"}, ["1.50"], 1.5),
        ({"type": "number"}, ["007"], 7),
        ({"type": "number"}, ["-.5"], -0.5),
        ({"type": "number"}, ["1e3"], 1000.0),
        ({"type": "integer"}, ["3.0"], 3),
        ({"type": "integer"}, [" 4 "], 4),
        (FLAG, ["on"], True),
        (FLAG, [], False),
        ({"type": "string", "enum": ["x", ""]}, ["1"], ""),
        (PICKED, ["1", "0", "1"], ["y", "x"]),
        (PICKED, [], None),
    ],
)
def test_what_a_browser_sends(schema: dict[str, Any], values: list[str], expected: Any) -> None:
    assert sent(schema, *values) == expected


@pytest.mark.parametrize(
    ("schema", "values", "words"),
    [
        ({"type": "number"}, ["a lot"], "a number"),
        ({"type": "number"}, ["true"], "a number"),
        ({"type": "number"}, ["NaN"], "a number"),
        ({"type": "number"}, ["9" * 400], "a number"),
        ({"type": "integer"}, ["9007199254740993"], "a whole number"),
        ({"type": "integer", "maximum": 3}, ["4"], "greater than"),
        ({"type": "integer"}, ["1.5"], "integer"),
        ({"type": "string", "enum": ["x"]}, ["1"], "choose"),
        ({"type": "string", "enum": ["x"]}, ["-1"], "choose"),
        ({"type": "string", "enum": ["x"]}, ["²"], "choose"),
        ({"type": "string", "enum": ["x"]}, ["9" * 5_000], "choose"),
        ({"type": "string", "format": "date"}, ["tomorrow"], "date"),
    ],
)
def test_what_is_wrong_is_beside_the_field(schema: dict[str, Any], values: list[str], words: str) -> None:
    assert words in sent(schema, *values)
    assert sent(schema, *values).startswith("fault: ")


def test_twice_as_many_choices_take_about_twice_the_time() -> None:
    def steps(count: int) -> int:
        choices = [str(number) for number in range(count)]
        with counted_calls() as calls:
            assert sent({"type": "array", "items": {"enum": choices}}, *choices) == choices
        return len(calls)

    assert steps(400) < 3 * steps(200)


@pytest.mark.parametrize("schema", [{"type": "string"}, {"type": "number"}, {"type": "string", "enum": ["x"]}])
def test_what_must_be_filled_in(schema: dict[str, Any]) -> None:
    assert sent(schema, "", required=True).startswith("fault: Please ")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "default": "a"},
        {"type": "string", "maxLength": 1_000, "default": "\nbegins with an empty line"},
        {"type": "number", "default": 1.5},
        {"type": "boolean", "default": True},
        {"type": "string", "enum": ["x", "y"], "default": "y"},
        {**PICKED, "default": ["x", "y"]},
    ],
)
def test_a_default_that_nobody_changes_is_the_answer(schema: dict[str, Any]) -> None:
    form = {"type": "object", "properties": {"it": schema}}

    assert filled(write(form), begun(form)).content == {"it": schema["default"]}


@pytest.mark.parametrize("schema", [{"type": "string"}, {"type": "string", "maxLength": 20}])
def test_what_was_typed_comes_back_as_it_was_and_what_a_workflow_fills_in_hides_nothing(schema: dict[str, Any]) -> None:
    text = "a\u200cb \U0001f469\u200d\U0001f680 <b>"
    form = {"type": "object", "properties": {"it": {**schema, "default": "a\u202eb"}}}

    sent_again, begins = ("".join(drawn(form, one, {})) for one in ({"field-0": [text]}, begun(form)))

    assert escape(text) in sent_again
    assert "a\\u202eb" in begins


def test_a_default_that_no_calendar_has_in_utc_is_left_out() -> None:
    schema = {"type": "string", "format": "date-time", "default": "0001-01-01T00:00:00+14:00"}

    assert begun({"type": "object", "properties": {"it": schema}}) == {"field-0": []}


def test_only_the_fields_of_the_question_are_read() -> None:
    assert filled(write({"type": "object", "properties": {}}), {"field-0": ["x"], "it": ["x"]}).content == {}


def test_one_field_with_a_fault_has_the_focus() -> None:
    form = {"type": "object", "properties": {name: {"type": "string"} for name in "abc"}}

    html = "".join(drawn(form, {}, {"b": "wrong", "c": "wrong"}))

    assert html.count("autofocus") == 1
    assert 'name="field-1" aria-describedby="field-1-fault" aria-invalid="true" autofocus' in html
    assert len(fields_of(form)) == 3
