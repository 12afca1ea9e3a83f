"""What the end of an execution means for its task."""

import pytest
from hypothesis import given

from stepwire.json_text import Json, JsonObject, write
from stepwire.tasks.events import WorkCompleted, WorkFailed, WorkStopped
from stepwire.tasks.outcomes import (
    LARGEST_INLINE_RESULT,
    LARGEST_PROTOCOL_ERROR,
    LONGEST_CAUSE,
    PROTOCOL_ERROR_NAME,
    Aborted,
    ExecutionEnd,
    ExecutionFailed,
    Succeeded,
    TimedOut,
    event_of,
    without_large_result,
)
from stepwire.tasks.task import LONGEST_MESSAGE, Causes, ResultInExecution, TaskError, ToolResult
from stepwire.tasks.tool_results import MOST_BLOCKS
from tests.kits import OUTPUT, OUTPUT_SCHEMA
from tests.strategies import json_values

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
    {"content": [{"type": "image", "data": "aGk="}]},
    {"content": [{"type": "resource", "resource": "file:///a"}]},
    {"content": [{"type": "resource_link", "uri": "file:///a"}]},
    {"content": [{"type": "video", "data": "aGk=", "mimeType": "video/mp4"}]},
    {"content": [{"type": ["text"], "text": "hello"}]},
    {"content": [TEXT, {"type": "text"}]},
    [{"content": [TEXT]}],
]
"""Outputs that look like a CallToolResult and are none."""
INEXACT = [
    "",
    "nonsense",
    '{"a":1,"a":2}',
    "NaN",
    "9007199254740992",
    '{"id":1234567890123456789}',
    '{"amount":12345678901234567.89}',
    '{"amount":1e-400}',
    "[" * 1_000,
    "9" * 5_000,
]
"""Outputs that some reader of JSON refuses, or reads differently than another."""


def completed(end: ExecutionEnd, output_schema: JsonObject | None = None) -> WorkCompleted:
    """Give the event of an end that must be an answer."""
    event = event_of(end, None if output_schema is None else write(output_schema))
    assert isinstance(event, WorkCompleted)
    return event


def answer(output: Json, output_schema: JsonObject | None = None) -> JsonObject:
    """Give the CallToolResult that an output becomes, and make sure that the task says of it what it says itself."""
    result = completed(Succeeded(write(output)), output_schema).result
    assert isinstance(result, ToolResult)
    value = result.value()
    assert result.is_error == value["isError"]
    return value


def value_of(event: WorkCompleted) -> JsonObject:
    """Give the CallToolResult of an answer."""
    assert isinstance(event.result, ToolResult)
    return event.result.value()


def error_of(cause: str) -> TaskError:
    """Give the error of a workflow that ended with a protocol error."""
    event = event_of(ExecutionFailed(PROTOCOL_ERROR_NAME, cause), None)
    assert isinstance(event, WorkFailed)
    return event.error


def words_of(event: WorkCompleted) -> str:
    """Give the words of an answer that has nothing else."""
    assert isinstance(event.result, ToolResult)
    (block,) = event.result.value()["content"]
    return block["text"]


CAUSE = (
    "User: arn:aws:sts::123456789012:assumed-role/Worker/f is not authorized to perform: dynamodb:GetItem on resource: "
    '"arn:aws-cn:dynamodb:cn-north-1:123456789012:table/Orders" in account 123456789012'
)
REDACTED_CAUSE = 'User: [ARN] is not authorized to perform: dynamodb:GetItem on resource: "[ARN]" in account [account]'


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
        """X11: the work is done, so its caller gets what came of it, digit for digit."""
        event = completed(Succeeded(output))

        assert not event.result.is_error
        assert value_of(event) == {"content": [{"type": "text", "text": output}], "isError": False}

    @pytest.mark.parametrize("output", INEXACT)
    def test_that_cannot_be_structured_content_is_an_error_that_contains_the_text(self, output: str) -> None:
        """M36."""
        event = completed(Succeeded(output), OUTPUT_SCHEMA)

        assert event.result.is_error
        why, whole = value_of(event)["content"]
        assert why["text"].startswith("The workflow succeeded, but its output cannot be the structured content")
        assert whole["text"] == output

    @pytest.mark.parametrize("is_error", ["true", "false"])
    def test_that_is_a_call_tool_result_keeps_its_blocks_if_its_structured_content_is_inexact(
        self, is_error: str
    ) -> None:
        output = f'{{"content":[{write(TEXT)}],"structuredContent":{{"id":9007199254740993}},"isError":{is_error}}}'

        event = completed(Succeeded(output))

        assert value_of(event) == {"content": [TEXT], "isError": is_error == "true"}


