"""What the failure of an execution means for its task: a tool error, or a protocol error that the workflow chose."""

import pytest

from stepwire.json_text import Json, write
from stepwire.tasks.events import WorkCompleted, WorkFailed, WorkStopped
from stepwire.tasks.outcomes import (
    LARGEST_PROTOCOL_ERROR,
    LONGEST_CAUSE,
    PROTOCOL_ERROR_NAME,
    Aborted,
    ExecutionFailed,
    TimedOut,
    event_of,
)
from stepwire.tasks.task import LONGEST_MESSAGE, Causes, TaskError, ToolResult
from tests.kits import OUTPUT_SCHEMA
from tests.unit.tasks.outcomes import completed


def error_of(cause: str) -> TaskError:
    """Return the error of a workflow that ended with a protocol error."""
    event = event_of(ExecutionFailed(PROTOCOL_ERROR_NAME, cause), None)
    assert isinstance(event, WorkFailed)
    return event.error


def words_of(event: WorkCompleted) -> str:
    """Return the text of a result that has only text."""
    assert isinstance(event.result, ToolResult)
    (block,) = event.result.value()["content"]
    return block["text"]


CAUSE = (
    "User: arn:aws:sts::123456789012:assumed-role/Worker/f is not authorized to perform: dynamodb:GetItem on resource: "
    '"arn:aws-cn:dynamodb:cn-north-1:123456789012:table/Orders" in account 123456789012'
)
REDACTED_CAUSE = 'User: [ARN] is not authorized to perform: dynamodb:GetItem on resource: "[ARN]" in account [account]'


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
        """Lambda's cause is JSON: the caller gets its message, and not the stack trace."""
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

    def test_shows_the_whole_name_of_the_error_where_the_tool_shows_causes(self) -> None:
        event = event_of(ExecutionFailed("of 123456789012", ""), None, Causes.SHOWN)

        assert isinstance(event, WorkCompleted)
        assert words_of(event) == "The workflow failed with of 123456789012: no cause was given."

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
        error = error_of(write({"code": 1, "message": f"m{CAUSE}", "data": data}))

        assert error == TaskError(
            -32603, f"The workflow ended with a protocol error that is too large: m{REDACTED_CAUSE}"
        )

    def test_that_is_too_large_shows_the_beginning_of_its_message(self) -> None:
        cause = write({"code": 1, "message": f"123456789012{'x' * LARGEST_PROTOCOL_ERROR}"})

        event = event_of(ExecutionFailed(PROTOCOL_ERROR_NAME, cause), None, Causes.SHOWN)

        beginning = f": 123456789012{'x' * 486}"
        assert event == WorkFailed(
            TaskError(-32603, f"The workflow ended with a protocol error that is too large{beginning}")
        )

    def test_may_be_as_large_as_it_may_be_stored(self) -> None:
        room = LARGEST_PROTOCOL_ERROR - len(write({"code": 1, "message": "m", "data": ""}))

        assert error_of(write({"code": 1, "message": "m", "data": "x" * room})).code == 1
        assert error_of(write({"code": 1, "message": "m", "data": "x" * (room + 1)})).code == -32603

    def test_is_measured_as_stored(self) -> None:
        numbers = ",".join(["1e15"] * (LARGEST_PROTOCOL_ERROR // 10))
        cause = f'{{"code":1,"message":"m","data":[{numbers}]}}'

        error = error_of(cause)

        assert len(cause) < LARGEST_PROTOCOL_ERROR
        assert "too large" in error.message
