"""Manifests: what is accepted, and that all faults are reported at once, each with its file and field."""

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml

from stepwire.catalog.manifest import LARGEST_SCHEMA
from stepwire.catalog.manifests import compile_directory
from stepwire.catalog.tools import read_catalog
from stepwire.json_text import parse
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


# ------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("name: ''", "greet.yaml: name: must be 1 to 128 letters"),
        (f"name: {'n' * 129}", "greet.yaml: name: must be 1 to 128 letters"),
        ("name: has space", "greet.yaml: name: must be 1 to 128 letters"),
        ("name: grüße", "greet.yaml: name: must be 1 to 128 letters"),
        ("name: 5", "greet.yaml: name: must be a text, not a number: put it in quotes"),
        ("title: ''", "greet.yaml: title: must not be empty"),
        ("description: ''", "greet.yaml: description: must not be empty"),
        ("state_machine: ''", "greet.yaml: state_machine: must not be empty"),
        ("input_schema: text", "greet.yaml: input_schema: must have fields"),
        ("input_schema: null", "greet.yaml: input_schema: must have fields"),
        ("input_schema: {}", "greet.yaml: input_schema: at type: must be 'object'"),
        ("input_schema: {type: array}", "greet.yaml: input_schema: at type: must be 'object'"),
        (
            "input_schema: {type: object, properties: {a: {type: strin}}}",
            "greet.yaml: input_schema: at /properties/a/type: 'strin' is no type of JSON Schema; write 'string'",
        ),
        (
            "input_schema: {type: object, properties: {a: {type: array, items: {anyOf: [{type: int}]}}}}",
            "greet.yaml: input_schema: at /properties/a/items/anyOf/0/type: 'int' is no type of JSON Schema; "
            "write 'integer'",
        ),
        (
            "input_schema: {type: object, properties: {a: {type: [date, 'null']}}}",
            "greet.yaml: input_schema: at /properties/a/type: 'date' is no type of JSON Schema; the types are string, ",
        ),
        (
            "input_schema: {type: object, properties: {type: {default: {type: int}}, b: {minLength: -1}}}",
            "greet.yaml: input_schema: at /properties/b/minLength: ",
        ),
        (
            "input_schema: {type: object, properties: {a: {$ref: 'https://schemas.example/a'}}}",
            "greet.yaml: input_schema: at the top level: ",
        ),
        (
            "input_schema: {type: object, $schema: 'http://json-schema.org/draft-07/schema#'}",
            "greet.yaml: input_schema: at $schema: ",
        ),
        (
            "input_schema: {type: object, properties: {a: {type: number, x-mcp-header: A}}}",
            "greet.yaml: input_schema: at /properties/a: x-mcp-header needs a type of ",
        ),
        (
            "output_schema: {type: Bool}",
            "greet.yaml: output_schema: at /type: 'Bool' is no type of JSON Schema; write 'bo",
        ),
        (
            f"output_schema: {{description: {'x' * LARGEST_SCHEMA}}}",
            "greet.yaml: output_schema: larger than 32768 bytes",
        ),
        ("task_support: sometimes", "greet.yaml: task_support: must be one of optional, required, forbidden"),
        ("ttl: PT59S", "greet.yaml: ttl: must be at least 1 minute"),
        ("ttl: P31D", "greet.yaml: ttl: must be at most 30 days"),
        ("ttl: a week", "greet.yaml: ttl: must be a duration such as PT30S, PT5M, PT2H or P7D"),
        ("keep_result: -PT1S", "greet.yaml: keep_result: must be at least 0 seconds"),
        ("keep_result: P31D", "greet.yaml: keep_result: must be at most 30 days"),
        ("result_prefix: '{task_id}/'", "greet.yaml: the file: at result_prefix: there is no result_bucket"),
        ("output: {object: result}", "greet.yaml: the file: at output.object: there is no result_bucket"),
        ("result_bucket: my-reports\noutput: {object: 'a['}", "greet.yaml: output: at object: "),
        ("poll_interval: 0", "greet.yaml: poll_interval: must be at least 0.1 seconds"),
        ("poll_interval: PT2H", "greet.yaml: poll_interval: must be at most 1 hour"),
        ("annotations: {readOnlyHint: 'yes'}", "greet.yaml: annotations.readOnlyHint: must be true or false"),
        (
            "annotations: {read_only: true}",
            "greet.yaml: annotations.read_only: unknown field; did you mean readOnlyHint?",
        ),
        ("client_capabilities: {elicitation: true}", "greet.yaml: client_capabilities.elicitation: must have fields"),
        ("steps: 5", "greet.yaml: steps: unknown field; there are name, title, description, state_machine, "),
        ("poll_intervall: 5", "greet.yaml: poll_intervall: unknown field; did you mean poll_interval?"),
        (
            "confirm: {mesage: Really, message: Really}",
            "greet.yaml: confirm.mesage: unknown field; did you mean message?",
        ),
        ("confirm: {message: a, shema: {}}", "greet.yaml: confirm.shema: unknown field; did you mean schema?"),
        ("confirm: Really?", "greet.yaml: confirm: must have fields, each as `name: value`"),
    ],
)
def test_a_wrong_field_is_named_with_its_file(line: str, fault: str, folder: Path) -> None:
    """M28, M34, M35, M39."""
    put(folder, with_line(line))

    (found,) = faults(folder)

    assert found.startswith(fault)


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "/",
        "reports/",
        "{principal}",
        "/{principal}/",
        "{owner}/",
        "../{principal}/",
        "{principal}/./",
        "a//{task_id}/",
    ],
)
def test_a_prefix_without_the_task_or_its_caller_is_refused(prefix: str, folder: Path) -> None:
    put(folder, f"{dedent(SMALLEST)}result_bucket: my-reports\nresult_prefix: '{prefix}'\n")

    (found,) = faults(folder)

    assert "result_prefix" in found


