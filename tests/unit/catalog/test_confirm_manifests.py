"""The field `confirm` of a manifest, and the question that it becomes; and whether states are shown."""

from pathlib import Path

import pytest

from stepwire.catalog.tools import Confirmation
from stepwire.json_text import Json, write
from stepwire.tasks.question_schemas import LONGEST_QUESTION
from stepwire.tasks.task import Causes
from tests.unit.catalog.manifest_files import compiled, faults

EMPTY_FORM = '{"type":"object","properties":{}}'


def manifest(folder: Path, *lines: str) -> None:
    """Write a manifest of a tool with the arguments `text` and `count`, with some more lines."""
    text = """\
name: wipe
description: Wipes.
state_machine: Wipe
input_schema: {type: object, properties: {text: {type: string}, count: {type: integer}}}
"""
    (folder / "wipe.yaml").write_text(text + "\n".join(lines), encoding="utf-8")


def fault(folder: Path) -> str:
    """Return the only fault of the manifest."""
    (found,) = faults(folder)
    return found


def question(message: str, **arguments: Json) -> str:
    """Return the question about a call."""
    return Confirmation("confirm", message, EMPTY_FORM, None).elicitation(arguments).message


# ------------------------------------------------------------------------------------------------------ the manifest


def test_by_default_nothing_is_asked_and_states_are_shown(tmp_path: Path) -> None:
    manifest(tmp_path)

    tool = compiled(tmp_path, "Wipe")

    assert tool.confirmation is None
    assert tool.shows_state


def test_names_of_states_can_be_hidden(tmp_path: Path) -> None:
    manifest(tmp_path, "show_state: false")

    assert not compiled(tmp_path, "Wipe").shows_state


def test_a_question_needs_only_a_message(tmp_path: Path) -> None:
    manifest(tmp_path, "confirm: {message: 'Really?'}")

    assert compiled(tmp_path, "Wipe").confirmation == Confirmation("confirm", "Really?", EMPTY_FORM, None)


def test_a_complete_question_is_compiled(tmp_path: Path) -> None:
    manifest(
        tmp_path,
        "confirm:",
        "  message: 'Really wipe {text}, {count} times?'",
        "  key: sure",
        "  schema: {type: object, properties: {b: {type: boolean}, a: {type: string}}, required: [b]}",
        "  input_key: confirmation",
    )

    assert compiled(tmp_path, "Wipe").confirmation == Confirmation(
        "sure",
        "Really wipe {text}, {count} times?",
        '{"type":"object","properties":{"b":{"type":"boolean"},"a":{"type":"string"}},"required":["b"]}',
        "confirmation",
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("confirm: {}", "confirm.message: is missing"),
        ("confirm: Really?", "confirm: must have fields, each as `name: value`"),
        ("confirm: {message: ''}", "confirm: at /message: "),
        (f"confirm: {{message: {'x' * (LONGEST_QUESTION + 1)}}}", "confirm: at /message: "),
        ("confirm: {message: m, key: ''}", "confirm.key: must be 1 to 64 letters"),
        ("confirm: {message: m, key: a b}", "confirm.key: must be 1 to 64 letters"),
        ('confirm: {message: m, key: "a\\n"}', "confirm.key: must be 1 to 64 letters"),
        (
            "confirm: {message: m, url: 'https://a.example'}",
            "confirm.url: unknown field; there are message, key, schema, input_key",
        ),
        ("confirm: {message: m, schema: {type: object}}", "confirm: at /schema: "),
        (
            "confirm: {message: m, schema: {type: object, properties: {a: {type: object}}}}",
            "confirm: at /schema/properties/a: ",
        ),
        (
            "confirm: {message: m, schema: {type: object, properties: {}, required: [a]}}",
            "confirm: at /schema/required",
        ),
        ("confirm: {message: m, input_key: ''}", "confirm.input_key: must not be empty"),
        (
            f"confirm: {{message: m, input_key: {'k' * 65}}}",
            "confirm.input_key: must have at most 64 characters, and has 65",
        ),
        (
            "confirm: {message: m, input_key: text}",
            "at confirm.input_key: 'text' is a property of input_schema already",
        ),
        ("confirm: {message: 'Wipe {table}?'}", "at confirm.message: {table} is no property of input_schema"),
        ("show_errors: all", "show_errors: must be one of names, redacted, causes"),
        ("show_state: sometimes", "show_state: must be true or false"),
    ],
)
def test_an_invalid_question_is_named_with_its_place(line: str, words: str, tmp_path: Path) -> None:
    """M47."""
    manifest(tmp_path, line)

    found = fault(tmp_path)

    assert found.startswith("wipe.yaml: ")
    assert words in found


