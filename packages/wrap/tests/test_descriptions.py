"""The first description of a tool, and what the doctor says of one that nobody has written."""

import pytest

from packages.wrap.tests.samples import ARN, machine, passed, task
from stepwire.json_text import JsonObject
from stepwire_wrap.definitions.descriptions import Words, described, first_paragraph
from stepwire_wrap.definitions.drafts import History, Machine, draft
from stepwire_wrap.wording import fault_of

IN_ORDER: JsonObject = {
    "StartAt": "Read",
    "States": {
        "Archive": passed(),
        "Check": {"Type": "Choice", "Choices": [{"Next": "Pay"}], "Default": "Archive"},
        "Failed": {"Type": "Fail"},
        "Pay": passed("Archive"),
        "Read": task("Check", Catch=[{"ErrorEquals": ["States.ALL"], "Next": "Failed"}]),
    },
}
STATES = "Runs the workflow Orders: Read, Check, Pay, Archive, Failed."
README = """# Orders

[![build](https://example.com/a.svg)](https://example.com)

> Deprecated.

* [Install](#install)

```sh
make it
```

Ships the *paid* orders of a [day](https://example.com) with
`one` parcel for each customer.

More.
"""


@pytest.mark.parametrize(
    "text",
    [
        "A description of my state machine",
        "a description of my state machine.",
        "An example of the Amazon States Language using a map state.",
        "A simple minimal example of the States language",
        "A Hello World example of the Amazon States Language using Pass states",
        STATES,
        "Runs the workflow Orders: A, B, C and 7 more.",
        "Checkout Processing Workflow",
        "Ships orders",
        "Simple state machine for AWS Step Functions",
        "A state machine for orders and orders",
        "TODO: describe it for the model",
        "",
    ],
)
def test_a_description_that_nobody_has_written_or_that_says_no_more_than_the_name_is_a_fault(text: str) -> None:
    assert fault_of(text, "orders") is not None


@pytest.mark.parametrize(
    "text",
    [
        "Ships an order that was paid.",
        "Runs the workflow that ships orders.",
        "Converts a text file to speech and stores it.",
        "支払い済みの注文を発送し、返金が必要なときに担当者へ連絡します。",
    ],
)
def test_a_description_that_says_what_the_tool_does_is_none(text: str) -> None:
    assert fault_of(text, "orders") is None


@pytest.mark.parametrize(
    ("comment", "words", "text", "source"),
    [
        (" Ships \n orders that were paid. ", Words(stack_description="Ships nothing but what was paid."),
         "Ships orders that were paid.", "the definition's Comment"),
        ("A description of my state machine", Words(stack_description="Ships the orders of a shop. (uksb-1tthgi8)"),
         "Ships the orders of a shop.", "the stack's Description"),
        ("Simple state machine", Words(description="Ships the paid orders.", readme=README),
         "Ships the paid orders.", "the state machine's description"),
        (None, Words(stack_description="Sample SAM Template for the daily parcels of orders", readme=README),
         "Ships the paid orders of a day with one parcel for each customer.", "its README"),
        (None, Words(stack_description="Sample SAM Template for orders", readme=README),
         "Ships the paid orders of a day with one parcel for each customer.", "its README"),
        ("An example of the Amazon States Language for shipping the orders of a day", Words(),
         "A workflow for shipping the orders of a day", "the definition's Comment"),
        (None, Words(readme=README, is_alone=False),
         f"Ships the paid orders of a day with one parcel for each customer. {STATES}", "its README"),
        (None, Words(), STATES, ""),
    ],
)  # fmt: skip
def test_a_description_is_the_first_that_says_what_the_workflow_is_for(
    comment: str | None, words: Words, text: str, source: str
) -> None:
    definition = IN_ORDER if comment is None else {**IN_ORDER, "Comment": comment}

    found = described("Orders", definition, words)

    assert (found.text, found.source) == (text, source)


def test_states_are_named_in_the_order_in_which_they_run_and_those_inside_if_there_are_few() -> None:
    inner = machine(B=passed("A"), A=passed())
    nested = machine(Map={"Type": "Map", "ItemProcessor": inner, "End": True})
    many = {"StartAt": "S9", "States": {f"S{n}": passed(f"S{n - 1}" if n else None) for n in range(10)}}

    assert described("Orders", nested, Words()).text == "Runs the workflow Orders: Map, B, A."
    assert described("Orders", many, Words()).text == (
        "Runs the workflow Orders: S9, S8, S7, S6, S5, S4, S3, S2 and 2 more."
    )


@pytest.mark.parametrize(
    "text", ["", "# Only a heading", "```\nonly code\n\nmore code\n```", "* a list\n* of two", "It creates:"]
)
def test_a_readme_without_prose_says_nothing(text: str) -> None:
    assert first_paragraph(text) == ""


def test_what_only_announces_a_list_is_left_out() -> None:
    assert first_paragraph("Ships orders. It takes these steps:\n\n* a\n* b") == "Ships orders."


def test_the_manifest_says_where_its_description_is_from() -> None:
    def text_of(words: Words) -> str:
        return draft("orders", Machine(ARN, "Orders", IN_ORDER, words=words), History()).text

    assert "each customer.  # from its README" in text_of(Words(readme=README))
    assert "# nobody has written what it is for: say what it does, and when to use it" in text_of(Words())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("id: the number of the order", "The number of the order."),
        ("  - id - the number of the order.", "The number of the order."),
        ("* `id` (string): number of the order, for example A-7", "Number of the order, for example A-7."),
        ("1. **id** — which order is shipped?", "Which order is shipped?"),
        ('    "id": "<number of the order>",', "Number of the order."),
        ('"id": "the number of the order",', "The number of the order."),
        ('"id": "John Smith",', None),
        ("id: string", None),
        ("id: 17", None),
        ('"id": {"a number": "of an order"}', None),
        ("orders: the number of the order", None),
        ("The id: the number of the order", None),
        ("", None),
    ],
)
def test_a_line_of_the_comment_that_says_what_a_member_is_describes_it(line: str, said: str | None) -> None:
    definition = machine(A=passed(Parameters={"x.$": "$.id"}))
    definition["Comment"] = f"Ships an order that was paid.\nIt takes:\n{line}\nid: a later line counts not"
    if said is None:
        definition["Comment"] = definition["Comment"].rpartition("\n")[0]

    schema = draft("orders", Machine(ARN, "Orders", definition), History()).manifest["input_schema"]

    assert list(schema["properties"]) == ["id"]
    assert schema["properties"]["id"].get("description") == said


def test_what_the_comment_says_of_a_member_stands_before_what_the_definition_knows() -> None:
    choice = {"Type": "Choice", "Choices": [{"Variable": "$.way", "StringEquals": "air", "Next": "B"}], "Default": "B"}
    definition = {**machine(A=choice, B=passed()), "Comment": "Ships an order that was paid.\nway: how it is sent"}

    schema = draft("orders", Machine(ARN, "Orders", definition), History()).manifest["input_schema"]

    assert schema["properties"]["way"]["description"] == 'How it is sent. The workflow knows "air".'
