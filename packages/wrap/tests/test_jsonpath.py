"""Inference from definitions in JSONPath."""

import pytest

from packages.wrap.tests.samples import drafted, machine, passed, properties_of, schema_of, task
from stepwire.json_text import JsonObject


def choice(*rules: JsonObject, default: str | None = None) -> JsonObject:
    return {"Type": "Choice", "Choices": list(rules), **({"Default": default} if default else {})}


def rule(variable: str, to: str = "Go", **test: object) -> JsonObject:
    return {"Variable": variable, "Next": to, **test}


FAIL: JsonObject = {"Type": "Fail", "Error": "Refused"}


def chosen(*rules: JsonObject, default: str | None = "Stop") -> JsonObject:
    return machine(Which=choice(*rules, default=default), Go=passed(), Other=passed(), Stop=FAIL)


def test_a_path_gives_a_property_which_is_required_if_every_run_reads_it() -> None:
    definition = machine(First=passed(Parameters={"x.$": "$.customer.id", "y.$": "$$.Execution.Input.region"}))

    assert schema_of(definition) == {
        "type": "object",
        "properties": {
            "customer": {"type": "object", "properties": {"id": {}}, "required": ["id"]},
            "region": {},
        },
        "required": ["customer", "region"],
    }


def test_the_output_of_an_earlier_state_is_not_a_property() -> None:
    definition = machine(
        Find=task("Use", ResultPath="$.found", Parameters={"FunctionName": "find", "Payload.$": "$.query"}),
        Use=passed("Last", Parameters={"name.$": "$.found.name", "query.$": "$.query"}),
        Last=passed(Parameters={"n.$": "$.name"}),
    )

    assert list(properties_of(definition)) == ["query"]


def test_a_result_that_replaces_the_input_hides_it_except_in_the_context_object() -> None:
    definition = machine(
        Find=task("Use", Parameters={"FunctionName": "find", "Payload.$": "$.query"}),
        Use=passed(Parameters={"a.$": "$.made", "b.$": "$$.Execution.Input.kept"}),
    )

    assert list(properties_of(definition)) == ["query", "kept"]


def test_a_property_that_only_some_branches_read_is_not_required() -> None:
    definition = machine(
        Which=choice(rule("$.kind", "A", StringEquals="a"), default="B"),
        A=passed(Parameters={"x.$": "$.only_a", "y.$": "$.both"}),
        B=passed(Parameters={"y.$": "$.both"}),
    )

    schema = schema_of(definition)

    assert schema["required"] == ["kind", "both"]
    assert list(schema["properties"]) == ["kind", "only_a", "both"]


def test_what_a_rule_that_is_always_evaluated_compares_with_is_required() -> None:
    compared = rule("$.sum", NumericGreaterThanPath="$.limit")

    schema = schema_of(chosen(compared, rule("$.sum", NumericLessThanPath="$.least")))

    assert schema["required"] == ["sum", "limit"]
    assert list(schema["properties"]) == ["sum", "limit", "least"]


