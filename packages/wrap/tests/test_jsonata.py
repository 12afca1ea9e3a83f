"""Inference from definitions in JSONata."""

import pytest

from packages.wrap.tests.samples import drafted, in_jsonata, machine, passed, properties_of, schema_of, task
from stepwire.json_text import JsonObject


def computed(expression: str) -> JsonObject:
    return in_jsonata(A=passed(Output={"x": f"{{% {expression} %}}"}))


@pytest.mark.parametrize(
    ("expression", "expected", "required"),
    [
        ("$states.input.a", {"a": {}}, ["a"]),
        ("$states.context.Execution.Input.`a b`.c",
         {"a b": {"type": "object", "properties": {"c": {}}, "required": ["c"]}}, ["a b"]),
        ("$uppercase($states.input.a)", {"a": {"type": "string"}}, ["a"]),
        ("$states.input.a * 2 + 1", {"a": {"type": "number"}}, ["a"]),
        ("-$states.input.a", {"a": {"type": "number"}}, ["a"]),
        ("$exists($states.input.a) ? $states.input.a : 3", {"a": {}}, None),
        ("$states.input.a = 'x' ? 1 : 2", {"a": {"type": "string", "description": 'The workflow knows "x".'}}, None),
        ("$states.input.a & '!'", {"a": {}}, None),
        ("$states.input.list[0].id", {"list": {"type": "array", "items": {"type": "object", "properties": {"id": {}}}}},
         ["list"]),
        ("$states.input.list[price > 3].id",
         {"list": {"type": "array",
                   "items": {"type": "object", "properties": {"price": {"type": "number"}, "id": {}}}}}, ["list"]),
        ("$map($states.input.list, function($v, $i) { $v.id & $i })",
         {"list": {"type": "array", "items": {"type": "object", "properties": {"id": {}}}}}, ["list"]),
        ("$sum($states.input.lines.price)", {"lines": {"properties": {"price": {}}, "required": ["price"]}}, ["lines"]),
        ("$sum($states.input.prices)", {"prices": {"type": "array"}}, ["prices"]),
        ("($x := $states.input.a; $y := $x.b; $y)",
         {"a": {"type": "object", "properties": {"b": {}}, "required": ["b"]}}, ["a"]),
        ("$states.input.a ~> $length()", {"a": {"type": "string"}}, ["a"]),
        ("$lookup($states.input, 'a')", {"a": {}}, None),
        ("$merge([$states.input.a, {'b': 1}]).b", {"a": {"type": "object"}}, None),
        ("$states.input.a in ['p', 'q']",
         {"a": {"type": "string", "description": 'The workflow knows "p", "q".'}}, None),
        ("'constant'", {}, None),
    ],
)  # fmt: skip
def test_an_expression_shows_which_properties_it_reads(
    expression: str, expected: JsonObject, required: list[str] | None
) -> None:
    schema = schema_of(computed(expression))

    assert schema.get("properties", {}) == expected
    assert schema.get("required") == required


def test_variables_and_merged_inputs_lead_back_to_the_input() -> None:
    definition = in_jsonata(
        Keep=task(
            "Use",
            Arguments={"FunctionName": "f", "Payload": "{% $states.input %}"},
            Assign={"order": "{% $states.input.order %}", "more": "{% $merge([$states.input, {'made': 1}]) %}"},
        ),
        Use=passed(
            Output={
                "id": "{% $order.id %}",
                "made": "{% $more.made %}",
                "b": "{% $more.b %}",
                "r": "{% $states.input.r %}",
            }
        ),
    )

    schema = schema_of(definition)

    assert set(schema["properties"]) == {"order", "b"}, "r is the result of the function"
    assert schema["required"] == ["order", "b"]


def test_a_condition_gives_enums_and_bounds_as_in_jsonpath() -> None:
    definition = in_jsonata(
        Which={
            "Type": "Choice",
            "Choices": [
                {"Condition": "{% $states.input.n < 1 or $states.input.n > 9 %}", "Next": "Stop"},
                {"Condition": "{% $states.input.kind in ['a', 'b'] %}", "Next": "Go"},
            ],
            "Default": "Stop",
        },
        Go=passed(),
        Stop={"Type": "Fail"},
    )

    schema = schema_of(definition)

    assert schema["properties"] == {
        "n": {"type": "number", "minimum": 1, "maximum": 9},
        "kind": {"type": "string", "enum": ["a", "b"]},
    }
    assert schema["required"] == ["n", "kind"]


def test_states_of_both_languages_in_one_definition() -> None:
    definition = machine(
        First=passed("Second", Parameters={"x.$": "$.a"}, ResultPath="$.first"),
        Second={"QueryLanguage": "JSONata", "Type": "Pass", "Output": {"y": "{% $states.input.b %}"}, "End": True},
    )

    assert set(properties_of(definition)) == {"a", "b"}


def test_a_map_in_jsonata_reads_its_items() -> None:
    definition = in_jsonata(
        Each={
            "Type": "Map",
            "Items": "{% $states.input.rows %}",
            "ItemSelector": {"row": "{% $states.context.Map.Item.Value %}"},
            "ItemProcessor": machine(One=passed(Output={"z": "{% $states.input.row.id %}"})),
            "End": True,
        }
    )

    assert schema_of(definition)["properties"]["rows"] == {
        "type": "array",
        "items": {"type": "object", "properties": {"id": {}}, "required": ["id"]},
    }


@pytest.mark.parametrize("language", ["JSONPath", "JSONata"])
def test_a_distributed_map_reads_how_many_items_it_reads_and_batches(language: str) -> None:
    def field(name: str) -> JsonObject:
        text = name[0].lower() + name[1:]
        return {f"{name}Path": f"$.{text}"} if language == "JSONPath" else {name: f"{{% $states.input.{text} %}}"}

    definition = machine(
        All={
            "Type": "Map",
            "ItemReader": {"Resource": "arn:aws:states:::s3:getObject", "ReaderConfig": field("MaxItems")},
            "ItemBatcher": field("MaxItemsPerBatch") | field("MaxInputBytesPerBatch"),
            "ItemProcessor": machine(One=passed()),
            "End": True,
        }
    )

    schema = schema_of({**definition, "QueryLanguage": language})

    names = ["maxItems", "maxItemsPerBatch", "maxInputBytesPerBatch"]
    assert schema["properties"] == {name: {"type": "integer"} for name in names}
    assert schema["required"] == names


def test_an_invalid_expression_is_reported_with_its_state_and_the_rest_is_read() -> None:
    made = drafted(in_jsonata(A=passed(Output={"x": "{% $states.input.( %}", "y": "{% $states.input.y %}"})))

    assert list(made.manifest["input_schema"]["properties"]) == ["y"]
    assert made.conflicts == ("state A: this is no JSONata: $states.input.(",)


@pytest.mark.parametrize(
    "expression", ["$" * 30, "(" * 400 + ")" * 400, "$a." * 300 + "b", "function($x){$x}", "**.a", "%.a", "/a/", ""]
)
def test_no_expression_raises_an_error(expression: str) -> None:
    assert schema_of(computed(expression))["type"] == "object"
