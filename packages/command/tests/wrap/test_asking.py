"""The lines that wrap proposes for a state that waits for a person, on the local stack: users accept and decline."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

import pytest
import yaml
from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult

from packages.wrap.tests.samples import in_jsonata, machine, passed, task
from stepwire.json_text import JsonObject, as_object
from stepwire_client import Callbacks, Pace, connect
from stepwire_local import LocalStack
from stepwire_wrap.definitions.asking import asking_instead
from stepwire_wrap.definitions.deciders import Decider
from stepwire_wrap.definitions.people import waiting_for_people
from tests.integration.stacks import ROOT

pytestmark = pytest.mark.anyio

MAIL: Final = "sns:publish.waitForTaskToken"
IN_JSONPATH: Final = machine(
    Ask=task("Agreed?", MAIL, ResultPath="$.approval", Parameters={
        "TopicArn": "managers", "Message.$": "States.Format('Please approve {} for {}', $.article, $.price)"}),
    **{"Agreed?": {"Type": "Choice", "Default": "Refused", "Choices": [
        {"Variable": "$.approval.approved", "BooleanEquals": True, "Next": "Bought"}]}},
    Bought=passed(Parameters={"by.$": "$.approval.manager"}),
    Refused=passed(Parameters={
        "why.$": "States.Format('{} refused: {}', $.article, $.approval.comment)",
        "least.$": "States.MathAdd($.approval.offer, 0)"}),
)  # fmt: skip
IN_JSONATA: Final = in_jsonata(
    Ask=task("Agreed?", MAIL,
        Arguments={"TopicArn": "managers", "Message": (
            "{% 'Please approve ' & $states.input.article & ' for ' & $states.input.price %}")},
        Output={"decision": "{% $states.result.decision %}", "by": "{% $states.result.manager %}"},
        Assign={"why": "{% $states.result.comment %}", "offer": "{% $states.result.offer %}"},
    ),
    **{"Agreed?": {"Type": "Choice", "Default": "Refused", "Choices": [
        {"Condition": "{% $states.input.decision = 'approved' %}", "Next": "Bought"}]}},
    Bought=passed(Output={"by": "{% $states.input.by %}"}),
    Refused=passed(Output={"why": "{% 'refused: ' & $why & $states.input.by %}", "least": "{% $offer + 0 %}"}),
)  # fmt: skip
TOOLS: Final = {"in_jsonpath": IN_JSONPATH, "in_jsonata": IN_JSONATA}
ARGUMENTS: Final = {"article": "a desk", "price": 9}
ANSWER: Final[dict[str, Any]] = {"approved": True, "decision": "approved", "manager": "Ann", "comment": "", "offer": 1}


def asking(definition: JsonObject) -> JsonObject:
    """Return a definition with the lines in the place of the state that waits for a person."""
    (found,) = waiting_for_people(definition)
    lines = as_object(yaml.safe_load("\n".join(asking_instead(found, Decider.CALLER).lines())))
    return {**definition, "States": {**definition["States"], **lines}}


def resources_of(tool: str, definition: JsonObject) -> JsonObject:
    function = {"Fn::Sub": "{{resolve:ssm:/stepwire/${Endpoint}/input_requests}}"}
    manifest = {"name": tool, "description": "Buys.", "state_machine": f"${{{tool.title().replace('_', '')}}}",
                "poll_interval": "PT0.5S", "input_schema": {"type": "object"}}  # fmt: skip
    return {
        tool.title().replace("_", ""): {"Type": "AWS::Serverless::StateMachine", "Properties": {
            "Definition": asking(definition),
            "DefinitionSubstitutions": {"Partition": {"Ref": "AWS::Partition"}, "InputRequestsFunctionArn": function},
            "Policies": [{"Statement": [
                {"Effect": "Allow", "Action": "lambda:InvokeFunction", "Resource": function}]}],
            "Tags": {"stepwire:endpoint": {"Ref": "Endpoint"}}}},
        f"{tool.title().replace('_', '')}Tool": {"Type": "AWS::SSM::Parameter", "Properties": {
            "Name": {"Fn::Sub": f"/stepwire/${{Endpoint}}/tools/{tool}"}, "Type": "String",
            "Value": {"Fn::Sub": json.dumps(manifest)}}},
    }  # fmt: skip


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    template = tmp_path_factory.mktemp("purchases") / "template.json"
    template.write_text(json.dumps({
        "Transform": "AWS::Serverless-2016-10-31", "Parameters": {"Endpoint": {"Type": "String"}},
        "Resources": {name: one for tool, each in TOOLS.items() for name, one in resources_of(tool, each).items()},
    }))  # fmt: skip
    with LocalStack(ROOT / "stack.yaml", others=[template], parameters={"PollsPerSecond": "0"}) as stack:
        yield stack


@pytest.mark.parametrize(
    ("tool", "action", "output"),
    [
        ("in_jsonpath", "accept", {"by": "Ann"}),
        ("in_jsonpath", "decline", {"why": "a desk refused: ", "least": 0}),
        ("in_jsonata", "accept", {"by": "Ann"}),
        ("in_jsonata", "decline", {"why": "refused: ", "least": 0}),
    ],
)
async def test_who_declines_gets_the_workflow_s_own_no(
    stack: LocalStack, tool: str, action: Any, output: JsonObject
) -> None:
    asked: list[str] = []

    async def answer(params: ElicitRequestParams) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        asked.append(params.message)
        content = {name: ANSWER[name] for name in params.requested_schema["properties"]}
        return ElicitResult(action=action, content=content if action == "accept" else None)

    async with connect(
        stack.url, callbacks=Callbacks(elicit=answer), pace=Pace(longest=timedelta(seconds=0.1))
    ) as client:
        result = await client.call_tool(tool, ARGUMENTS)

    assert asked == ["Please approve a desk for 9. Your answer?"]
    assert (result.is_error, result.structured_content) == (False, output), result.content