def test_a_property_that_only_an_error_handler_reads_is_not_required() -> None:
    definition = machine(
        Work=task(
            "Done",
            Parameters={"FunctionName": "f", "Payload.$": "$.given"},
            ResultPath="$.done",
            OutputPath="$.late",
            Catch=[{"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "Tell"}],
        ),
        Done=passed(),
        Tell=passed(Parameters={"to.$": "$.owner", "why.$": "$.error.Cause"}),
    )

    schema = schema_of(definition)

    assert list(schema["properties"]) == ["given", "late", "owner"]
    assert schema["required"] == ["given"]


@pytest.mark.parametrize(
    ("rules", "default", "expected"),
    [
        ([rule("$.x", StringEquals="a"), rule("$.x", StringEquals="b")], "Stop", {"enum": ["a", "b"]}),
        ([rule("$.x", StringEquals="a"), rule("$.x", StringEquals="b")], None, {"enum": ["a", "b"]}),
        ([rule("$.x", StringEquals="a")], "Other", {"description": 'The workflow knows "a".'}),
        ([rule("$.x", "Stop", StringEquals="a")], "Go", {"description": 'The workflow knows "a".'}),
    ],
)
def test_a_choice_gives_an_enum_only_if_all_other_values_fail(
    rules: list[JsonObject], default: str | None, expected: JsonObject
) -> None:
    assert properties_of(chosen(*rules, default=default))["x"] == {"type": "string", **expected}


@pytest.mark.parametrize(
    ("rules", "default", "expected"),
    [
        ([rule("$.n", "Stop", NumericLessThan=1)], "Go", {"minimum": 1}),
        ([rule("$.n", "Stop", NumericGreaterThanEquals=10)], "Go", {"exclusiveMaximum": 10}),
        ([{"Next": "Go", "And": [rule("$.n", NumericGreaterThan=0), rule("$.n", NumericLessThanEquals=9)]}], "Stop",
         {"maximum": 9, "exclusiveMinimum": 0}),
        ([{"Next": "Stop", "Or": [rule("$.n", NumericLessThan=1), rule("$.n", NumericGreaterThan=5)]}], "Go",
         {"minimum": 1, "maximum": 5}),
        ([{"Next": "Stop", "Not": rule("$.n", NumericLessThan=7)}], "Go", {"exclusiveMaximum": 7}),
        ([rule("$.n", NumericGreaterThan=100)], "Other", {}),
    ],
)  # fmt: skip
def test_a_choice_gives_bounds_only_if_all_values_beyond_them_fail(
    rules: list[JsonObject], default: str, expected: JsonObject
) -> None:
    assert properties_of(chosen(*rules, default=default))["n"] == {"type": "number", **expected}


def test_a_choice_that_some_runs_do_not_reach_gives_no_limits() -> None:
    definition = machine(
        First=choice(rule("$.skip", "Go", BooleanEquals=True), default="Which"),
        Which=choice(rule("$.x", "Go", StringEquals="a"), default="Stop"),
        Go=passed(),
        Stop=FAIL,
    )

    assert "enum" not in properties_of(definition)["x"]


def test_a_member_that_is_tested_for_presence_is_optional_and_its_default_comes_from_the_definition() -> None:
    definition = machine(
        Has={
            "Type": "Choice",
            "Choices": [
                {"Next": "Use", "And": [rule("$.limit", IsPresent=True), rule("$.limit", NumericGreaterThan=0)]}
            ],
            "Default": "Set",
        },
        Set=passed("Use", Result=10, ResultPath="$.limit"),
        Use=passed(Parameters={"x.$": "$.limit"}),
    )
    many = [{"limit": 3}] * 50

    schema = schema_of(definition, [*many])

    assert schema["properties"]["limit"] == {"type": "number"}
    assert "required" not in schema


def test_a_choice_that_rejects_every_value_is_reported_and_gives_no_schema() -> None:
    rules = {"Next": "Go", "And": [rule("$.n", NumericGreaterThan=9), rule("$.n", NumericLessThan=1)]}

    made = drafted(chosen(rules))

    assert made.manifest["input_schema"]["properties"]["n"] == {"type": "number"}
    assert "n: the definition lets no number pass: none is at least 9 and at most 1" in made.conflicts
    assert "# Look at n: the definition lets no number pass" in made.text


def test_the_items_of_a_map_give_the_item_schema_of_an_array() -> None:
    inner = machine(One=passed(Parameters={"sku.$": "$.item.sku", "note.$": "$.note"}))
    definition = machine(
        Each={
            "Type": "Map",
            "ItemsPath": "$.order.lines",
            "ItemSelector": {"item.$": "$$.Map.Item.Value", "note.$": "$.note"},
            "ItemProcessor": inner,
            "End": True,
        }
    )

    schema = schema_of(definition)

    lines = schema["properties"]["order"]["properties"]["lines"]
    assert lines == {
        "type": "array",
        "items": {"type": "object", "properties": {"sku": {}}, "required": ["sku"]},
    }
    assert schema["required"] == ["order", "note"]


def test_properties_that_any_parallel_branch_reads_are_required() -> None:
    branches = [machine(A=passed(Parameters={"x.$": "$.a"})), machine(B=passed(Parameters={"x.$": "$.b"}))]
    definition = machine(Both={"Type": "Parallel", "Branches": branches, "End": True})

    assert schema_of(definition)["required"] == ["a", "b"]


def test_fields_and_intrinsic_functions_give_the_types_of_what_they_read() -> None:
    definition = machine(
        Sleep={"Type": "Wait", "SecondsPath": "$.pause", "Next": "Until"},
        Until={"Type": "Wait", "TimestampPath": "$.when", "Next": "Count"},
        Count=passed(
            Parameters={
                "sum.$": "States.MathAdd($.count, 1)",
                "text.$": "States.Format('Hello {}, (really)', $.name)",
                "first.$": "States.ArrayGetItem($.list, 0)",
                "words.$": "States.StringSplit(States.Base64Decode($.coded), ',')",
                "third.$": "$.rows[2].id",
            }
        ),
    )

    found = properties_of(definition)

    assert found == {
        "pause": {"type": "number"},
        "when": {"type": "string", "format": "date-time"},
        "count": {"type": "integer"},
        "name": {},
        "list": {"type": "array"},
        "coded": {"type": "string"},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"id": {}}, "required": ["id"]}},
    }


