"""Manifests: what is accepted, and that all faults are reported at once, each with its file and field."""

from datetime import timedelta
from pathlib import Path
from textwrap import dedent
from typing import Any, Final

import pytest
import yaml

from stepwire.catalog.tools import NOTHING_ADDED, Additions, Confirmation, Context, Idempotency, read_catalog
from stepwire.json_text import parse, write
from stepwire.manifests.reading import compile_directory
from stepwire.tasks.task import Causes
from tests.adopted import write_manifests
from tests.kits import plan_of, state_machine_arn
from tests.unit.catalog.manifest_files import SMALLEST, STATE_MACHINES, compiled, faults, put, with_line

# -------------------------------------------------------------------------------------------------------- what is taken


def test_the_smallest_manifest_gets_all_defaults(folder: Path) -> None:
    put(folder, SMALLEST)

    tool = compiled(folder)

    assert tool.plan == plan_of(state_machine_arn("Greet"))
    assert tool.task_support.value == "optional"
    assert (tool.ttl.days, tool.poll_interval.total_seconds()) == (7, 2)
    assert (tool.title, tool.output_schema, tool.annotations, tool.client_capabilities) == (None, None, None, {})
    assert (tool.keep_result.days, tool.result_bucket, tool.result_prefix) == (1, None, None)


def test_a_complete_manifest_is_compiled(folder: Path) -> None:
    put(
        folder,
        f"""\
        name: A.tool_of-128
        title: A tool
        description: Does all.
        state_machine: {state_machine_arn("Elsewhere")}
        input_schema: {{type: object, properties: {{b: {{}}, a: {{default: null}}}}}}
        output_schema: {{type: [object, "null"], enum: [null]}}
        task_support: required
        ttl: P1DT1H
        keep_result: PT2H
        result_bucket: my-reports
        result_prefix: results/{{principal}}/{{task_id}}/
        poll_interval: 1.5
        annotations: {{readOnlyHint: true, title: A}}
        client_capabilities: {{elicitation: {{form: {{}}}}}}
        """,
    )

    tool = compiled(folder)

    assert (tool.name, tool.title, tool.description) == ("A.tool_of-128", "A tool", "Does all.")
    assert tool.plan == plan_of(state_machine_arn("Elsewhere"))
    assert tool.input_schema == '{"type":"object","properties":{"b":{},"a":{"default":null}}}'
    assert tool.output_schema == '{"type":["object","null"],"enum":[null]}'
    assert tool.task_support.value == "required"
    assert (tool.ttl.total_seconds(), tool.poll_interval.total_seconds()) == (90_000, 1.5)
    assert tool.keep_result.total_seconds() == 7_200
    assert (tool.result_bucket, tool.result_prefix) == ("my-reports", "results/{principal}/{task_id}/")
    assert tool.annotations == {"readOnlyHint": True, "title": "A"}
    assert tool.client_capabilities == {"elicitation": {"form": {}}}


def test_compiling_is_deterministic(folder: Path) -> None:
    """M33: a stable order."""
    for name in ("b", "c", "a"):
        put(folder, with_line(f"name: {name}"), name)

    catalog = read_catalog(compile_directory(folder), STATE_MACHINES)

    assert compile_directory(folder) == compile_directory(folder)
    assert [tool.name for tool in catalog.in_order] == ["a", "b", "c"]


def test_the_manifests_that_the_tests_register_are_good(tmp_path: Path) -> None:
    assert len(read_catalog(compile_directory(write_manifests(tmp_path / "manifests")), {}).in_order) == 3


# ------------------------------------------------------------------------------------------------------- field by field