class TestAnOutputThatIsACallToolResult:
    @pytest.mark.parametrize(
        "block",
        [
            TEXT,
            {"type": "text", "text": "", "annotations": {"priority": 1}},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "a"}},
            {"type": "resource_link", "uri": "file:///a", "name": "a"},
        ],
        ids=lambda block: block["type"],
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
        """M36: structured content that is not as promised does not go out."""
        value = answer(output, OUTPUT_SCHEMA)

        assert value["isError"] is True
        assert "structuredContent" not in value
        assert value["content"][0]["text"].startswith("The workflow succeeded, but its output is not what")

    def test_that_is_violated_is_reported_with_the_pointer_and_the_output(self) -> None:
        value = answer({"answer": "42"}, OUTPUT_SCHEMA)

        assert 'at /answer: "42" is not of type "integer"' in value["content"][0]["text"]
        assert value["content"][1]["text"] == '{"answer":"42"}'

    def test_is_not_applied_to_an_error(self) -> None:
        """M36: an error has no structured content to conform."""
        result = {"content": [TEXT], "isError": True}

        assert answer(result, OUTPUT_SCHEMA) == result


class TestAFailure:
    def test_is_a_tool_error_with_error_name_and_cause(self) -> None:
        """X11, T18, M37."""
        event = completed(ExecutionFailed("Some.Error", "the file is empty"))

        assert event.result.is_error
        assert words_of(event) == "The workflow failed with Some.Error: the file is empty"
        assert event.message == words_of(event)

    @pytest.mark.parametrize(
        ("error", "cause", "words"),
        [
            ("", "", "The workflow failed with an unnamed error: no cause was given."),
            ("E", "", "The workflow failed with E: no cause was given."),
            ("", "why", "The workflow failed with an unnamed error: why"),
            ("E", '{"errorMessage":"why","errorType":"E","stackTrace":["app.py"]}', "The workflow failed with E: why"),
            ("E", '{"errorMessage":"","errorType":"E"}', "The workflow failed with E: no cause was given."),
            ("E", '{"errorMessage":5}', "The workflow failed with E: 5"),
            ("E", '{"reason":"why"}', 'The workflow failed with E: {"reason":"why"}'),
            ("E", '["why"]', 'The workflow failed with E: ["why"]'),
            ("E", '{"errorMessage":"cut', 'The workflow failed with E: {"errorMessage":"cut'),
        ],
    )
    def test_has_a_readable_message(self, error: str, cause: str, words: str) -> None:
        """Lambda's cause is JSON; its message is for the caller, its stack trace is not."""
        assert words_of(completed(ExecutionFailed(error, cause))) == words

    def test_has_a_bounded_cause_and_a_shorter_status_message(self) -> None:
        event = completed(ExecutionFailed("E", "x" * 32_768))

        assert words_of(event).count("x") == LONGEST_CAUSE
        assert event.message is not None
        assert len(event.message) == LONGEST_MESSAGE

    @pytest.mark.parametrize(
        ("causes", "words"),
        [
            (Causes.HIDDEN, "The workflow failed with Some.Error."),
            (Causes.REDACTED, f"The workflow failed with Some.Error: {REDACTED_CAUSE}"),
            (Causes.SHOWN, f"The workflow failed with Some.Error: {CAUSE}"),
        ],
    )
    def test_shows_as_much_of_the_cause_as_the_tool_allows(self, causes: Causes, words: str) -> None:
        """B16."""
        event = event_of(ExecutionFailed("Some.Error", CAUSE), None, causes)

        assert isinstance(event, WorkCompleted)
        assert words_of(event) == words
        assert event.message == words

    def test_hides_account_numbers_in_the_error_name(self) -> None:
        """B16."""
        event = completed(ExecutionFailed("arn:aws:lambda:eu-central-1:123456789012:function:f", "of 123456789012"))

        assert words_of(event) == "The workflow failed with [ARN]: of [account]"

    @pytest.mark.parametrize("number", ["12345678901", "1234567890123"])
    def test_keeps_numbers_that_are_no_account_number(self, number: str) -> None:
        assert words_of(completed(ExecutionFailed("E", f"row {number}"))).endswith(number)

    def test_by_timeout_is_a_tool_error(self) -> None:
        """X11."""
        event = completed(TimedOut())

        assert event.result.is_error
        assert "States.Timeout" in words_of(event)

    def test_need_not_satisfy_the_output_schema(self) -> None:
        assert completed(TimedOut(), OUTPUT_SCHEMA) == completed(TimedOut())

    def test_by_a_stop_cancels_the_task(self) -> None:
        assert event_of(Aborted(), None) == WorkStopped("The execution was stopped.")


