"""What definitions of others do, which nobody here has written: each was met in a public collection."""

import sys
from pathlib import Path

import pytest

from packages.command.tests.wrap.account import Account
from packages.wrap.tests.samples import ARN, drafted, in_jsonata, machine, passed, properties_of, task
from packages.wrap.tests.shown import Shown
from stepwire.json_text import Json, JsonObject
from stepwire_cli.account.commands import Wrap, wrap
from stepwire_cli.account.machines import Chosen
from stepwire_wrap.definitions.drafts import History, Machine, TooDeepError, draft


def choice(variable: str, to: str, default: str) -> JsonObject:
    return {"Type": "Choice", "Choices": [{"Variable": variable, "IsPresent": True, "Next": to}], "Default": default}


def test_an_input_that_is_an_object_or_an_array_is_described_as_the_object() -> None:
    definition = machine(
        Which=choice("$.query", "Direct", "Queued"),
        Direct=passed("Ask", Parameters={"query.$": "$.query"}),
        Queued=passed("Ask", InputPath="$[0].body", Parameters={"query.$": "States.StringToJson($)"}),
        Ask=task(Parameters={"FunctionName": "ask", "Payload": {"query.$": "$.query"}}),
    )

    made = drafted(definition)

    assert made.manifest["input_schema"] == {"type": "object", "properties": {"query": {}}}
    assert made.conflicts == (
        "the input: the definition reads an array or an object, and a tool's arguments are an object",
    )


def test_a_part_that_one_way_reads_as_an_array_and_another_as_an_object_may_be_both() -> None:
    definition = machine(A=passed(Parameters={"x.$": "$.order.id", "y.$": "$.order[0].id"}))

    assert properties_of(definition)["order"]["type"] == ["object", "array"]


def test_texts_that_stand_for_a_dynamodb_item_s_values_are_allowed_as_they_are() -> None:
    item = {"id.$": "$.id", "count": {"N.$": "$.count"}}
    definition = machine(Put=task(resource="dynamodb:putItem", Parameters={"TableName": "t", "Item": item}))

    assert properties_of(definition) == {"id": {}, "count": {"type": "string"}}


def merging(**given: str) -> JsonObject:
    first = task("Ship", Parameters={"FunctionName": "price"}, ResultPath="$.price")
    return machine(Price=first, Ship=task(Parameters={"FunctionName": "ship", **given}))


@pytest.mark.parametrize(
    ("definition", "states"),
    [
        (merging(**{"Payload.$": "$"}), "Ship"),
        (merging(**{"Payload.$": "$$"}), "Ship"),
        (merging(**{"Payload.$": "$$.Execution"}), "Ship"),
        (merging(**{"Payload.$": "$.price"}), None),
        (machine(Price=task("Ship", "aws-sdk:s3:listBuckets", Parameters={}, ResultPath="$.x"),
                 Ship={"Type": "Task", "Resource": "arn:aws:lambda:::function:ship", "End": True}), "Ship"),
        (machine(Keep=passed("Ship", Parameters={"all.$": "$"}), Ship=task(Parameters={"Payload.$": "$"})), "Ship"),
        (machine(Keep=passed(Parameters={"all.$": "$"})), None),
        (in_jsonata(Ship=task(Arguments={"FunctionName": "f", "Payload": "{% $states.context %}"})), "Ship"),
    ],
)  # fmt: skip
def test_a_task_that_gets_the_whole_input_is_named_whatever_was_merged_into_it(
    definition: JsonObject, states: str | None
) -> None:
    lines = [line for line in drafted(definition).text.splitlines() if "gets the whole input" in line]

    assert lines == ([] if states is None else [f"# {states}: gets the whole input and may read more than is listed."])


