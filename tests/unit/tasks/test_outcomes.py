"""What the end of an execution means for its task."""

import pytest
from hypothesis import given

from stepwire.json_text import Json, JsonObject, write
from stepwire.tasks.events import WorkCompleted
from stepwire.tasks.outcomes import (
    Succeeded,
)
from stepwire.tasks.task import ToolResult
from stepwire.tasks.tool_results import MOST_BLOCKS
from tests.kits import OUTPUT, OUTPUT_SCHEMA
from tests.strategies import json_values
from tests.unit.tasks.outcomes import completed

TEXT: JsonObject = {"type": "text", "text": "hello"}
NEAR_MISSES: list[Json] = [
    {"content": "text"},
    {"content": None},
    {"isError": True},
    {"structuredContent": {}},
    {"content": [TEXT], "isError": "yes"},
    {"content": [TEXT], "isError": None},
    {"content": [TEXT], "_meta": []},
    {"content": [TEXT], "title": "a page of mine"},
    {"content": ["text"]},
    {"content": [[]]},
    {"content": [{"text": "hello"}]},
    {"content": [{"type": "text"}]},
    {"content": [{"type": "text", "text": 1}]},
    {"content": [{**TEXT, "title": "a text of mine"}]},
    {"content": [{**TEXT, "annotations": {"audience": ["me"]}}]},
    {"content": [{**TEXT, "annotations": {"color": "red"}}]},
    {"content": [{**TEXT, "_meta": []}]},
    {"content": [{"type": "resource", "resource": {"uri": "file:///a", "text": "a", "title": "mine"}}]},
    {"content": [{"type": "resource", "resource": {"uri": "file:///a", "text": "a", "blob": "aGk="}}]},
    {"content": [{"type": "resource", "resource": {"uri": "file:///a"}}]},
    {"content": [{"type": "resource", "resource": {"text": "a"}}]},
    {"content": [{"type": "image", "data": "aGk="}]},
    {"content": [{"type": "resource", "resource": "file:///a"}]},
    {"content": [{"type": "resource_link", "uri": "file:///a"}]},
    {"content": [{"type": "video", "data": "aGk=", "mimeType": "video/mp4"}]},
    {"content": [{"type": ["text"], "text": "hello"}]},
    {"content": [TEXT, {"type": "text"}]},
    [{"content": [TEXT]}],
]
"""Outputs that look like a CallToolResult but are not valid."""
LARGE_INTEGER = "an integer is beyond ±(2^53 - 1) and would lose digits; send it as a string"
INEXACT = {
    "": "EOF while parsing a value at line 1 column 0",
    "nonsense": "expected ident at line 1 column 2",
    '{"a":1,"a":2}': "the key 'a' is given twice in one object",
    "NaN": "expected value at line 1 column 1",
    "9007199254740992": LARGE_INTEGER,
    '{"id":1234567890123456789}': LARGE_INTEGER,
    '{"amount":12345678901234567.89}': "the number 12345678901234567.89 would lose digits; send it as a string",
    '{"amount":1e-400}': "the number 1e-400 would lose digits; send it as a string",
    "[" * 1_000: "recursion limit exceeded at line 1 column 202",
    "9" * 5_000: "number out of range at line 1 column 4302",
}
"""Outputs that some JSON parser rejects, or reads differently than another, and why."""


def answer(output: Json, output_schema: JsonObject | None = None) -> JsonObject:
    """Return the CallToolResult that an output becomes; check that the task agrees about is_error."""
    result = completed(Succeeded(write(output)), output_schema).result
    assert isinstance(result, ToolResult)
    value = result.value()
    assert result.is_error == value["isError"]
    return value


def value_of(event: WorkCompleted) -> JsonObject:
    """Return the CallToolResult of an answer."""
    assert isinstance(event.result, ToolResult)
    return event.result.value()


