"""What a manifest says of the workflow's input: who calls, constants, and the defaults of arguments."""

from pathlib import Path
from typing import Final

import pytest

from stepwire.catalog.manifests import compile_directory, read_manifest
from stepwire.catalog.tools import NOTHING_ADDED, Additions, Context, Tool, read_catalog
from stepwire.errors import CatalogError
from tests.kits import state_machine_arn

BASE: Final = """\
name: settle
description: Settles.
state_machine: Settle
"""
SCHEMA: Final = "input_schema: {type: object, properties: {customer: {type: string}, month: {type: integer}}}\n"


def compiled(folder: Path, lines: str, schema: str = SCHEMA) -> Tool:
    (folder / "settle.yaml").write_text(BASE + schema + lines, encoding="utf-8")
    (tool,) = read_catalog(compile_directory(folder), {"Settle": state_machine_arn("Settle")}).in_order
    return tool


def fault(lines: str, schema: str = SCHEMA) -> str:
    with pytest.raises(CatalogError) as error:
        read_manifest(BASE + schema + lines)
    return str(error.value)


def test_without_the_fields_the_arguments_are_the_input(tmp_path: Path) -> None:
    assert compiled(tmp_path, "").additions == NOTHING_ADDED


@pytest.mark.parametrize(
    ("lines", "additions"),
    [
        ("context: caller", Additions(context=Context("caller"))),
        ("context: {input_key: who, claims: [email, 'https://example.com/role']}",
         Additions(context=Context("who", ("email", "https://example.com/role")))),
        ("input: {constants: {region: eu, limits: {most: 5}, none: null}}",
         Additions({"region": "eu", "limits": {"most": 5}, "none": None})),
        ("input: {defaults: {month: 7, priority: null}}", Additions({}, {"month": 7, "priority": None})),
    ],
)  # fmt: skip
def test_the_fields_are_read(tmp_path: Path, lines: str, additions: Additions) -> None:
    assert compiled(tmp_path, lines).additions == additions


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("context: customer", "at context.input_key: 'customer' is a property of input_schema"),
        ("input: {constants: {month: 1}}", "at input.constants.month: 'month' is a property of input_schema"),
        ("input: {constants: {a: 1}}\ncontext: a", "at context.input_key: 'a' is also the name in input.constants.a"),
        ("input: {constants: {a: 1}, defaults: {a: 1}}", "defaults.a: 'a' is also the name in input.constants.a"),
        ("context: a\nconfirm: {message: Really, input_key: a}", "is also the name in confirm.input_key"),
        ("input: {defaults: {month: July}}", "at input.defaults.month: at /month: \"July\" is not of type \"integer\""),
        ("input: {constants: {a: " + "x" * 9_000 + "}}", "at constants: larger than 8192 bytes of JSON"),
        ("context: {input_key: a, claims: [sub, sub]}", "'sub' is listed twice"),
        ("context: {claims: [sub]}", "context.input_key"),
        ("context: {input_key: a, claim: [sub]}", "context.claim: unknown field; did you mean claims?"),
        ("input: {constant: {}}", "input.constant: unknown field; did you mean constants?"),
        ("context: ''", "context.input_key"),
        ("context: {input_key: a, claims: " + str([str(number) for number in range(21)]) + "}", "context.claims"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(lines: str, words: str) -> None:
    assert words in fault(lines)


@pytest.mark.parametrize(
    "more",
    [
        "allOf: [{properties: {caller: {type: object}}}]",
        "anyOf: [{required: [caller]}, {}]",
        "if: {properties: {caller: true}}, then: {}",
        "$ref: '#/$defs/x', $defs: {x: {properties: {caller: {}}}}",
        "dependentSchemas: {customer: {properties: {caller: {}}}}",
        "allOf: [{$ref: '#/$defs/y'}, {$ref: '#/$defs/x'}], $defs: {x: {$ref: '#/$defs/y'}, y: {required: [caller]}}",
    ],
)
def test_a_schema_that_offers_what_the_server_sets_in_any_way_is_refused(more: str) -> None:
    assert "'caller' is a property of input_schema" in fault(
        "context: caller", f"input_schema: {{type: object, {more}}}\n"
    )


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("properties: {a: {type: integer, default: x}}", 'at /properties/a/default: at the top level: "x"'),
        ("properties: {a: {type: object, properties: {b: {enum: [1], default: 2}}}}", "at /properties/a/properties/b"),
        ("properties: {'a/b %': {$ref: '#/$defs/n', default: x}}, $defs: {n: {type: integer}}", "/properties/a~1b %/"),
        ("properties: {a: {$ref: '#/$defs/n'}}, $defs: {n: {type: integer, default: x}}", "at /$defs/n/default"),
        ("properties: {a: {type: array, items: {properties: {b: {type: 'null', default: 1}}}}}", "/items/properties/b"),
    ],
)
def test_a_default_that_its_own_schema_refuses_is_a_fault(schema: str, words: str) -> None:
    assert words in fault("", f"input_schema: {{type: object, {schema}}}\n")
