"""Outputs given the form that a manifest says: expressions, templates, blocks and `_meta`, within bounds."""

import math
import string
import sys
import tracemalloc
from typing import Any, Final, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwire.json_text import Json, JsonObject, is_object, write
from stepwire.tasks.events import WorkCompleted
from stepwire.tasks.expression_budget import MOST_WORK, Budget, EvaluationFault
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
FUNCTIONS: Final = (
    "abs, avg, ceil, contains, ends_with, floor, join, keys, length, map, max, max_by, merge, min, min_by, not_null, "
    "reverse, sort, sort_by, starts_with, sum, to_array, to_number, to_string, type, values"
)
SCHEMA: Final = write({"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]})
LINKS: Final[JsonObject] = {"type": "resource_link", "uri": "{url}", "name": "{name}", "each": "reports"}


UNREADABLE: Final = "block 2 of the content, of type {}, is none that every client can read"
TOO_LONG: Final = "it takes too long for an output of this size: select less of it"
NO_SUM: Final = "sum(none): sum() takes array-number, and was given null"


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
            (r"{'it\'s }'}{'\''}", "it's }'"),
            ("<{reports[0]}>", '<{"url":"https://reports.example/1","name":"One"}>'),
        ],
    )  # fmt: skip
    def test_is_filled_in(self, template: str, words: str) -> None:
        assert text(template) == words

    @pytest.mark.parametrize(
        ("template", "words"),
        [
            ("{", "at character 1: '{' is not closed; write '{{' for a brace"),
            ("a {{b}} } c", "at character 9: '}' closes nothing; write '}}' for a brace"),
            ("a {b", "at character 3: '{' is not closed; write '{{' for a brace"),
            ("{a{b}", "at character 1: '{' is not closed; write '{{' for a brace"),
            ("{'}", "at character 1: '{' is not closed; write '{{' for a brace"),
            ("{}", "'' is no JMESPath expression: Invalid JMESPath expression: cannot be empty."),
            (
                "{a b}",
                "'a b' is no JMESPath expression: Unexpected token: b: Parse error at column 2, "
                'token "b" (UNQUOTED_IDENTIFIER), for expression:',
            ),
        ],
    )
    def test_that_is_none_is_refused(self, template: str, words: str) -> None:
        with pytest.raises(InvalidExpression) as refused:
            template_of(template)

        assert str(refused.value) == words


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
            ({"type": "image", "data": "{customer}!", "mimeType": "image/png"}, UNREADABLE.format("image")),
            ({"type": "text", "text": "{total}"}, UNREADABLE.format("text")),
            ({"type": "resource_link", "uri": "no uri", "name": "x"}, UNREADABLE.format("resource_link")),
            ({"type": "text", "text": "{sum(none)}"}, f"at output.content.1.text: {NO_SUM}"),
            ({"type": "text", "text": "Sum: {sum(none)}"}, f"at output.content.1.text: {NO_SUM}"),
            ({"type": "resource", "resource": {"uri": "{sum(none)}"}}, f"at output.content.1.resource.uri: {NO_SUM}"),
            ({**LINKS, "each": "sum(none)"}, f"at output.content.1.each: {NO_SUM}"),
            (
                {"type": "text", "text": f"{{customer}}{'x' * 1_000_000}"},
                "at output.content.1.text: the text is larger than 1000000 characters",
            ),
            ({"type": "text", "text": "x" * 1_000_000}, "the result is larger than 1000000 bytes of JSON"),
        ],
        ids=range(9),
    )
    def test_that_clients_could_not_read_is_a_fault(self, block: JsonObject, words: str) -> None:
        with pytest.raises(Unshapable) as fault:
            result(content=[{"type": "text", "text": "x"}, block])

        assert str(fault.value) == words

    @pytest.mark.parametrize(
        ("output", "block", "words"),
        [
            ([1] * 1_000, {"text": "x", "_meta": {"a": [1] * 34}, "each": "@"}, None),
            (
                [1] * 1_000,
                {"text": "x", "_meta": {"a": [1] * 35}, "each": "@"},
                f"at output.content.0._meta.a: {TOO_LONG}",
            ),
            (
                {"rows": ["x" * 9_970] * 100},
                {"text": "Rows: {rows}"},
                "the result is larger than 1000000 bytes of JSON",
            ),
            ({"rows": ["x" * 9_992] * 100}, {"text": "Rows: {rows}"}, f"at output.content.3.text: {TOO_LONG}"),
        ],
        ids=["parts", "too many parts", "texts", "texts that are too long"],
    )
    def test_that_takes_too_long_to_fill_in_is_a_fault(
        self, output: Json, block: JsonObject, words: str | None
    ) -> None:
        blocks = [{"type": "text", **block}] * (1 if "each" in block else 4)
        shape = write({"structured": False, "content": blocks})

        if words is None:
            assert len(shaped(output, shape)["content"]) == 1_000
            return
        with pytest.raises(Unshapable) as fault:
            shaped(output, shape)

        assert str(fault.value) == words

    def test_may_be_as_large_as_a_result_may_be(self) -> None:
        empty = len(write(result(structured=False, content=[{"type": "text", "text": ""}])))
        words = "x" * (1_000_000 - empty)

        assert len(write(result(structured=False, content=[{"type": "text", "text": words}]))) == 1_000_000
        with pytest.raises(Unshapable, match="the result is larger than"):
            result(structured=False, content=[{"type": "text", "text": f"{words}x"}])

    def test_has_a_bounded_number_of_blocks(self) -> None:
        shape = write({"content": [{"type": "text", "text": "x{@}", "each": "@"}]})

        assert len(shaped([1] * 1_000, shape)["content"]) == 1_000
        with pytest.raises(Unshapable) as fault:
            shaped([1] * 1_001, shape)

        assert str(fault.value) == "at output.content.0: the result has more than 1000 blocks"


