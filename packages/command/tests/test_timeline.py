"""The timeline of `stepwire task ID`: from the table, Step Functions and the functions' logs, each by itself."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from packages.command.tests.aws import Aws, Refusal
from packages.command.tests.operated import (
    ID,
    SECRET,
    TOKEN,
    Stepwire,
    account,
    completed,
    logged,
    moment,
    unconfirmed,
    working,
)
from stepwire.tasks.runs import Attempt, Run
from stepwire.tasks.task import Origin
from stepwire.tracing import Trace
from stepwire_cli.account.logs import MOST_LINES
from stepwire_cli.exits import Exit

TRACE = "0af7651916cd43dd8448eb211c80319c"


def log_of(function: str) -> str:
    """Return how Logs Insights names the log of a function."""
    return f"123456789012:live-{function}Logs"


def line(at: datetime, log: str = log_of("Mcp"), **members: str) -> dict[str, str]:
    """Return a line as Logs Insights gives it."""
    return {"@timestamp": f"{at:%Y-%m-%d %H:%M:%S.000}", "@log": log, **members, "@ptr": "opaque"}


def seen(stepwire: Stepwire, aws: Aws, *words: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the moments, each with its source, and the problems."""
    code, out, _ = stepwire(aws, "task", ID, "--json", "--logs", *words)
    assert code == Exit.DONE
    shown = json.loads(out)
    times = [one["at"] for one in shown["timeline"]]
    assert times == sorted(times)
    return [(one["source"], one["what"]) for one in shown["timeline"]], shown["problems"]


def a_whole_life(at: datetime, **answers: Any) -> Aws:
    """Return an account with a task that was called, ran, ended and was fetched."""
    second = timedelta(seconds=1)
    task = replace(completed(at), origin=Origin(trace=Trace(f"00-{TRACE}-b7ad6b7169203331-01")))
    lines = logged(
        line(at, audit="created", tool="settle_invoices", outcome="working"),
        line(at + 90 * second, log_of("ExecutionEvents"), audit="ended", outcome="completed", source="event"),
        line(at + 95 * second, audit="retrieved"),
    )  # fmt: skip
    return account(task, status="SUCCEEDED", **{**lines, **answers})


def test_a_life_is_told_in_the_order_of_its_moments_each_with_its_source(in_account: Stepwire) -> None:
    moments, problems = seen(in_account, a_whole_life(moment()))

    assert problems == []
    assert moments == [
        ("table", "stored: a task of settle_invoices"),
        ("execution", "the execution began"),
        ("log mcp", "called: the tool settle_invoices"),
        ("execution", "state Read began (Pass)"),
        ("execution", "state Read ended"),
        ("execution", "state Settle began (Task)"),
        ("execution", "it called lambda:invoke"),
        ("table", "changed last: completed"),
        ("execution", "its call failed: Busy"),
        ("execution", "it called lambda:invoke"),
        ("log execution_events", "ended: completed, as an event of Step Functions said"),
        ("log mcp", "its result was fetched"),
    ]


def test_a_terminal_shows_times_and_the_trace_and_nothing_that_the_caller_sent(in_account: Stepwire) -> None:
    at = moment()

    code, out, _ = in_account(a_whole_life(at), "task", ID, "--logs")

    assert code == Exit.DONE
    assert f"trace      {TRACE}\n" in out
    assert f"{at:%Y-%m-%d %H:%M:%S}.000Z  table                 stored: a task of settle_invoices\n" in out
    assert SECRET not in out
    assert TOKEN not in out


@pytest.mark.parametrize(
    ("operation", "permission", "left"),
    [
        ("StartQuery", "logs:StartQuery", {"table", "execution"}),
        ("GetQueryResults", "logs:GetQueryResults", {"table", "execution"}),
        ("DescribeExecution", "states:DescribeExecution",
         {"table", "log mcp", "log execution_events"}),
        ("GetExecutionHistory", "states:GetExecutionHistory",
         {"table", "execution", "log mcp", "log execution_events"}),
    ],
)  # fmt: skip
def test_a_source_that_may_not_be_read_is_named_with_its_permission_and_the_others_are_told(
    in_account: Stepwire, operation: str, permission: str, left: set[str]
) -> None:
    aws = a_whole_life(moment(), **{operation: Refusal("AccessDeniedException")})

    moments, problems = seen(in_account, aws)

    assert {source for source, _ in moments} == left
    assert [permission in problem for problem in problems] == [True]


