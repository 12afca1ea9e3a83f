"""Several templates on one local stack: the endpoint's, and those of stacks beside it."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from packages.local.tests.conftest import TEMPLATE
from stepwire_local import LocalStack, TemplateError

Json = dict[str, Any]


def beside(folder: Path, **resources: Json) -> Path:
    """Write the template of a stack with a parameter of its own."""
    path = folder / "beside.yaml"
    parameters = {"Endpoint": {"Type": "String", "Default": "somebody"}, "Colour": {"Type": "String", "Default": "red"}}
    path.write_text(yaml.safe_dump({"Parameters": parameters, "Resources": resources}), encoding="utf-8")
    return path


def parameter(value: Any, **more: Any) -> Json:
    return {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": value, **more}}


def value_of(stack: LocalStack, logical_id: str) -> str:
    return stack.client("ssm").get_parameter(Name=stack.physical_ids[logical_id])["Parameter"]["Value"]


def test_a_stack_beside_the_first_is_told_its_name(tmp_path: Path) -> None:
    template = beside(tmp_path, Told=parameter({"Ref": "Endpoint"}))

    with LocalStack(TEMPLATE, others=[template]) as usual:
        told, name = value_of(usual, "Told"), usual.name
    with LocalStack(TEMPLATE, others=[template], name="stepwire") as named:
        told_by_name = value_of(named, "Told")

    assert told == name
    assert told_by_name == "stepwire"


def test_a_parameter_goes_to_whichever_template_declares_it(tmp_path: Path) -> None:
    template = beside(tmp_path, Colour=parameter({"Ref": "Colour"}))

    with LocalStack(TEMPLATE, others=[template], parameters={"Colour": "blue", "Greeting": "moin"}) as stack:
        assert value_of(stack, "Colour") == "blue"
    with (
        pytest.raises(TemplateError, match="no parameter Nobodys"),
        LocalStack(TEMPLATE, others=[template], parameters={"Nobodys": "1"}),
    ):
        pass


def test_a_stack_reads_the_parameter_of_another_by_a_dynamic_reference(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    of = beside(first, Address=parameter("arn:of:a:function", Name="/stepwire/x/input_requests"))
    reader = beside(second, Read=parameter({"Fn::Sub": "to {{resolve:ssm:/stepwire/x/input_requests}}!"}))

    with LocalStack(TEMPLATE, others=[of, reader]) as stack:
        assert value_of(stack, "Read") == "to arn:of:a:function!"


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("{{resolve:ssm:/nowhere}}", "there is no parameter /nowhere"),
        ("{{resolve:ssm-secure:/nowhere}}", "references to ssm only"),
    ],
)
def test_a_reference_that_leads_nowhere_is_one_line(tmp_path: Path, reference: str, words: str) -> None:
    template = beside(tmp_path, Read=parameter(reference))

    with pytest.raises(TemplateError, match=words), LocalStack(TEMPLATE, others=[template]):
        pass


def test_what_calls_a_stack_beside_the_first_from_outside_can_be_spared(tmp_path: Path) -> None:
    arn = "arn:aws:dynamodb:us-east-1:123456789012:table/theirs/stream/1"
    template = beside(
        tmp_path,
        Api={"Type": "AWS::ApiGatewayV2::Api", "Properties": {"ProtocolType": "WEBSOCKET"}},
        Stage={"Type": "AWS::ApiGatewayV2::Stage", "Properties": {"ApiId": {"Ref": "Api"}, "StageName": "live"}},
        Stream={"Type": "AWS::Lambda::EventSourceMapping", "Properties": {"EventSourceArn": arn, "FunctionName": "f"}},
        Bucket={"Type": "AWS::S3::Bucket"},
        Told=parameter({"Fn::GetAtt": ["Bucket", "WebsiteURL"]}),
    )

    with LocalStack(TEMPLATE, others=[template]) as stack:
        told, notes = value_of(stack, "Told"), stack.not_served

    assert told == "Bucket.WebsiteURL-is-not-served-locally"
    assert "Bucket: its attribute WebsiteURL is not served" in notes
    spared = [note for note in notes if note.endswith("is not served so.")]
    assert [note.partition(":")[0] for note in spared] == ["Api", "Stream"]


def test_of_resources_with_one_logical_id_the_first_stack_s_counts(tmp_path: Path) -> None:
    template = beside(tmp_path, ApiFunction=parameter("not the function"))

    with LocalStack(TEMPLATE, others=[template]) as stack:
        first, other = stack.deployments

        assert stack.physical_ids["ApiFunction"] == first.physical_ids["ApiFunction"]
        assert other.physical_ids["ApiFunction"] != first.physical_ids["ApiFunction"]


def test_nothing_of_any_stack_remains(tmp_path: Path) -> None:
    template = beside(tmp_path, Fixed=parameter(json.dumps({}), Name="/fixed"))

    for _ in range(2):
        with LocalStack(TEMPLATE, others=[template]) as stack:
            assert value_of(stack, "Fixed") == "{}"


TOOL = {
    "name": "settle",
    "description": "Settles.",
    "state_machine": "arn:aws:states:us-east-1:123456789012:stateMachine:s",
    "input_schema": {"type": "object"},
}


def test_of_two_stacks_that_register_one_tool_the_second_is_refused_by_name(tmp_path: Path) -> None:
    text = json.dumps(TOOL)
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
    first = beside(tmp_path / "first", Settle=parameter(text, Name="/stepwire/x/tools/settle"))
    second = beside(tmp_path / "second", SettleToo=parameter(text, Name="/stepwire/x/tools/settle"))

    with (
        pytest.raises(TemplateError, match=r"SettleToo: .*ParameterAlreadyExists"),
        LocalStack(TEMPLATE, others=[first, second]),
    ):
        pass


@pytest.mark.parametrize(("tier", "size"), [("Standard", 4_097), ("Advanced", 8_193)])
def test_a_manifest_that_is_larger_than_its_parameter_may_be_is_refused_by_name(
    tmp_path: Path, tier: str, size: int
) -> None:
    fits = beside(tmp_path, Large=parameter("x" * (size - 1), Tier=tier))

    with LocalStack(TEMPLATE, others=[fits]) as stack:
        assert len(value_of(stack, "Large")) == size - 1
    large = beside(tmp_path, Large=parameter("x" * size, Tier=tier))
    with pytest.raises(TemplateError, match=r"Large: .*maximum parameter value"), LocalStack(TEMPLATE, others=[large]):
        pass
