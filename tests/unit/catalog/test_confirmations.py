"""The question that a `confirm` becomes: what the user reads of a call's arguments."""

import pytest

from stepwire.catalog.tools import Confirmation
from stepwire.json_text import Json, write
from stepwire.tasks.question_schemas import LONGEST_QUESTION

EMPTY_FORM = '{"type":"object","properties":{}}'


def question(message: str, **arguments: Json) -> str:
    """Return the question about a call."""
    return Confirmation("confirm", message, EMPTY_FORM, None).elicitation(arguments).message


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
