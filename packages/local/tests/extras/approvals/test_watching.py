"""What is told of a manifest with approvers that changes while its template is served."""

import json

import yaml

from packages.local.tests.test_watching import Beside


def test_what_a_tool_misses_since_a_change_is_told_once(beside: Beside) -> None:
    question = {"key": "approval", "elicitation": {"message": "May I?"}}
    asks = {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
        "Parameters": {"FunctionName": "f", "Payload": question},
        "End": True,
    }
    (beside.folder / "workflow.asl.json").write_text(json.dumps({"StartAt": "Ask", "States": {"Ask": asks}}))
    manifest = {
        "name": "orders",
        "description": "Ships an order.",
        "state_machine": "${Machine}",
        "input_schema": {"type": "object"},
        "approvers": {"scope": "orders", "questions": ["apporval"]},
    }
    body = yaml.safe_load(beside.template.read_text(encoding="utf-8"))
    properties = {
        "Name": f"/stepwire/{beside.stack.name}/tools/orders",
        "Type": "String",
        "Value": {"Fn::Sub": json.dumps(manifest)},
    }
    body["Resources"]["Tool"] = {"Type": "AWS::SSM::Parameter", "Properties": properties}
    beside.template.write_text(yaml.safe_dump(body), encoding="utf-8")
    beside.watching.look()
    beside.include("two and more")
    beside.watching.look()

    doubtful = "orders: approvers.questions: no state asks apporval (did you mean approval?), "
    lines = [line for line in beside.lines if "orders: approvers" in line[0]]
    assert lines == [(f"{doubtful}and the caller answers approval (state Ask)", True)]