def test_meta_has_values_of_any_type_and_leaves_out_null() -> None:
    meta = {
        "example.com/total": "{total}",
        "words": "for {customer}",
        "n": 5,
        "gone": "{none}",
        "gone too": ["{none}", 1],
        "deep": {"a": ["{total}"]},
    }

    assert result(structured=False, content=[], meta=meta)["_meta"] == {
        "example.com/total": 12.5,
        "words": "for ACME",
        "n": 5,
        "deep": {"a": [12.5]},
    }
    with pytest.raises(Unshapable) as fault:
        result(meta={"deep": {"a": ["{sum(none)}"]}})
    assert str(fault.value) == f"at output.meta.deep.a: {NO_SUM}"


def nested(depth: int) -> Json:
    """Return lists in lists."""
    value: Json = []
    for _ in range(depth):
        value = [value]
    return value


NOT_EXACT: Final = "a number is too large to be exact"
TOO_LARGE: Final = "its value is larger than 1000000 bytes of JSON"
NO_VALUE: Final[list[tuple[str, Any, str]]] = [
    ("length(@)", 5, "length() takes string or array or object, and was given number"),
    ("sum(@)", ["secret"], "sum() takes array-number, and was given str"),
    ("sort(@)", ["secret", 1], "sort() takes array-string or array-number, and was given int"),
    ("contains(@, `5`)", "secret", "a function cannot be applied to what the output holds there"),
    ("to_string(@)", nested(100_000), "the output is nested too deeply"),
    ("to_number(@)", "9007199254740992", NOT_EXACT),
    ("to_number(@)", "1e999", NOT_EXACT),
    ("sum(@)", [1e308, 1e308], NOT_EXACT),
    ("join(@, ['a', 'b'])", "x" * 499_994, TOO_LARGE),
    ("@", "x" * 999_999, TOO_LARGE),
    ("|".join(["[@,@]"] * 22), "x", TOO_LARGE),
    ("|".join(["[@,@][]"] * 9), [1] * 60_000, TOO_LARGE),
    ("|".join(["join('', [@,@])"] * 22), "x", TOO_LARGE),
    ("[*].{a: a, b: b}", [{}] * 80_000, TOO_LONG),
    ("[*].to_string(@)", [1] * 80_000, TOO_LONG),
    ("sort(@)|sort(@)", list(range(40_000)), TOO_LONG),
    ("|".join(["[::-1]"] * 12), [1] * 80_000, TOO_LONG),
]
"""Expressions, the outputs for which they have no value, and why."""
ROWS: Final[JsonObject] = {**OUTPUT, "rows": [[1, 2, 3], [4, 5]], "long": "x" * 1_000}
WORK: Final[list[tuple[str, float]]] = [
    ("total", 1),
    ("@", 6),
    ("reports[0]", 3.5),
    ("!none && total", 4),
    ("missing[]", 3),
    ("rows[]", 11.125),
    ("rows[0][::-1]", 4.75),
    ("reports[*].name", 4.5),
    ("reports[?name == 'One'].{u: url} | sort_by(@, &u)", 28.9),
    ("total < `13`", 7),
    ("long == customer", 7.03),
    ("long == long", 12.01),
    ("rows[0] == reports[0].name", 13.775),
    ("rows == `null`", 7),
    ("rows == rows", 9.015),
    ("rows == reports", 10.515),
    ("{a: long}", 3.25),
    ("[rows, rows]", 7),
    ("length(rows)", 6.95),
    ("sum(rows[0])", 8.65),
    ("sort(rows[0])", 11.5),
    ("contains(rows[0], `5`)", 9.835),
    ("join(', ', reports[].name)", 13.3),
    ("starts_with(long, 'x')", 11.025),
    ("reverse(long)", 15.02),
    ("to_string(long)", 15.02),
    ("max_by(reports, &name)", 9.7),
]
"""Expressions, and the steps that they take for `ROWS`. An endpoint that counts more in its next release refuses
outputs that it has shaped before."""
TEXTS: Final = st.recursive(
    st.text(string.ascii_letters),
    lambda of: st.lists(of) | st.dictionaries(st.text(string.ascii_letters), of),
)
"""Values without numbers and literals, whose sizes are estimates."""