ARGUMENTS: Final = (
    "text: {type: string}, count: {type: integer}, customer: {type: string}, month: {type: [integer, 'null']}, "
    "size: {enum: [s, 1]}, unit: {const: eur}"
)
WITH_ARGUMENTS: Final = (
    f"input_schema: {{type: object, properties: {{{ARGUMENTS}}}, required: [customer, month, size, unit]}}"
)
EMPTY_FORM: Final = '{"type":"object","properties":{}}'
FORM: Final = "{type: object, properties: {b: {type: boolean}, a: {type: string}}, required: [b]}"
HOUR: Final = timedelta(hours=1)
KEY: Final = ("customer", "month")
TAKEN: Final[list[tuple[str, str, object]]] = [
    ("", "shows_state", True),
    ("show_state: false", "shows_state", False),
    ("", "scopes", ()),
    ("", "groups", ()),
    ("groups: [hr, month-end, hr]", "groups", ("hr", "month-end")),
    (
        "scopes: ['refunds:write', 'https://mcp.example/audit']",
        "scopes",
        ("refunds:write", "https://mcp.example/audit"),
    ),
    ("", "causes", Causes.REDACTED),
    ("show_errors: redacted", "causes", Causes.REDACTED),
    ("show_errors: names", "causes", Causes.HIDDEN),
    ("show_errors: causes", "causes", Causes.SHOWN),
    ("", "confirmation", None),
    ("confirm: {message: 'Really?'}", "confirmation", Confirmation("confirm", "Really?", EMPTY_FORM, None)),
    (
        f"confirm: {{message: 'Wipe {{text}}, {{count}} times?', key: sure, schema: {FORM}, input_key: answer}}",
        "confirmation",
        Confirmation(
            "sure",
            "Wipe {text}, {count} times?",
            '{"type":"object","properties":{"b":{"type":"boolean"},"a":{"type":"string"}},"required":["b"]}',
            "answer",
        ),
    ),
    ("", "idempotency", None),
    ("idempotency: [customer, month]", "idempotency", Idempotency(KEY, HOUR)),
    ("idempotency: {arguments: [customer, month]}", "idempotency", Idempotency(KEY, HOUR)),
    ("idempotency: {arguments: [customer, month], window: P2D}", "idempotency", Idempotency(KEY, 48 * HOUR)),
    ("idempotency: {arguments: [customer, month], window: PT1M}", "idempotency", Idempotency(KEY, HOUR / 60)),
    (
        "idempotency: {arguments: [customer, month], window: P30D}\nttl: P30D",
        "idempotency",
        Idempotency(KEY, 720 * HOUR),
    ),
    ("idempotency: [customer, month]\nttl: PT5M", "idempotency", Idempotency(KEY, HOUR / 12)),
    ("idempotency: [size, unit]", "idempotency", Idempotency(("size", "unit"), HOUR)),
    ("", "additions", NOTHING_ADDED),
    ("context: caller", "additions", Additions(context=Context("caller"))),
    (
        "context: {input_key: who, claims: [email, 'https://example.com/role']}",
        "additions",
        Additions(context=Context("who", ("email", "https://example.com/role"))),
    ),
    (
        "input: {constants: {region: eu, limits: {most: 5}, none: null}}",
        "additions",
        Additions({"region": "eu", "limits": {"most": 5}, "none": None}),
    ),
    ("input: {defaults: {month: 7, priority: null}}", "additions", Additions({}, {"month": 7, "priority": None})),
    ("", "output_shape", None),
    (
        """\
output:
  structured: "{total: total}"
  text: "Settled {total}."
  content:
    - {type: image, data: "{chart}", mimeType: image/png}
    - {type: resource_link, each: reports, uri: "{url}", name: Report}
  meta: {example.com/ledger: "{ledger.id}"}
""",
        "output_shape",
        write(
            {
                "structured": "{total: total}",
                "content": [
                    {"type": "text", "text": "Settled {total}."},
                    {"type": "image", "data": "{chart}", "mimeType": "image/png"},
                    {"type": "resource_link", "each": "reports", "uri": "{url}", "name": "Report"},
                ],
                "meta": {"example.com/ledger": "{ledger.id}"},
            }
        ),
    ),
]


@pytest.mark.parametrize(("lines", "field", "value"), TAKEN)
def test_a_field_is_compiled(lines: str, field: str, value: object, folder: Path) -> None:
    put(folder, f"{with_line(WITH_ARGUMENTS)}\n{lines}")

    assert getattr(compiled(folder), field) == value


def test_braces_around_anything_but_a_name_are_text(folder: Path) -> None:
    put(folder, f"{with_line(WITH_ARGUMENTS)}\nconfirm: {{message: 'Really {{}} {{ text }} {{text.a}} {{{{text}}}}?'}}")

    confirmation = compiled(folder).confirmation

    assert confirmation is not None
    assert confirmation.elicitation({"text": "x"}).message == 'Really {} { text } {text.a} {"x"}?'


# ------------------------------------------------------------------------------------------------------ what is refused


def test_all_faults_of_all_files_are_reported_at_once(folder: Path) -> None:
    put(folder, "name: a b\nttl: never", "one")
    put(folder, with_line("task_support: sometimes"), "two")
    put(folder, with_line("name: good"), "three")

    found = faults(folder)

    assert [line.rsplit(": ", 1)[0] for line in found] == [
        "one.yaml: name",
        "one.yaml: description",
        "one.yaml: state_machine",
        "one.yaml: input_schema",
        "one.yaml: ttl",
        "two.yaml: task_support",
    ]


def test_two_tools_with_one_name_are_both_named(folder: Path) -> None:
    """M34."""
    put(folder, SMALLEST, "first")
    put(folder, SMALLEST, "second")

    assert faults(folder) == ["second.yaml: name: 'greet' is also the name in first.yaml"]


def test_a_cloudformation_tag_is_a_fault_even_after_a_template_was_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def learnt(*_: Any) -> str:
        return "what a template means by it"

    monkeypatch.setattr(yaml.SafeLoader, "yaml_multi_constructors", {"!": learnt})
    put(folder, "state_machine: !Ref Greet")

    (found,) = faults(folder)

    assert found.startswith("greet.yaml: line 1: the tag !Ref means nothing here")


def test_names_are_case_sensitive(folder: Path) -> None:
    """M34."""
    put(folder, SMALLEST, "first")
    put(folder, with_line("name: Greet"), "second")

    assert len(parse(compile_directory(folder))["tools"]) == 2


def test_a_file_that_cannot_be_read_is_named(folder: Path) -> None:
    (folder / "greet.yaml").mkdir()

    (found,) = faults(folder)

    assert found.startswith("greet.yaml: ")


def test_a_manifest_with_another_extension_is_named(folder: Path) -> None:
    put(folder, SMALLEST)
    (folder / "other.yml").write_text(dedent(SMALLEST))

    assert faults(folder) == ["other.yml: a manifest must end in .yaml"]
