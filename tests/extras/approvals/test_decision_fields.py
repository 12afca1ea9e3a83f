"""Which fields of a form ask approvers for the decision that Approve and Refuse are, and what these answer."""

from typing import Final

import pytest

from stepwire.extras.approvals.decision_fields import (
    LONGEST_WORDING,
    MOST_DECISION_FIELDS,
    AmbiguousDecision,
    doubtful_in,
    form_of,
)
from stepwire.extras.approvals.rules import DecisionField
from stepwire.json_text import JsonObject

BOX: Final[JsonObject] = {"type": "boolean"}
TEXT: Final[JsonObject] = {"type": "string"}


def choice(*values: str, **more: str) -> JsonObject:
    return {"type": "string", "enum": list(values), **more}


def titled(**titles: str) -> JsonObject:
    return {"type": "string", "oneOf": [{"const": value, "title": title} for value, title in titles.items()]}


def form(**fields: JsonObject) -> JsonObject:
    return {"type": "object", "properties": fields, "required": list(fields)}


@pytest.mark.parametrize(
    ("name", "field", "approves", "refuses"),
    [
        ("approved", BOX, True, False),
        ("isApproved", BOX, True, False),
        ("APPROVED", BOX, True, False),
        ("manager_approval", BOX, True, False),
        ("do_you_agree", BOX, True, False),
        ("ok", BOX, True, False),
        ("x", {**BOX, "title": "Do you approve this?"}, True, False),
        ("rejected", BOX, False, True),
        ("decision", choice("approved", "rejected"), "approved", "rejected"),
        ("decision", choice("REJECTED", "APPROVED"), "APPROVED", "REJECTED"),
        ("decision", choice("release", "no"), "release", "no"),
        ("finalDecision", choice("Approve", "Not approved"), "Approve", "Not approved"),
        ("status", choice("approved", "denied"), "approved", "denied"),
        ("verdict", titled(a="Accept", b="Decline"), "a", "b"),
        ("verdict", {**choice("1", "0"), "enumNames": ["Yes", "No"]}, "1", "0"),
    ],
)
def test_a_field_that_says_nothing_but_the_decision_is_answered_by_the_button(
    name: str, field: JsonObject, *, approves: bool | str, refuses: bool | str
) -> None:
    made = form_of(form(**{name: field, "note": TEXT}))

    assert made.fields == (DecisionField(name, approves, refuses),)
    assert made.shown == form(note=TEXT)


@pytest.mark.parametrize(
    ("name", "field", "is_doubtful"),
    [
        ("allow_partial_delivery", BOX, True),
        ("approved_by_legal", BOX, True),
        ("not_approved", BOX, True),
        ("approve_reject", BOX, True),
        ("needsApproval", BOX, True),
        ("urgent", BOX, False),
        ("status", BOX, False),
        ("receipt", choice("yes", "no"), False),
        ("confirmed_by", choice("yes", "no"), True),
        ("decision", choice("100", "500"), False),
        ("decision", choice("approved"), False),
        ("decision", choice("no", "rejected"), True),
        ("decision", choice(f"release {'x' * LONGEST_WORDING}", "no"), True),
        ("decision", TEXT, False),
        ("approvals", {"type": "integer"}, False),
    ],
)
def test_any_other_field_is_filled_in(name: str, field: JsonObject, *, is_doubtful: bool) -> None:
    schema = form(note=TEXT, **{name: field})

    made = form_of(schema)

    assert (made.shown, made.fields) == (schema, ())
    assert list(doubtful_in(schema)) == ([name] if is_doubtful else [])


def test_the_only_required_field_that_is_yes_or_no_is_doubtful() -> None:
    schema = form(urgent=BOX) | {"properties": {"urgent": BOX, "note": TEXT}}

    assert form_of(schema).fields == ()
    assert list(doubtful_in(schema)) == ["urgent"]


@pytest.mark.parametrize(
    "schema",
    [
        form(decision=choice("approve", "reject", "send back")),
        form(answer=choice("yes", "no", "perhaps")),
        form(**{"is_" * number + "approved": BOX for number in range(MOST_DECISION_FIELDS + 1)}),
    ],
)
def test_a_decision_that_no_button_can_answer_cannot_be_asked(schema: JsonObject) -> None:
    with pytest.raises(AmbiguousDecision, match="for the decision"):
        form_of(schema)


def test_without_such_a_field_a_form_is_as_it_was() -> None:
    computed: JsonObject = {"type": "object", "properties": "{% $fields %}", "required": "{% $names %}"}

    assert form_of(computed).shown is computed
    assert list(doubtful_in(computed)) == []