@pytest.mark.parametrize(
    ("resource", "parameters", "kind"),
    [
        ("aws-sdk:redshiftdata:executeStatement", {"Sql.$": "$.x"}, "string"),
        ("aws-sdk:emrserverless:startJobRun", {"ExecutionTimeoutMinutes.$": "$.x"}, "integer"),
        ("aws-sdk:bedrockagent:startIngestionJob", {"DataSourceId.$": "$.x"}, "string"),
        ("aws-sdk:cognitoidentityprovider:adminGetUser", {"Username.$": "$.x"}, "string"),
        ("bedrock:invokeModel", {"ModelId.$": "$.x"}, "string"),
        ("bedrock:invokeModel", {"Body.$": "$.x"}, None),
        ("apigateway:invoke.waitForTaskToken", {"Path.$": "$.x"}, "string"),
        ("http:invoke", {"ApiEndpoint.$": "$.x"}, "string"),
        ("http:invoke", {"RequestBody.$": "$.x"}, None),
        ("elasticmapreduce:createCluster.sync", {"Name.$": "$.x"}, "string"),
        ("elasticmapreduce:addStep.sync", {"Step": {"Name.$": "$.x"}}, None),
        ("elasticmapreduce:addStep.sync", {"Step.$": "$.x"}, "object"),
        ("lambda:invoke", {"FunctionName.$": "$.x"}, "string"),
        ("lambda:invoke", {"Payload.$": "$.x"}, None),
        ("kinesis:putRecord", {"Data.$": "$.x"}, None),
    ],
)
def test_services_that_step_functions_calls_otherwise_give_types_too(
    resource: str, parameters: JsonObject, kind: str | None
) -> None:
    definition = machine(A=task(resource=resource, Parameters=parameters))

    assert properties_of(definition)["x"] == ({} if kind is None else {"type": kind})


def test_a_resource_with_the_name_of_the_partition_as_a_reference_is_known() -> None:
    state = {**task(Parameters={"TopicArn.$": "$.x"}), "Resource": "arn:${AWS::Partition}:states:::sns:publish"}

    assert properties_of(machine(A=state))["x"] == {"type": "string"}


@pytest.mark.parametrize(
    ("definition", "told"),
    [
        ({"StartAt": "Gone", "States": {"A": passed()}}, "StartAt names no state: 'Gone'"),
        (machine(A=passed("Gone")), "state A leads to no state: 'Gone'"),
        (machine(A=passed(), QueryLanguage={"is": "here"}), "'QueryLanguage' among its states has no Type"),
    ],
)
def test_a_definition_that_step_functions_refuses_is_told(definition: JsonObject, told: str) -> None:
    assert drafted(definition).conflicts == (f"the definition, which Step Functions refuses: {told}",)


def test_calls_inside_calls_without_end_are_told_and_end_nothing() -> None:
    text = "States.Format(" * 1_500 + "$.x" + ")" * 1_500

    (told,) = drafted(machine(A=passed(Parameters={"x.$": text}))).conflicts

    assert told.startswith("state A: intrinsic functions are nested more than 20 deep: States.Format(")


def test_a_draft_of_a_definition_that_is_nested_too_deeply_is_refused() -> None:
    deep: Json = {}
    for _ in range(100_000):
        deep = {"a": deep}

    with pytest.raises(TooDeepError, match="nested too deeply"):
        draft("orders", Machine(ARN, "Orders", in_jsonata(A=passed(Output=deep))), History())


def test_a_machine_that_is_nested_too_deeply_is_one_line_and_the_others_are_wrapped(tmp_path: Path) -> None:
    account, screen = Account(), Shown()
    account.add("Orders", machine(A=passed()))
    account.add("Bottomless", '{"a":' * 100_000)

    assert wrap(Wrap(Chosen(("Bottomless", "Orders")), tmp_path), account.calls, screen) == 1

    assert [row[0] for row in screen.results] == ["orders"]
    assert [line.partition(" ")[0] for line in screen.said if " its definition " in line] == ["Bottomless:"]


@pytest.mark.parametrize("path", [None, *(pytest.param(path, marks=pytest.mark.long) for path in ("$.r{}", "$.r.r{}"))])
def test_states_that_each_add_one_member_take_linear_time(path: str | None) -> None:
    def steps(count: int) -> int:
        names = [f"S{number}" for number in range(count)]
        states: JsonObject = {
            name: passed(after, Parameters={"x.$": f"$.m{name}"}, ResultPath=path and path.format(name))
            for name, after in zip(names, [*names[1:], None], strict=True)
        }
        counted = 0

        def count_calls(_frame: object, event: str, _argument: object) -> None:
            nonlocal counted
            counted += event == "call"

        sys.setprofile(count_calls)
        try:
            draft("orders", Machine(ARN, "Orders", {"StartAt": "S0", "States": states}), History())
        finally:
            sys.setprofile(None)
        return counted

    assert steps(400) < 3 * steps(200)


def test_a_machine_found_by_its_stack_takes_the_stack_s_name_if_its_own_says_nothing(tmp_path: Path) -> None:
    account, screen = Account(), Shown()
    account.add(
        "StateMachine-Ab3dEf6hIj9k", machine(A=passed()), team="shop", **{"aws:cloudformation:stack-name": "pickup"}
    )

    wrap(Wrap(Chosen(tag=("team", "shop")), tmp_path), account.calls, screen)

    assert [row[0] for row in screen.results] == ["pickup"]