class TestAnOutput:
    @given(json_values)
    def test_is_returned_as_structured_content_and_as_text(self, output: Json) -> None:
        """M36."""
        value = answer({"value": output})

        assert value == {
            "content": [{"type": "text", "text": write({"value": output})}],
            "structuredContent": {"value": output},
            "isError": False,
        }

    @pytest.mark.parametrize("output", [None, True, 0, 1.5, "text", [], [1, "2"], {}])
    def test_may_be_any_json_value(self, output: Json) -> None:
        """M36."""
        value = answer(output)

        assert value["structuredContent"] == output
        assert value["content"] == [{"type": "text", "text": write(output)}]

    @pytest.mark.parametrize("depth", [199, 200, 201, 202, 10_000])
    def test_of_any_depth_makes_a_readable_result(self, depth: int) -> None:
        event = completed(Succeeded("[" * depth + "]" * depth))

        assert isinstance(event.result, ToolResult)
        assert event.result.value()["content"]

    @pytest.mark.parametrize("output", INEXACT)
    def test_that_readers_could_understand_differently_is_returned_as_text(self, output: str) -> None:
        """X11: the work is done, so the caller gets its output unchanged, as text."""
        event = completed(Succeeded(output))

        assert event.result.is_error is False
        assert event.message is None
        assert value_of(event) == {"content": [{"type": "text", "text": output}], "isError": False}

    @pytest.mark.parametrize(("output", "reason"), INEXACT.items(), ids=range(len(INEXACT)))
    def test_that_cannot_be_structured_content_is_an_error_that_contains_the_text(
        self, output: str, reason: str
    ) -> None:
        """M36."""
        event = completed(Succeeded(output), OUTPUT_SCHEMA)

        assert event.result.is_error
        why, whole = value_of(event)["content"]
        assert why["text"].startswith("The workflow succeeded, but its output cannot be the structured content")
        assert why["text"].endswith(f"that the tool promises: {reason}. The output follows as text.")
        assert whole["text"] == output

    @pytest.mark.parametrize("is_error", [',"isError":true', ',"isError":false', ""])
    def test_that_is_a_call_tool_result_keeps_its_blocks_if_its_structured_content_is_inexact(
        self, is_error: str
    ) -> None:
        output = f'{{"content":[{write(TEXT)}],"structuredContent":{{"id":9007199254740993}}{is_error}}}'

        event = completed(Succeeded(output))

        assert value_of(event) == {"content": [TEXT], "isError": "true" in is_error}
        assert event.message == ("hello" if "true" in is_error else None)


