"""The manifest as text, and the lines that register it."""

import json
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as some

from packages.wrap.tests.samples import ARN, drafted, machine, passed
from stepwire.catalog.tools import OWN_TOOLS
from stepwire.json_text import JsonObject
from stepwire.manifests.reading import read_manifest
from stepwire_wrap.definitions.drafts import cut, iso
from stepwire_wrap.definitions.names import tool_name
from stepwire_wrap.definitions.snippets import Tool, snippet
from stepwire_wrap.definitions.yaml_text import yaml_lines
from stepwire_wrap.findings import LARGEST_PARAMETER
from tests.terraform import evaluated, is_formatted, needs_terraform

DEFINITION = {
    "Comment": "Ships an order: 'soon' or ${later}, ${machine.x}; `now`, with {{{braces}}}.",
    **machine(A=passed(Parameters={"x.$": "$.customer.id", "y.$": "$.yes"})),
}
_TEXT = some.text(some.characters(exclude_categories=["Cs"]), max_size=12)
_JSON = some.recursive(
    some.none()
    | some.booleans()
    | some.integers(-(2**53), 2**53)
    | some.floats(allow_nan=False, allow_infinity=False)
    | _TEXT,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(some.dictionaries(_TEXT, _JSON, max_size=4), some.text(max_size=20))
def test_every_value_is_read_back_unchanged(value: JsonObject, note: str) -> None:
    notes = {(name,): note for name in value}

    text = "\n".join(yaml_lines(value, notes)) + "\n"

    assert yaml.safe_load(text) == (value or None)


def test_the_text_names_the_source_of_each_part() -> None:
    made = drafted(DEFINITION, [{"customer": {"id": "a"}, "yes": True}] * 12, seconds=[30.0])

    assert made.text.splitlines()[:3] == [
        "# Inferred from its definition and 12 of its runs that succeeded.",
        "# Review the description and what the properties mean:",
        "# models choose the tool and fill in its arguments by these words.",
    ]
    assert '    "yes": {type: boolean}  # read by A; in 12 of 12 runs' in made.text
    assert "poll_interval: PT5S  # half of 1 runs took at most 30 seconds" in made.text


@pytest.mark.parametrize(
    ("machine_name", "expected"),
    [
        ("OrderPipeline", "order_pipeline"),
        ("my-stack-OrderPipeline-Ab3dEf6hIj9k", "my_stack_order_pipeline"),
        ("order-pipeline-production", "order_pipeline_production"),
        ("HTTPServer2Go", "http_server2_go"),
        ("CheckoutStateMachine-jGkqSCtDbxAl", "checkout_state_machine"),
        ("orders-Reconciliation", "orders_reconciliation"),
        ("orders-CreateOrders", "orders_create_orders"),
        ("orders-MyAPIGateway", "orders_my_api_gateway"),
        ("ImportJSONtoDynamoDB", "import_json_to_dynamodb"),
        ("SignPDFs", "sign_pdfs"),
        ("GitHubIssuesFromIoTDevices", "github_issues_from_iot_devices"),
        ("a.b--c_d", "a_b_c_d"),
        ("x" * 80, "x" * 64),
        ("注文", "workflow_513433ee"),
    ],
)
def test_a_tool_is_named_after_its_machine(machine_name: str, expected: str) -> None:
    assert tool_name(machine_name) == expected


@pytest.mark.parametrize(
    ("machine_name", "stack", "expected"),
    [
        ("StateMachine-Ab3dEf6hIj9k", "curbside-pickup", "curbside_pickup"),
        ("MyStateMachine", "shop", "shop"),
        ("MyStateMachine", "", "my_state_machine"),
        ("Orders", "shop", "orders"),
    ],
)
def test_a_machine_that_is_only_called_a_machine_is_named_after_its_stack(
    machine_name: str, stack: str, expected: str
) -> None:
    assert tool_name(machine_name, (), stack) == expected


def test_what_changes_how_a_line_is_shown_is_escaped() -> None:
    text = "\n".join(yaml_lines({"a": "x\u202ey\u200b\U000e0041"}, {}))

    assert text == '"a": "x\\u202ey\\u200b\\U000e0041"'.replace('"a"', "a")
    assert yaml.safe_load(text) == {"a": "x\u202ey\u200b\U000e0041"}


def test_tool_names_are_unique_and_not_those_of_stepwire() -> None:
    assert tool_name("Orders", ["orders", "orders_2"]) == "orders_3"
    assert tool_name("x" * 80, ["x" * 64]) == "x" * 60 + "_2"
    assert all(tool_name(one) == f"{one}_2" for one in OWN_TOOLS)


def test_a_manifest_is_registered_with_its_comments_if_it_fits_into_a_free_parameter() -> None:
    small = drafted(DEFINITION)
    names = [f"member_{number}_{'x' * 40}" for number in range(60)]
    middle = drafted(machine(A=passed(Parameters={f"{name}.$": f"$.{name}" for name in names[:40]})))
    large = drafted(machine(A=passed(Parameters={f"{name}.$": f"$.a.{name}.b.c" for name in names})))
    huge = drafted(machine(A=passed(Parameters={f"{name}{n}.$": f"$.{name}{n}" for name in names for n in range(4)})))

    assert small.parameter() == small.text
    for one in (middle, large, huge):
        assert len(one.parameter().encode()) <= LARGEST_PARAMETER
        assert read_manifest(one.parameter()).name == "orders"
    assert json.loads(middle.parameter())["input_schema"] == middle.manifest["input_schema"]
    assert json.loads(huge.parameter())["input_schema"] == {"type": "object"}


def test_a_schema_that_manifests_do_not_allow_is_cut_and_reported() -> None:
    made = drafted(machine(A=passed(Parameters={f"m{n}{'x' * 50}.$": f"$.m{n}{'x' * 50}" for n in range(600)})))

    assert made.manifest["input_schema"] == {"type": "object"}
    assert made.conflicts == ("the input: its schema would have more than 32768 bytes, so properties are left out",)


def test_a_schema_is_cut_by_levels() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}},
        "required": ["a"],
    }

    assert cut(schema, 1) == {"type": "object", "properties": {"a": {"type": "object"}}, "required": ["a"]}
    assert cut(schema, 2) == schema


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        (timedelta(days=7), "P7D"),
        (timedelta(hours=36), "PT36H"),
        (timedelta(minutes=2), "PT2M"),
        (timedelta(seconds=90), "PT90S"),
        (timedelta(), "PT0S"),
    ],
)
def test_durations_are_written_in_the_form_of_manifests(duration: timedelta, expected: str) -> None:
    assert iso(duration) == expected