def containers(value: Json) -> int:
    """Return how many lists and objects are written in a value."""
    parts = list(value.values()) if is_object(value) else cast(list[Json], value) if isinstance(value, list) else []
    return isinstance(value, list | dict) + sum(map(containers, parts))


class TestAnExpression:
    @pytest.mark.parametrize(
        ("expression", "words"),
        [
            ("lenght(@)", "there is no function lenght(); did you mean length()?"),
            ("frobnicate(@)[1:2]", f"there is no function frobnicate(); there are {FUNCTIONS}"),
            ("length()", "length() takes 1 arguments, not 0"),
            ("abs(@, @)", "abs() takes 1 arguments, not 2"),
            ("not_null()", "not_null() takes 1 or more arguments, not 0"),
            ("a[", "'a[' is no JMESPath expression: Invalid jmespath expression: Incomplete expression:"),
            ("", "'' is no JMESPath expression: Invalid JMESPath expression: cannot be empty."),
            ("a[::0]", "the step of a slice must not be 0"),
            ("a." * 310 + "a", "the expression has too many parts"),
            ("!" * 40 + "a", "the expression has too many parts"),
            (f"[{','.join('a' * 300)}]", "the expression has too many parts"),
            ("a" * 2_001, "an expression has at most 2000 characters"),
        ],
    )
    def test_that_cannot_be_served_is_refused_with_a_reason(self, expression: str, words: str) -> None:
        with pytest.raises(InvalidExpression) as refused:
            expression_of(expression)

        assert str(refused.value) == words

    def test_that_is_nested_too_deeply_is_refused(self) -> None:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(1_000)  # as in a function; some libraries that tests load raise it
        try:
            with pytest.raises(InvalidExpression) as refused:
                expression_of("(" * 900)
        finally:
            sys.setrecursionlimit(limit)

        assert str(refused.value) == "the expression is nested too deeply"

    @pytest.mark.parametrize(
        ("expression", "value"),
        [
            ("not_null(none, total, customer)", 12.5),
            ("!" * 38 + "total", True),
            ("!" * 39 + "total", False),
            (f"[{','.join(['none'] * 299)}]", [None] * 299),
            ("to_number('9007199254740991')", 9007199254740991),
            ("length(join(padding, ['a', 'b']))", 499_995),
        ],
    )
    def test_may_be_as_large_as_can_be_served(self, expression: str, value: Json) -> None:
        output = {**OUTPUT, "padding": "x" * 499_993}

        assert expression_of(expression).value_in(output, Budget()) == value

    @pytest.mark.parametrize(
        ("expression", "output", "steps"),
        [("@", "x" * 999_998, 1), ("@", nested(1), 1.25)],
        ids=["a long text", "a list"],
    )
    def test_may_take_all_steps_that_are_left(self, expression: str, output: Json, steps: float) -> None:
        assert expression_of(expression).value_in(output, Budget(steps)) == output
        with pytest.raises(EvaluationFault, match="it takes too long"):
            expression_of(expression).value_in(output, Budget(steps - 0.25))

    def test_makes_no_value_that_is_larger_than_it_may_be(self) -> None:
        output: Json = {"by": "x" * 100_000, "parts": ["a"] * 400}
        joined = expression_of("join(by, parts)")

        tracemalloc.start()
        with pytest.raises(EvaluationFault, match=TOO_LARGE):
            joined.value_in(output, Budget())
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

        assert peak < 10_000_000, "of 40 MB"

    @pytest.mark.parametrize(("expression", "output", "words"), NO_VALUE)
    def test_without_a_value_says_why_and_nothing_of_the_output(
        self, expression: str, output: Json, words: str
    ) -> None:
        with pytest.raises(EvaluationFault) as fault:
            expression_of(expression).value_in(output, Budget())

        assert str(fault.value) == words

    @pytest.mark.parametrize(("expression", "steps"), WORK)
    def test_takes_the_same_steps_in_each_release(self, expression: str, steps: float) -> None:
        budget = Budget()

        expression_of(expression).value_in(ROWS, budget)

        assert MOST_WORK - budget.left == pytest.approx(steps)

    @given(TEXTS)
    def test_has_a_value_of_the_size_that_it_would_have_as_json(self, value: Json) -> None:
        size = Budget(math.inf).size_of(value)

        assert len(write(value)) <= size <= len(write(value)) + containers(value)


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
        assert not event.result.is_error
        assert ended('{"id": 12345678901234567890}', SCHEMA, structured="{sum: id}").result.is_error

    def test_that_is_a_tool_result_already_is_passed_on(self) -> None:
        made = {"content": [{"type": "text", "text": "no"}], "isError": True}

        assert value_of(ended(write(made), structured="content")) == made