class TestAnOutputThatIsACallToolResult:
    @pytest.mark.parametrize(
        "block",
        [
            TEXT,
            {"type": "text", "text": "", "annotations": {"priority": 1}},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "a"}},
            {
                "type": "resource",
                "resource": {"uri": "file:///a", "blob": "aGk=", "mimeType": "text/plain", "_meta": {"a/b": 1}},
                "annotations": {"audience": ["user", "assistant"], "priority": 0.5, "lastModified": "2026-08-01"},
                "_meta": {"a/b": 1},
            },
            {"type": "resource_link", "uri": "file:///a", "name": "a"},
            {
                "type": "resource_link",
                "uri": "file:///a",
                "name": "a",
                "title": "A",
                "description": "a",
                "mimeType": "text/plain",
                "size": 1,
            },
        ],
        ids=lambda block: f"{block['type']} {len(block)}",
    )
    def test_passes_through_with_every_kind_of_content(self, block: JsonObject) -> None:
        """X11, T14."""
        assert answer({"content": [block]}) == {"isError": False, "content": [block]}

    @pytest.mark.parametrize(
        "result",
        [
            {"content": [], "isError": False},
            {"content": [TEXT, TEXT], "structuredContent": {"a": 1}, "isError": False},
            {"content": [TEXT], "structuredContent": [1], "isError": False, "_meta": {"example/a": 1}},
            {"content": [TEXT], "isError": True},
        ],
    )
    def test_passes_through_unchanged(self, result: JsonObject) -> None:
        """X11, T14."""
        assert answer(result) == result
        assert completed(Succeeded(write(result))).message == ("hello" if result["isError"] else None)

    # L8: a card of another task, or the name of another server
    @pytest.mark.parametrize(
        "name",
        [
            *("stepwire/card", "stepwire/race", "ui", "ui/resourceUri", "mcp/a", "com.mcp/a/b", "ui/a/b"),
            "io.modelcontextprotocol/serverInfo",
        ],
    )
    def test_loses_metadata_that_is_not_the_workflow_s_to_say(self, name: str) -> None:
        meta = {name: {"taskId": "another's"}, "a/b": 1, "a/mcp/b": 3, "mcp": 4, "uint": 2}

        assert answer({"content": [TEXT], "_meta": meta})["_meta"] == {"a/b": 1, "a/mcp/b": 3, "mcp": 4, "uint": 2}

    def test_loses_metadata_about_a_related_task(self) -> None:
        """X11: no related-task in an inlined result; T16: legacy adds the true one."""
        related = {"io.modelcontextprotocol/related-task": {"taskId": "another"}}

        assert "_meta" not in answer({"content": [TEXT], "_meta": related})
        assert answer({"content": [TEXT], "_meta": {**related, "a/b": 1}})["_meta"] == {"a/b": 1}

    def test_with_is_error_completes_its_task_with_its_message(self) -> None:
        """X11, T18."""
        event = completed(Succeeded(write({"content": [TEXT], "isError": True})))

        assert event.result.is_error
        assert event.message == "hello"

    def test_with_is_error_and_no_text_gets_a_message(self) -> None:
        event = completed(Succeeded('{"content":[],"isError":true}'))

        assert event.message == "The tool reported an error."

    def test_with_too_many_blocks_is_data(self) -> None:
        """A2."""
        most, more = ({"content": [TEXT] * count} for count in (MOST_BLOCKS, MOST_BLOCKS + 1))

        assert "structuredContent" not in answer(most)
        assert answer(more)["structuredContent"] == more

    @pytest.mark.parametrize("near_miss", NEAR_MISSES, ids=write)
    def test_that_is_not_quite_valid_is_data(self, near_miss: Json) -> None:
        value = answer(near_miss)

        assert value["structuredContent"] == near_miss
        assert value["isError"] is False


class TestAnOutputSchema:
    def test_that_the_output_satisfies_changes_nothing(self) -> None:
        """M36."""
        assert answer(OUTPUT, OUTPUT_SCHEMA) == answer(OUTPUT)

    def test_that_a_call_tool_result_satisfies_changes_nothing(self) -> None:
        """M36."""
        result = {"content": [TEXT], "structuredContent": OUTPUT, "isError": False}

        assert answer(result, OUTPUT_SCHEMA) == result

    @pytest.mark.parametrize(
        "output",
        [
            {"answer": "42"},
            {},
            [42],
            None,
            {"content": [TEXT]},
            {"content": [TEXT], "structuredContent": {"answer": "42"}},
        ],
        ids=write,
    )
    def test_that_is_violated_turns_a_success_into_an_error(self, output: Json) -> None:
        """M36: structured content that violates the schema is not sent."""
        value = answer(output, OUTPUT_SCHEMA)

        assert value["isError"] is True
        assert "structuredContent" not in value
        assert value["content"][0]["text"].startswith("The workflow succeeded, but its output is not what")

    def test_that_is_violated_is_reported_with_the_pointer_and_the_output(self) -> None:
        both: JsonObject = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}

        value = answer({"a": 1, "b": 2}, both)

        assert value["content"][0]["text"] == (
            "The workflow succeeded, but its output is not what the tool's output schema promises: "
            'at /a: 1 is not of type "string"; at /b: 2 is not of type "string".'
        )
        assert value["content"][1]["text"] == '{"a":1,"b":2}'

    def test_is_not_applied_to_an_error(self) -> None:
        """M36: an error has no structured content to conform."""
        result = {"content": [TEXT], "isError": True}

        assert answer(result, OUTPUT_SCHEMA) == result