class _Loader(yaml.SafeLoader):
    """Reads the tags of CloudFormation."""


def _text(loader: yaml.SafeLoader, node: yaml.Node) -> str:
    assert isinstance(node, yaml.ScalarNode)
    return str(loader.construct_scalar(node))


_Loader.add_constructor("!Sub", _text)
_Loader.add_constructor("!Ref", _text)


def substituted(text: str) -> str:
    """Substitute as Fn::Sub does."""
    return re.sub(r"\$\{(!?)([^}]*)\}", lambda found: f"${{{found[2]}}}" if found[1] else ARN, text)


def _loaded(text: str) -> Any:
    return yaml.load(text, _Loader)


def _of_sam(text: str) -> str:
    resources = _loaded(text)
    assert resources["Orders"]["Properties"]["Tags"] == {"stepwire:endpoint": "Endpoint"}
    properties = resources["OrdersTool"]["Properties"]
    assert properties["Name"] == "/stepwire/${Endpoint}/tools/orders"
    assert "# a parameter of the template: Endpoint: {Type: String, Default: live}" in text
    return substituted(properties["Value"])


def _of_serverless(text: str) -> str:
    value = _loaded(text)["resources"]["Resources"]["OrdersTool"]["Properties"]["Value"]["Fn::Sub"]
    return substituted(value)


def _of_cdk(text: str) -> str:
    (value,) = re.findall(r"stringValue: `((?:[^`\\]|\\.)*)`", text)
    value = value.replace("${machine.stateMachineArn}", ARN)
    assert re.findall(r"(?<!\\)\$\{", value) == [], "what is evaluated"
    return re.sub(r"\\(.)", r"\1", value)


def _of_terraform(text: str) -> str:
    (value,) = re.findall(r"<<-MANIFEST\n(.*)  MANIFEST", text, re.DOTALL)
    return value.replace("${aws_sfn_state_machine.orders.arn}", ARN).replace("$${", "${").replace("%%{", "%{")


of_each_tool = pytest.mark.parametrize(
    ("tool", "value_of"),
    [(Tool.SAM, _of_sam), (Tool.CDK, _of_cdk), (Tool.TERRAFORM, _of_terraform), (Tool.SERVERLESS, _of_serverless)],
    ids=lambda one: getattr(one, "value", ""),
)


@of_each_tool
def test_what_a_snippet_registers_fits_a_parameter(tool: Tool, value_of: Any) -> None:
    names = {f"member_{number}_{'x' * 40}.$": f"$.m{number}_{'x' * 40}" for number in range(200)}

    value: str = value_of(snippet(drafted(machine(A=passed(Parameters=names))), "live", tool))

    assert len(value.strip().encode()) <= LARGEST_PARAMETER
    assert read_manifest(value).name == "orders"


def test_a_snippet_of_terraform_has_a_name_that_begins_with_no_digit() -> None:
    made = replace(drafted(DEFINITION), name="3d_render")

    text = snippet(made, "live", Tool.TERRAFORM)

    assert 'resource "aws_sfn_state_machine" "workflow_3d_render"' in text
    assert "${aws_sfn_state_machine.workflow_3d_render.arn}" in text
    assert 'name  = "/stepwire/live/tools/3d_render"' in text


@of_each_tool
def test_a_snippet_registers_the_draft(tool: Tool, value_of: Any) -> None:
    made = drafted(DEFINITION)

    value: str = value_of(snippet(made, "live", tool))

    assert read_manifest(value) == read_manifest(made.text)
    assert "{{" not in value, "Systems Manager would take it for another parameter"
    assert "stepwire:endpoint" in snippet(made, "live", tool)
    assert f"with the tag stepwire:tools = {made.name} too, no other tool may start it" in snippet(made, "live", tool)


@needs_terraform
def test_terraform_itself_reads_its_snippet(tmp_path: Path) -> None:
    made = drafted(DEFINITION)
    text = snippet(made, "live", Tool.TERRAFORM)
    (manifest,) = re.findall(r"value = (<<-MANIFEST\n.*  MANIFEST)", text, re.DOTALL)

    value = evaluated(manifest.replace("aws_sfn_state_machine.orders.arn", f'"{ARN}"'), tmp_path)

    assert is_formatted(text)
    assert read_manifest(value) == read_manifest(made.text)