def test_the_log_is_asked_once_for_the_task_its_digest_and_faults_of_its_trace(in_account: Stepwire) -> None:
    aws = a_whole_life(moment())

    seen(in_account, aws)

    (asked,) = [given for name, given in aws.calls if name == "StartQuery"]
    assert f'task_id = "{ID}"' in asked["queryString"]
    assert "task_digest = " in asked["queryString"]
    assert f'(trace_id = "{TRACE}" and ispresent(fault))' in asked["queryString"]
    assert "live-McpLogs" in asked["logGroupNames"]
    assert asked["limit"] == MOST_LINES


def test_a_function_that_the_stack_has_not_is_not_asked(in_account: Stepwire) -> None:
    aws = a_whole_life(moment())
    usual: Any = aws.answers["DescribeStackResource"]

    def without_sweep(given: Mapping[str, Any]) -> Any:
        is_there = given["LogicalResourceId"] != "SweepLogs"
        return usual(given) if is_there else Refusal("ValidationError", "Resource SweepLogs does not exist")

    aws.answers["DescribeStackResource"] = without_sweep
    _, problems = seen(in_account, aws)

    (asked,) = [given for name, given in aws.calls if name == "StartQuery"]
    assert problems == []
    assert "live-SweepLogs" not in asked["logGroupNames"]


def test_each_attempt_and_each_run_of_a_race_is_an_execution_of_its_own(in_account: Stepwire) -> None:
    machine = working(moment()).runs[0].state_machine_arn
    runs = (Run(machine, "fast", attempt=Attempt(number=2, execution=2)), Run(machine, "thorough"))
    aws = account(replace(working(moment()), runs=runs), **logged())

    moments, _ = seen(in_account, aws)

    began = [words for _, words in moments if words.endswith("the execution began")]
    assert began == [
        "run fast: the execution began",
        "run fast, execution 2: the execution began",
        "run thorough: the execution began",
    ]
    described = [given["executionArn"].rpartition(ID)[2] for name, given in aws.calls if name == "DescribeExecution"]
    assert described == ["-a", "-ar2", "-b"]


def test_a_question_of_the_workflow_and_its_answer_are_moments(in_account: Stepwire) -> None:
    at, details = moment(), {"resourceType": "lambda", "resource": "invoke.waitForTaskToken", "parameters": TOKEN}
    events = [
        {"id": 1, "previousEventId": 0, "type": "TaskScheduled", "timestamp": at.timestamp(),
         "taskScheduledEventDetails": details},
        {"id": 2, "previousEventId": 1, "type": "TaskSucceeded", "timestamp": at.timestamp() + 60,
         "taskSucceededEventDetails": {**details, "output": SECRET}},
    ]  # fmt: skip

    moments, _ = seen(in_account, account(working(at), GetExecutionHistory={"events": events[::-1]}, **logged()))

    assert [words for source, words in moments if source == "execution"][-2:] == [
        "it called lambda:invoke.waitForTaskToken",
        "the answer came for which it waited",
    ]


def test_a_task_that_nobody_confirmed_has_no_execution(in_account: Stepwire) -> None:
    aws = account(unconfirmed(moment()), **logged())

    moments, problems = seen(in_account, aws)

    assert ({source for source, _ in moments}, problems) == ({"table"}, [])
    assert "DescribeExecution" not in [name for name, _ in aws.calls]


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"audit": "retried", "outcome": "attempt 2 of 3"}, "an attempt failed: attempt 2 of 3 follows"),
        ({"audit": "ended", "outcome": "completed", "source": "look", "winner": "fast"},
         "ended: completed, as a check of Step Functions found, run fast won"),
        ({"message": "a request met a fault", "fault": "ClientError"}, "a request met a fault (ClientError)"),
        ({"audit": "of a later version"}, "of a later version"),
        ({"audit": "answered", "outcome": "accept"}, "answered: accept"),
        ({}, "a line of the log"),
    ],
)  # fmt: skip
def test_each_line_of_the_log_has_words(in_account: Stepwire, members: dict[str, str], words: str) -> None:
    at = moment()

    moments, _ = seen(in_account, account(working(at), **logged(line(at, **members))))

    assert [told for source, told in moments if source == "log mcp"] == [words]


def test_what_is_cut_is_said(in_account: Stepwire) -> None:
    at = moment()
    usual: Any = account(working(at)).answers["GetExecutionHistory"]
    history = {**usual, "nextToken": "more"}
    aws = account(working(at), GetExecutionHistory=history, **logged(*[line(at, audit="retrieved")] * MOST_LINES))

    _, problems = seen(in_account, aws, "--lines", "1")
    _, out, _ = in_account(aws, "task", ID)

    assert problems == [f"the functions' logs: only the first {MOST_LINES} lines were read"]
    assert "\nWhat happened\n  ...\n" in out
