"""The field `idempotency` of a manifest: the arguments that make calls equal, and for how long."""

from datetime import timedelta
from pathlib import Path

import pytest

from stepwire.catalog.tools import Idempotency
from tests.unit.catalog.manifest_files import compiled, faults

PLAIN = "{customer: {type: string}, month: {type: [integer, 'null']}, size: {enum: [s, 1]}, unit: {const: eur}}"
PROPERTIES = (
    f"{PLAIN[:-1]}, note: {{type: string}}, any: {{}}, all: true, items: {{type: array}}, part: {{enum: [{{}}]}}}}"
)
REQUIRED = "[customer, month, size, unit, any, all, items, part, odd]"


def manifest(folder: Path, *lines: str) -> None:
    """Write a manifest of a tool with arguments of each type, with some more lines."""
    text = f"""\
name: settle
description: Settles.
state_machine: Settle
input_schema: {{type: object, properties: {PROPERTIES}, required: {REQUIRED}}}
"""
    (folder / "settle.yaml").write_text(text + "\n".join(lines), encoding="utf-8")


def fault(folder: Path) -> str:
    """Return the only fault of the manifest."""
    (found,) = faults(folder)
    return found.removeprefix("settle.yaml: ")


def test_without_the_field_no_calls_are_equal(tmp_path: Path) -> None:
    manifest(tmp_path)

    assert compiled(tmp_path, "Settle").idempotency is None


@pytest.mark.parametrize(
    ("lines", "window"),
    [
        (["idempotency: [customer, month]"], timedelta(hours=1)),
        (["idempotency: {arguments: [customer, month]}"], timedelta(hours=1)),
        (["idempotency: {arguments: [customer, month], window: P2D}"], timedelta(days=2)),
        (["idempotency: {arguments: [customer, month], window: PT1M}"], timedelta(minutes=1)),
        (["idempotency: {arguments: [customer, month], window: P30D}", "ttl: P30D"], timedelta(days=30)),
        (["idempotency: [customer, month]", "ttl: PT5M"], timedelta(minutes=5)),
    ],
)
def test_the_arguments_are_a_list_and_the_window_is_an_hour_by_default(
    tmp_path: Path, lines: list[str], window: timedelta
) -> None:
    manifest(tmp_path, *lines)

    assert compiled(tmp_path, "Settle").idempotency == Idempotency(("customer", "month"), window)


@pytest.mark.parametrize("name", ["customer", "month", "size", "unit"])
def test_an_argument_of_any_plain_type_can_be_in_a_key(tmp_path: Path, name: str) -> None:
    manifest(tmp_path, f"idempotency: [{name}]")

    found = compiled(tmp_path, "Settle").idempotency

    assert found is not None
    assert found.arguments == (name,)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("[custommer]", "at idempotency.arguments: 'custommer' is no property of input_schema"),
        ("[odd]", "at idempotency.arguments: 'odd' is no property of input_schema"),
        ("[customer, note]", "at idempotency.arguments: 'note' is not required by input_schema"),
        ("[any]", "at idempotency.arguments: 'any' must have a type in input_schema"),
        ("[all]", "at idempotency.arguments: 'all' must have a type in input_schema"),
        ("[items]", "at idempotency.arguments: 'items' may be nested"),
        ("[part]", "at idempotency.arguments: 'part' may be nested"),
        ("[customer, customer]", "at idempotency.arguments: a name is given twice"),
        ("[]", "idempotency.arguments: must not be empty"),
        ("[{customer: true}]", "idempotency.arguments.0: must be a text, not fields"),
        ("customer", "idempotency: must be a list of arguments, or have fields, each as `name: value`"),
        ("{window: PT1H}", "idempotency.arguments: is missing"),
        ("{arguments: [customer], windov: PT1H}", "idempotency.windov: unknown field; did you mean window?"),
        ("{arguments: [customer], window: PT0S}", "idempotency.window: must be at least 1 minute"),
        ("{arguments: [customer], window: -PT1H}", "idempotency.window: must be at least 1 minute"),
        ("{arguments: [customer], window: PT59S}", "idempotency.window: must be at least 1 minute"),
        ("{arguments: [customer], window: P31D}", "idempotency.window: must be at most 30 days"),
        ("{arguments: [customer], window: P8D}", "at idempotency.window: must not be longer than ttl"),
        ("{arguments: [customer], window: soon}", "idempotency.window: must be a duration such as PT30S"),
    ],
)
def test_an_argument_that_cannot_be_in_a_key_is_named(tmp_path: Path, value: str, words: str) -> None:
    manifest(tmp_path, f"idempotency: {value}")

    assert words in fault(tmp_path)