def test_a_service_model_gives_the_types_and_enums_of_parameters() -> None:
    definition = machine(
        Put=task(
            resource="aws-sdk:s3:putObject",
            Parameters={"Bucket.$": "$.bucket", "ACL.$": "$.acl", "Body.$": "$.content", "ContentLength.$": "$.size"},
        )
    )

    found = properties_of(definition)

    assert found["bucket"] == {"type": "string"}
    assert found["acl"]["enum"][:2] == ["private", "public-read"]
    assert (found["content"], found["size"]) == ({}, {"type": "integer"})


def test_a_counting_loop_reads_its_initial_value() -> None:
    definition = machine(
        Count=passed("More", Parameters={"n.$": "States.MathAdd($.n, 1)", "end.$": "$.end"}),
        More=choice(rule("$.n", "Done", NumericGreaterThan=5), default="Count"),
        Done=passed(),
    )

    assert set(properties_of(definition)) == {"n", "end"}


ODD: list[JsonObject] = [
    {},
    {"StartAt": "Gone", "States": {"A": {"Type": "Pass", "Next": "A"}}},
    {"StartAt": 3, "States": []},
    machine(A={"Type": "Pass", "InputPath": 3, "Parameters": [1, {"a.$": 2}], "Next": "B"}),
    machine(A={"Type": "Map", "Iterator": 3, "ItemsPath": "broken [", "Next": "A"}),
    machine(A={"Type": "Choice", "Choices": [3, {"And": 3}, {"Variable": 4}], "Default": 5}),
    machine(A=passed(Parameters={"a.$": "States.Format('unended, $.x", "b.$": "$..deep", "c.$": "$.a[?(@.b>1)]"})),
    machine(A={"Type": "Wait", "SecondsPath": "$", "Next": "A"}),
    machine(A=passed(Result=None, ResultPath="$.a['b c'][0]")),
    {"StartAt": "A", "States": {"A": {"Type": "Parallel", "Branches": [None, {}], "End": True}}},
]


@pytest.mark.parametrize("definition", ODD)
def test_no_definition_raises_an_error(definition: JsonObject) -> None:
    assert schema_of(definition)["type"] == "object"


def test_deeply_nested_states_are_read_to_a_limited_depth() -> None:
    definition = machine(A=passed(Parameters={"x.$": "$.x"}))
    for _ in range(50):
        definition = machine(A={"Type": "Parallel", "Branches": [definition], "End": True})

    assert schema_of(definition) == {"type": "object"}


def test_an_array_as_the_input_is_reported() -> None:
    definition = machine(Each={"Type": "Map", "ItemProcessor": machine(A=passed()), "End": True})

    (told,) = drafted(definition).conflicts

    assert told == "the input: the definition reads an array, and a tool's arguments are an object"


@pytest.mark.parametrize(("result", "names"), [("$.paid", ["id"]), (None, ["id", "paid"])])
def test_what_a_failed_state_would_have_made_is_not_the_callers(result: str | None, names: list[str]) -> None:
    caught = [{"ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "Undo"}]
    definition = machine(
        Pay=task("Done", ResultPath=result, Catch=caught, Parameters={"FunctionName": "f", "Payload.$": "$.id"}),
        Undo=passed(Parameters={"x.$": "$.paid"}),
        Done=passed(),
    )

    assert list(properties_of(definition)) == names