@pytest.mark.parametrize("field", ["name", "description", "state_machine", "input_schema"])
def test_a_field_that_is_missing_is_named(field: str, folder: Path) -> None:
    put(folder, "\n".join(line for line in dedent(SMALLEST).splitlines() if not line.startswith(field)))

    assert faults(folder) == [f"greet.yaml: {field}: is missing"]


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


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("name: greet\nname: greet", "greet.yaml: line 2: the key 'name' is given twice"),
        ("input_schema:\n  type: object\n  type: array", "greet.yaml: line 3: the key 'type' is given twice"),
        ("name: [greet", "greet.yaml: line "),
        ("name: greet\n\tdescription: tab", "greet.yaml: line 2: "),
        ("name: *nobody", "greet.yaml: line 1: "),
        ("name: !!python/object/apply:os.getcwd []", "greet.yaml: line 1: "),
        ("description: 2026-08-01", "greet.yaml: line 1: 2026-08-01 is read as a date: put it in quotes"),
        ("a: 1\nb: {default: 2026-08-01T12:00:00Z}", "greet.yaml: line 2: 2026-08-01T12:00:00Z is read as a date"),
        ("name: .nan", "greet.yaml: a number is not finite"),
        ("name: 9007199254740992", "greet.yaml: no JSON: "),
        ("name: !!binary aGk=", "greet.yaml: a value has a type"),
        ("", "greet.yaml: the file is empty: write the tool's fields, `name: ...` first"),
        ("# nothing but words", "greet.yaml: the file is empty: "),
        ("- name: greet", "greet.yaml: the file: must have fields, each as `name: value`"),
        (
            "state_machine: !Ref Greet",
            "greet.yaml: line 1: the tag !Ref means nothing here: write the name itself, or quote a text that begins",
        ),
        (
            "name: greet\ntitle: Wait: and echo",
            "greet.yaml: line 2: mapping values are not allowed here: quote texts with a colon",
        ),
        ("name: a\n---\nname: b", "greet.yaml: line 2: "),
    ],
)
def test_an_invalid_file_is_named(text: str, fault: str, folder: Path) -> None:
    put(folder, text)

    (found,) = faults(folder)

    assert found.startswith(fault)


def test_a_file_that_is_not_utf_8_is_named(folder: Path) -> None:
    (folder / "greet.yaml").write_bytes(b"name: greet\ntitle: Gr\xfc\xdfe")

    (found,) = faults(folder)

    assert found == "greet.yaml: line 2: byte 0xfc is not UTF-8: save the file as UTF-8"


def test_a_file_that_cannot_be_read_is_named(folder: Path) -> None:
    (folder / "greet.yaml").mkdir()

    (found,) = faults(folder)

    assert found.startswith("greet.yaml: ")


def test_a_manifest_with_another_extension_is_named(folder: Path) -> None:
    put(folder, SMALLEST)
    (folder / "other.yml").write_text(dedent(SMALLEST))

    assert faults(folder) == ["other.yml: a manifest must end in .yaml"]
