"""Outputs given the form that a manifest says: expressions, templates, blocks and `_meta`, within bounds."""

from typing import Any, Final

import pytest

from stepwire.json_text import Json, JsonObject, write
from stepwire.tasks.events import WorkCompleted
from stepwire.tasks.expression_budget import Budget, EvaluationFault
from stepwire.tasks.expressions import InvalidExpression, expression_of
from stepwire.tasks.outcomes import Succeeded, event_of
from stepwire.tasks.task import Causes, ToolResult
from stepwire.tasks.tool_results import Unshapable, shaped, template_of

OUTPUT: Final[JsonObject] = {
    "total": 12.5,
    "customer": "ACME",
    "none": None,
    "reports": [
        {"url": "https://reports.example/1", "name": "One"},
        {"url": "https://reports.example/2", "name": "Two"},
    ],
    "chart": "aGVsbG8=",
}  # fmt: skip
SCHEMA: Final = write({"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]})
LINKS: Final[JsonObject] = {"type": "resource_link", "uri": "{url}", "name": "{name}", "each": "reports"}


def result(**shape: Any) -> JsonObject:
    return shaped(OUTPUT, write(shape))


def text(template: str) -> str:
    (block,) = result(content=[{"type": "text", "text": template}])["content"]
    return block["text"]


def ended(output: str, output_schema: str | None = None, **shape: Any) -> WorkCompleted:
    event = event_of(Succeeded(output), output_schema, Causes.REDACTED, write(shape))
    assert isinstance(event, WorkCompleted)
    return event


def value_of(event: WorkCompleted) -> JsonObject:
    assert isinstance(event.result, ToolResult)
    return event.result.value()


class TestStructuredContent:
    def test_is_the_value_of_its_expression_and_the_text_is_its_json(self) -> None:
        assert result(structured="{sum: total, reports: length(reports)}") == {
            "content": [{"type": "text", "text": '{"sum":12.5,"reports":2}'}],
            "structuredContent": {"sum": 12.5, "reports": 2},
            "isError": False,
        }

    def test_is_the_whole_output_without_an_expression(self) -> None:
        assert result(content=[])["structuredContent"] == OUTPUT

    def test_is_left_out_where_the_shape_says_so(self) -> None:
        assert "structuredContent" not in result(structured=False, content=[{"type": "text", "text": "done"}])

    def test_may_be_null(self) -> None:
        assert result(structured="missing")["structuredContent"] is None


class TestATemplate:
    @pytest.mark.parametrize(
        ("template", "words"),
        [
            ("plain", "plain"),
            ("{customer} pays {total} EUR", "ACME pays 12.5 EUR"),
            ("{length(reports)} reports: {reports[].name | join(', ', @)}", "2 reports: One, Two"),
            ("{none}{customer}{missing}", "ACME"),
            ("{{{customer}}}", "{ACME}"),
            ("x {{a: 1}} y", "x {a: 1} y"),
            ("{ {a: total} } and { `{\"b\": \"}\"}` }", '{"a":12.5} and {"b":"}"}'),
            ("{'}'}{customer || '{'}", "}ACME"),
            ("<{reports[0]}>", '<{"url":"https://reports.example/1","name":"One"}>'),
        ],
    )  # fmt: skip
    def test_is_filled_in(self, template: str, words: str) -> None:
        assert text(template) == words

    @pytest.mark.parametrize("template", ["{", "a } b", "{a", "{a{b}", "{}", "{a b}", "{nosuch(@)}", "{'}"])
    def test_that_is_none_is_refused(self, template: str) -> None:
        with pytest.raises(InvalidExpression):
            template_of(template)


class TestContent:
    def test_is_of_several_kinds(self) -> None:
        blocks = [
            {"type": "text", "text": "For {customer}"},
            {"type": "image", "data": "{chart}", "mimeType": "image/png", "annotations": {"audience": ["user"]}},
            LINKS,
            {"type": "resource", "resource": {"uri": "note:{customer}", "text": "{none}{total}"}},
        ]

        assert result(structured=False, content=blocks)["content"] == [
            {"type": "text", "text": "For ACME"},
            {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png", "annotations": {"audience": ["user"]}},
            {"type": "resource_link", "uri": "https://reports.example/1", "name": "One"},
            {"type": "resource_link", "uri": "https://reports.example/2", "name": "Two"},
            {"type": "resource", "resource": {"uri": "note:ACME", "text": "12.5"}},
        ]

    @pytest.mark.parametrize(
        "block",
        [
            {"type": "image", "data": "{none}", "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "a:b", "text": "{missing}"}},
            {**LINKS, "each": "missing"},
            {**LINKS, "each": "total"},
        ],
    )
    def test_leaves_out_a_block_for_which_there_is_nothing(self, block: JsonObject) -> None:
        assert result(content=[block])["content"] == []

    @pytest.mark.parametrize(
        ("block", "words"),
        [
            ({"type": "image", "data": "{customer}!", "mimeType": "image/png"}, "block 1 .*, of type image"),
            ({"type": "text", "text": "{total}"}, "block 1 of the content, of type text"),
            ({"type": "resource_link", "uri": "no uri", "name": "x"}, "block 1 of the content, of type resource_link"),
        ],
    )  # fmt: skip
    def test_that_clients_could_not_read_is_a_fault(self, block: JsonObject, words: str) -> None:
        with pytest.raises(Unshapable, match=words):
            result(content=[block])

    def test_has_a_bounded_number_of_blocks(self) -> None:
        with pytest.raises(Unshapable, match="more than 1000 blocks"):
            shaped([1] * 2_000, write({"content": [{"type": "text", "text": "x{@}", "each": "@"}]}))


def test_meta_has_values_of_any_type_and_leaves_out_null() -> None:
    meta = {
        "example.com/total": "{total}",
        "words": "for {customer}",
        "n": 5,
        "gone": "{none}",
        "deep": {"a": ["{total}"]},
    }

    assert result(structured=False, content=[], meta=meta)["_meta"] == {
        "example.com/total": 12.5,
        "words": "for ACME",
        "n": 5,
        "deep": {"a": [12.5]},
    }


NO_VALUE: Final[list[tuple[str, Any, str]]] = [
    ("length(@)", 5, "length() takes string or array or object, and was given number"),
    ("sum(@)", ["secret"], "sum() takes"),
    ("sort(@)", ["secret", 1], "sort() takes"),
    ("to_number(@)", "9" * 20, "too large to be exact"),
    ("to_number(@)", "1e999", "too large to be exact"),
    ("sum(@)", [1e308, 1e308], "too large to be exact"),
    ("join(@, ['a', 'b', 'c', 'd', 'e', 'f'])", "x" * 250_000, "larger than 1000000 bytes"),
    ("|".join(["[@,@]"] * 22), "x", "larger than 1000000 bytes"),
    ("|".join(["[@,@][]"] * 9), [1] * 60_000, "larger than 1000000 bytes"),
    ("|".join(["join('', [@,@])"] * 22), "x", "larger than 1000000 bytes"),
    ("[*].{a: a, b: b}", [{}] * 80_000, "takes too long"),
    ("[*].to_string(@)", [1] * 80_000, "takes too long"),
    ("sort(@)|sort(@)", list(range(40_000)), "takes too long"),
    ("|".join(["[::-1]"] * 12), [1] * 80_000, "takes too long"),
]
"""Expressions, the outputs for which they have no value, and why."""


class TestAnExpression:
    @pytest.mark.parametrize(
        ("expression", "words"),
        [
            ("lenght(@)", "there is no function lenght(); did you mean length()?"),
            ("frobnicate(@)", "there are abs, avg"),
            ("length()", "length() takes 1 arguments, not 0"),
            ("not_null()", "not_null() takes 1 or more arguments, not 0"),
            ("a[", "is no JMESPath expression"),
            ("", "is no JMESPath expression"),
            ("a[::0]", "step"),
            ("a." * 310 + "a", "too many parts"),
            ("(" * 900, "expression"),
            ("a" * 2_001, "at most 2000 characters"),
            ("|".join(["[@]"] * 200), "too many parts"),
        ],
    )
    def test_that_cannot_be_served_is_refused_with_a_reason(self, expression: str, words: str) -> None:
        with pytest.raises(InvalidExpression) as refused:
            expression_of(expression)

        assert words in str(refused.value)

    @pytest.mark.parametrize(("expression", "output", "words"), NO_VALUE)
    def test_without_a_value_says_why_and_nothing_of_the_output(
        self, expression: str, output: Json, words: str
    ) -> None:
        with pytest.raises(EvaluationFault) as fault:
            expression_of(expression).value_in(output, Budget())

        assert words in str(fault.value)
        assert "secret" not in str(fault.value)

    def test_has_the_same_work_for_the_same_output(self) -> None:
        first, second = Budget(), Budget()

        for budget in (first, second):
            expression_of("reports[?name == 'One'].{u: url} | sort_by(@, &u)").value_in(OUTPUT, budget)

        assert first.left == second.left


class TestAnEnd:
    def test_is_checked_against_the_promised_schema_after_it_is_shaped(self) -> None:
        good = ended(write(OUTPUT), SCHEMA, structured="{sum: total}")
        bad = ended(write(OUTPUT), SCHEMA, structured="{sum: customer}")

        assert value_of(good)["structuredContent"] == {"sum": 12.5}
        assert value_of(bad)["isError"]
        assert "not what the tool's output schema promises" in value_of(bad)["content"][0]["text"]

    @pytest.mark.parametrize("schema", [None, SCHEMA])
    def test_that_cannot_be_shaped_reaches_the_caller_as_text_and_the_operator_as_a_reason(
        self, schema: str | None
    ) -> None:
        event = ended('{"a": "raw"}', schema, structured="sum(a)")

        value = value_of(event)
        assert [block["text"] for block in value["content"]] == [
            "The workflow succeeded, but its output cannot be given the form that the tool's manifest says: at "
            "output.structured: sum(a): sum() takes array-number, and was given string. The output follows as text.",
            '{"a": "raw"}',
        ]
        assert value["isError"] is (schema is not None)
        assert "structuredContent" not in value
        assert event.shaping_fault is not None
        assert "raw" not in event.shaping_fault

    def test_whose_output_json_readers_understand_differently_is_not_shaped(self) -> None:
        event = ended('{"id": 12345678901234567890}', structured="id")

        assert value_of(event)["content"][1]["text"] == '{"id": 12345678901234567890}'
        assert event.shaping_fault is not None

    def test_that_is_a_tool_result_already_is_passed_on(self) -> None:
        made = {"content": [{"type": "text", "text": "no"}], "isError": True}

        assert value_of(ended(write(made), structured="content")) == made