class TestAProtocolError:
    @pytest.mark.parametrize("data", [None, 0, "why", {"retryAfter": 5}, [1]])
    def test_is_the_one_that_the_workflow_chose(self, data: Json) -> None:
        """X12."""
        assert error_of(write({"code": 4711, "message": "Not today", "data": data})) == TaskError(
            4711, "Not today", data
        )

    @pytest.mark.parametrize("code", [-32700, -32600, -32601, -32602, -32603, -32769, -31999, -1, 0, 1, 2**31])
    def test_may_have_any_standard_or_unreserved_code(self, code: int) -> None:
        """M27."""
        assert error_of(write({"code": code, "message": "m"})) == TaskError(code, "m")

    @pytest.mark.parametrize("code", [-32768, -32020, -32021, -32022, -32000, -32042, -32099, -32604])
    def test_cannot_have_a_code_that_json_rpc_or_mcp_reserves(self, code: int) -> None:
        """M27."""
        assert error_of(write({"code": code, "message": "m"})).code == -32603

    @pytest.mark.parametrize(
        "cause",
        [
            "",
            "it broke",
            "[]",
            "{}",
            '{"code":1}',
            '{"message":"m"}',
            '{"code":1,"message":""}',
            '{"code":1,"message":null}',
            '{"code":"1","message":"m"}',
            '{"code":1.5,"message":"m"}',
            '{"code":true,"message":"m"}',
            '{"code":1,"code":2,"message":"m"}',
            '{"code":1,"message":"cut',
        ],
    )
    def test_that_is_malformed_is_an_internal_error_with_its_cause(self, cause: str) -> None:
        """X12."""
        error = error_of(cause)

        assert error.code == -32603
        assert error.message == f"The workflow ended with a protocol error: {cause or 'no cause was given.'}"

    @pytest.mark.parametrize(
        ("causes", "words"),
        [(Causes.HIDDEN, "."), (Causes.REDACTED, f": {REDACTED_CAUSE}"), (Causes.SHOWN, f": {CAUSE}")],
    )
    def test_that_is_malformed_shows_as_much_of_the_cause_as_the_tool_allows(self, causes: Causes, words: str) -> None:
        """B16."""
        event = event_of(ExecutionFailed(PROTOCOL_ERROR_NAME, CAUSE), None, causes)

        assert isinstance(event, WorkFailed)
        assert event.error.message == f"The workflow ended with a protocol error{words}"

    def test_raised_by_a_lambda_function_has_a_readable_message(self) -> None:
        error = error_of('{"errorMessage":"why","errorType":"Stepwire.ProtocolError","stackTrace":[]}')

        assert error == TaskError(-32603, "The workflow ended with a protocol error: why")

    @pytest.mark.parametrize(
        "data", ["x" * LARGEST_PROTOCOL_ERROR, "\N{EURO SIGN}" * (LARGEST_PROTOCOL_ERROR // 3)], ids=["long", "wide"]
    )
    def test_that_is_too_large_is_replaced_by_an_internal_error(self, data: str) -> None:
        error = error_of(write({"code": 1, "message": "m", "data": data}))

        assert error.code == -32603
        assert "too large" in error.message

    def test_is_measured_as_stored(self) -> None:
        numbers = ",".join(["1e15"] * (LARGEST_PROTOCOL_ERROR // 10))
        cause = f'{{"code":1,"message":"m","data":[{numbers}]}}'

        error = error_of(cause)

        assert len(cause) < LARGEST_PROTOCOL_ERROR
        assert "too large" in error.message


class TestTheSizeOfAnAnswer:
    @pytest.mark.parametrize("is_error", [False, True])
    def test_above_the_limit_leaves_it_in_the_execution(self, *, is_error: bool) -> None:
        result = ToolResult("x" * (LARGEST_INLINE_RESULT + 1), is_error)

        event = without_large_result(WorkCompleted(result, "m"))

        assert event == WorkCompleted(ResultInExecution(is_error), "m")

    def test_is_counted_in_bytes(self) -> None:
        wide = "\N{EURO SIGN}" * (LARGEST_INLINE_RESULT // 3)
        fits, does_not = ToolResult(wide, is_error=False), ToolResult(wide + "xxx", is_error=False)

        assert without_large_result(WorkCompleted(fits)) == WorkCompleted(fits)
        assert without_large_result(WorkCompleted(does_not)) == WorkCompleted(ResultInExecution(is_error=False))

    def test_does_not_matter_for_other_events(self) -> None:
        event = WorkFailed(TaskError(1, "m", "x" * LARGEST_INLINE_RESULT))

        assert without_large_result(event) is event
