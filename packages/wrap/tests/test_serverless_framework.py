"""`stepwire wrap` of projects of the Serverless Framework."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from packages.wrap.tests.shown import Shown
from stepwire_wrap.definitions.snippets import Tool
from stepwire_wrap.drafting import Place
from stepwire_wrap.wrapping import wrap

SERVICE: dict[str, Any] = {
    "service": "orders",
    "provider": {"name": "aws", "stage": "${opt:stage, 'test'}"},
    "custom": {"shop": "${self:service}-${sls:stage}"},
    "functions": {"ship-order": {"handler": "code/ship.handler"}},
}
GET_ARN = {"Fn::GetAtt": ["ship-order", "Arn"]}


def definition(resource: object = GET_ARN) -> dict[str, Any]:
    return {"StartAt": "Ship", "States": {"Ship": {"Type": "Task", "Resource": resource, "End": True}}}


def wrapped(folder: Path, service: dict[str, Any], **files: object) -> dict[str, str]:
    """Return the manifests of a project with these files."""
    (folder / "code").mkdir()
    (folder / "code" / "ship.py").write_text("def handler(event, context): return event['order']")
    (folder / "code" / "bill.py").write_text("def handler(event, context): return event['bill']")
    for name, value in (files | {"serverless": service}).items():
        (folder / f"{name}.yml").write_text(yaml.safe_dump(value))
    assert wrap([folder], Place(folder / "tools", "live"), Shown()) == 0
    return {one.stem: one.read_text() for one in (folder / "tools").glob("*.yaml")}


@pytest.mark.parametrize(
    "resource",
    [
        GET_ARN,
        {"Ref": "ship-order"},
        {"Fn::GetAtt": ["ShipDashorderLambdaFunction", "Arn"]},
        "arn:aws:lambda:eu-central-1:123456789012:function:orders-test-ship-order",
        "arn:aws:lambda:${aws:region}:${aws:accountId}:function:${self:custom.shop}-ship-order",
    ],
)
def test_the_functions_of_a_service_are_read(tmp_path: Path, resource: object) -> None:
    machines = {"shipping": {"name": "${self:custom.shop}-shipping", "definition": definition(resource)}}

    made = wrapped(tmp_path, {**SERVICE, "stepFunctions": {"stateMachines": machines}})

    assert "state_machine: shipping  # the logical id in its template" in made["shipping"]
    assert "order: {}  # read by Ship (code/ship.py:1)" in made["shipping"]
    assert "its definition with the code of its functions: no run was read" in made["shipping"]


def test_a_name_that_has_no_stage_is_the_state_machine_s_in_each_deployment(tmp_path: Path) -> None:
    machines = {"shipping": {"name": "${self:service}-shipping", "definition": definition()}}

    made = wrapped(tmp_path, {**SERVICE, "stepFunctions": {"stateMachines": machines}})

    assert "state_machine: orders-shipping\n" in made["orders_shipping"]


@pytest.mark.parametrize(("key", "logical_id"), [("shipping", "shipping"), ("ship-orders", "ShipOrders")])
def test_the_lines_for_a_service_name_its_own_state_machine_at_no_stage(
    tmp_path: Path, key: str, logical_id: str
) -> None:
    machines = {key: {"name": "shop-${self:provider.stage}-a", "definition": definition()}}
    (tmp_path / "serverless.yml").write_text(yaml.safe_dump({**SERVICE, "stepFunctions": {"stateMachines": machines}}))
    screen = Shown()

    wrap([tmp_path], Place(tmp_path / "tools", "live", Tool.SERVERLESS), screen)

    (text,) = screen.results
    assert text.startswith(f"stepFunctions:\n  stateMachines:\n    {key}:  # yours, as it is\n      id: {logical_id}\n")
    assert f'"state_machine":"${{{logical_id}}}"' in text
    assert "test" not in text


@pytest.mark.parametrize("fields", [{"type": "EXPRESS"}, {}])
def test_what_a_service_includes_is_read_once(tmp_path: Path, fields: dict[str, str]) -> None:
    included = "${file(flow.yml)}"
    machines = {"one": {**fields, "id": "Shipping", "definition": included}, "two": "${file(./machines.yml):billing}"}
    service = {**SERVICE, "functions": ["${file(functions.yml)}"], "stepFunctions": {"stateMachines": machines}}

    made = wrapped(
        tmp_path, service, flow=definition(), functions=SERVICE["functions"],
        machines={"billing": {"definition": definition()}},
    )  # fmt: skip

    assert sorted(made) == ["shipping", "two"]
    assert all("order: {}" in text for text in made.values())
    assert ("task_support: forbidden" in made["shipping"]) is bool(fields)


def test_resources_of_a_service_are_those_of_a_template(tmp_path: Path) -> None:
    text = {"Fn::Sub": json.dumps(definition("${ShipDashorderLambdaFunction.Arn}"))}
    machine = {"Type": "AWS::StepFunctions::StateMachine", "Properties": {"DefinitionString": text}}

    made = wrapped(tmp_path, {**SERVICE, "resources": {"Resources": {"Shipping": machine}}})

    assert "order: {}" in made["shipping"]


@pytest.mark.parametrize(
    "machines", ["${file(gone.yml)}", "${self:custom.machines}", "${self:stepFunctions.stateMachines}", None, 1]
)
def test_variables_without_a_value_spoil_nothing(tmp_path: Path, machines: object) -> None:
    made = wrapped(tmp_path, {**SERVICE, "stepFunctions": {"stateMachines": machines}}, other=definition())

    assert list(made) == ["other"]