def test_braces_around_anything_but_a_name_are_text(tmp_path: Path) -> None:
    manifest(tmp_path, "confirm: {message: 'Really {} { text } {text.a} {{text}}?'}")

    confirmation = compiled(tmp_path, "Wipe").confirmation

    assert confirmation is not None
    assert confirmation.elicitation({"text": "x"}).message == 'Really {} { text } {text.a} {"x"}?'


# ------------------------------------------------------------------------------------------------------ the question


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("all of it", '"all of it"'),
        ("", '""'),
        (7, "7"),
        (1.5, "1.5"),
        (True, "true"),
        (None, "null"),
        ("not given", '"not given"'),
        ('wipe"? Nothing else', '"wipe\\"? Nothing else"'),
        ("5 rows?\n\nApproved", '"5 rows?\\n\\nApproved"'),
        ("\u202eeteleD\u202c", '"\\u202eeteleD\\u202c"'),
        ("\x07\x1b[2J\x9b", '"\\u0007\\u001b[2J\\u009b"'),
        ("a\u2028b\u200bc\U000e0041", '"a\\u2028b\\u200bc\\U000e0041"'),
        (["a", 1], '["a",1]'),
        ({"grüße": [1]}, '{"grüße":[1]}'),
        ("x" * 200, f'"{"x" * 200}"'),
        ("x" * 201, f'"{"x" * 200}"...'),
        (list(range(100)), "[" + ",".join(map(str, range(100)))[:199] + "..."),
    ],
)
def test_an_argument_is_shown_at_its_placeholder(argument: Json, shown: str) -> None:
    """X-M7: the user sees exactly what is confirmed."""
    assert question("Wipe {text}?", text=argument) == f"Wipe {shown}?"


def test_a_missing_argument_is_shown_as_missing() -> None:
    assert question("Wipe {text}?") == "Wipe not given?"


def test_an_argument_may_be_shown_twice() -> None:
    assert question("{text}? Really {text}?", text="this") == '"this"? Really "this"?'


@pytest.mark.parametrize("text", ["{count}", "{text}", "\\g<0>", "\\1", "{{count}}", "%s", "{0}"])
def test_placeholders_in_an_argument_are_text(text: str) -> None:
    """An argument cannot hide another argument."""
    assert question("Wipe {text} {count} times?", text=text, count=3) == f"Wipe {write(text)} 3 times?"


def test_a_question_with_its_arguments_is_no_longer_than_any_other() -> None:
    message = "{text}" * (LONGEST_QUESTION // len("{text}"))

    assert question(message, text="x" * 300) == (f'"{"x" * 200}"...' * 20)[:LONGEST_QUESTION]


def test_the_form_does_not_depend_on_the_arguments() -> None:
    asked = Confirmation("confirm", "m", EMPTY_FORM, None).elicitation({"text": "x"})

    assert asked.requested_schema == EMPTY_FORM


@pytest.mark.parametrize(
    ("lines", "causes"),
    [((), Causes.REDACTED), (("show_errors: names",), Causes.HIDDEN), (("show_errors: causes",), Causes.SHOWN)],
)
def test_the_manifest_decides_how_much_of_a_failure_is_shown(
    lines: tuple[str, ...], causes: Causes, tmp_path: Path
) -> None:
    """B16."""
    manifest(tmp_path, *lines)

    assert compiled(tmp_path, "Wipe").causes is causes
