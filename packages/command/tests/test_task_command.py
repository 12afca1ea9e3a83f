"""`stepwire task ID`: what an operator reads of any caller's task, and what is kept from them unless they ask."""

import json
import re
import shlex
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from packages.command.tests import operated
from packages.command.tests.aws import CREDENTIALS, Aws, Refusal
from packages.command.tests.operated import (
    ID,
    OWNER,
    SECRET,
    TOKEN,
    Stepwire,
    account,
    answered,
    asking,
    completed,
    moment,
    unconfirmed,
    working,
)
from stepwire.tasks.runs import Attempt, Retry, Run, RunState
from stepwire.tasks.task import Completed, Failed, Task, TaskError, Terms, ToolResult
from stepwire_cli.exits import Exit

Made = Callable[[datetime], Task]


@pytest.fixture
def stepwire(in_account: Stepwire) -> Stepwire:
    """Run `stepwire task` with words, or with the task's id."""

    def ran(aws: Aws, *words: str) -> tuple[int, str, str]:
        return in_account(aws, "task", *(words or (ID,)))

    return ran


def expired(at: datetime) -> Task:
    """Return a task that no client sees any more, and whose execution runs."""
    return replace(working(at), ttl=timedelta(minutes=3))


def to_be_retried(at: datetime) -> Task:
    """Return a task whose second attempt begins tomorrow."""
    attempt = Attempt(2, execution=2, begins_at=at + timedelta(days=1), after="Busy")
    return replace(working(at), runs=(Run(operated.MACHINE, attempt=attempt),))


def denied(at: datetime) -> Task:
    """Return a task whose second attempt Step Functions refused to start."""
    run = replace(to_be_retried(at).runs[0], state=RunState.REFUSED)
    error = TaskError(-32603, "The workflow could not be started: this server may not start its state machine")
    return replace(working(at), runs=(run,), retry=Retry(3, ("States.ALL",)), status=Failed(error))


def section(out: str, title: str) -> list[str]:
    """Return the lines of a section."""
    return [line.strip() for line in out.partition(f"\n{title}\n")[2].partition("\n\n")[0].splitlines()]


def test_a_running_task_says_where_it_is_and_what_it_does(stepwire: Stepwire) -> None:
    at = moment()

    code, out, said = stepwire(account(working(at)))

    assert (code, said) == (Exit.DONE, "")
    arn = f"{operated.MACHINE.replace('stateMachine', 'execution')}:sw01234567-"
    assert re.search(rf"^ {{11}}{arn}\S+{ID}$", out, re.MULTILINE)
    assert re.search(
        r"^ {11}https://eu-central-1\.console\.aws\.amazon\.com/states/home\?region=\S+$", out, re.MULTILINE
    )
    entered = f"{at + timedelta(seconds=2):%Y-%m-%d %H:%M:%S}Z"
    assert section(out, "It waits for") == [f"state Settle (Task), since {entered}: lambda:invoke"]
    assert [line.partition("Z  ")[2] for line in section(out, "What happened")] == [
        "table      stored: a task of settle_invoices", "execution  the execution began",
        "execution  state Read began (Pass)", "execution  state Read ended", "execution  state Settle began (Task)",
        "execution  it called lambda:invoke", "table      changed last: working", "execution  its call failed: Busy",
        "execution  it called lambda:invoke",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("made", "as_json"),
    [
        (working, False),
        (asking, False),
        (unconfirmed, True),
        (answered, False),
        (completed, True),
    ],
)
def test_what_the_caller_sent_and_received_is_shown_only_with_data(
    stepwire: Stepwire, made: Made, as_json: bool
) -> None:
    words = (ID, "--json") if as_json else (ID,)

    _, plain, _ = stepwire(account(made(moment())), *words)
    _, whole, _ = stepwire(account(made(moment())), *words, "--data")

    assert SECRET not in plain
    assert SECRET in whole
    assert TOKEN not in plain + whole


def test_large_data_are_read_from_beside_the_task(stepwire: Stepwire) -> None:
    task = working(moment())
    terms = Terms(f'{{"text":"{SECRET} {"x" * 5_000} the last argument"}}')
    result = ToolResult(f'{{"content":[],"structuredContent":"{"x" * 5_000} the last word"}}', is_error=False)
    task = replace(task, work=replace(task.work, terms=terms), status=Completed(result))

    _, out, _ = stepwire(account(task), ID, "--json", "--data")

    assert "the last argument" in out
    assert "the last word" in out


@pytest.mark.parametrize(
    ("made", "status", "waits", "steps"),
    [
        (working, "RUNNING", ["state Settle (Task), since "],
         ["Stop its execution", "List all events", "See also", "See the caller's"]),
        (asking, "RUNNING", ["its caller's answer to question 1: a form, key approval, until ", "state Settle"],
         ["Only its caller can answer", "Stop its execution", "List all events", "See also", "See the caller's"]),
        (unconfirmed, None, ["its caller's confirmation, until "],
         ["Nothing: without a confirmation", "See also", "See the caller's"]),
        (answered, "RUNNING", ["the workflow to take an answer that was given", "state Settle"],
         ["Run the sweep now", "Stop its execution", "List all events", "See also", "See the caller's"]),
        (working, None, ["its start: there is no execution yet"],
         ["Look for its event in the dead-letter queue", "Run the sweep now", "See also", "See the caller's"]),
        (to_be_retried, None, ["an attempt that begins at "],
         ["See also", "See the caller's"]),
        (denied, None, [], ["Nothing changes this task", "See also", "See the caller's"]),
        (working, "SUCCEEDED", ["the news of its end: the execution ended at "],
         ["Look for its event", "Run the sweep now", "List all events", "See also", "See the caller's"]),
        (completed, "SUCCEEDED", [],
         ["Nothing changes this task", "List all events", "See also", "See the caller's"]),
        (completed, "FAILED", [],
         ["Nothing changes this task", "Or let its workflow go on", "List all events", "See also", "See the caller's"]),
        (completed, "RUNNING", [],
         ["Stop its execution; nob", "Nothing changes this task", "List all events", "See also", "See the caller's"]),
        (expired, "RUNNING", [],
         ["Stop its execution; nob", "Nothing changes this task", "List all events", "See also", "See the caller's"]),
    ],
    ids=["runs", "asks", "unconfirmed", "answered", "not started",
         "to be retried", "denied", "end not heard", "completed", "failed", "too late", "expired"],
)  # fmt: skip
def test_each_state_says_what_it_waits_for_and_what_may_be_done(
    stepwire: Stepwire, made: Made, status: str | None, waits: list[str], steps: list[str]
) -> None:
    code, out, _ = stepwire(account(made(moment()), status=status), ID, "--json")

    shown = json.loads(out)
    assert code == Exit.DONE
    assert [one[: len(start)] for one, start in zip(shown["waitsFor"], waits, strict=True)] == waits
    assert [one["what"][: len(start)] for one, start in zip(shown["next"], steps, strict=True)] == steps
    assert all(shlex.split(one["command"])[0] in ("aws", "stepwire") for one in shown["next"] if one["command"])


def test_a_call_whose_second_attempt_was_denied_tells_of_the_first(stepwire: Stepwire) -> None:
    _, out, _ = stepwire(account(denied(moment()), status=None))

    assert "\nattempt    2 of 3, after Busy\n" in out
    assert "\nexecution  not there: it could not be started\n" in out


def test_commands_carry_the_profile_and_the_region_that_were_given(
    stepwire: Stepwire, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    (tmp_path / "config").write_text("[profile ops]\naws_access_key_id = a\naws_secret_access_key = s\n")
    monkeypatch.setitem(CREDENTIALS, "AWS_CONFIG_FILE", str(tmp_path / "config"))

    _, out, _ = stepwire(account(answered(moment())), ID, "--json", "--profile", "ops", "--region", "eu-west-1")

    commands = [one["command"] for one in json.loads(out)["next"]]
    sweep, stop, listing, _, again = commands
    assert sweep == ("aws lambda invoke --function-name live-SweepFunction /dev/null --profile ops --region eu-west-1")
    assert stop.endswith("--profile ops --region eu-central-1"), "the Region of the execution"
    assert listing.endswith("--profile ops --region eu-central-1")
    assert again == (f"stepwire task {ID} --stack live --principal {OWNER} --data --profile ops --region eu-west-1")


def test_the_table_is_searched_only_for_tasks_that_are_not_in_the_index(
    stepwire: Stepwire,
) -> None:
    open_task, ended, known = (
        account(working(moment())),
        account(completed(moment())),
        account(working(moment())),
    )

    stepwire(open_task)
    stepwire(ended)
    stepwire(known, ID, "--principal", OWNER)

    def reads(aws: Aws) -> list[str]:
        searched = [name for name, given in aws.calls if name != "Query" or "IndexName" in given]  # else of an extra
        return sorted({*searched} & {"Query", "Scan", "GetItem"})

    assert (reads(open_task), reads(ended), reads(known)) == (
        ["GetItem", "Query"], ["GetItem", "Query", "Scan"], ["GetItem"]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (("nonsense",), Exit.USAGE, "'nonsense' is no id of a task: it has 36 digits and small letters."),
        ((f"{ID[:-1]}2",), Exit.UNKNOWN, f"there is no task {ID[:-1]}2 in the table live-TasksTable: it has expired"),
        ((ID, "--principal", "x"), Exit.USAGE, "'x' is no principal: it has 32 hexadecimal digits"),
        ((ID, "--principal", "0" * 32), Exit.UNKNOWN, f"there is no task {ID} in the table"),
        ((ID, "--stack", "gone"), Exit.UNKNOWN, "there is no stack gone of Stepwire in this account and Region"),
    ],
)
def test_what_cannot_be_found_is_one_line(stepwire: Stepwire, words: tuple[str, ...], code: Exit, line: str) -> None:
    ended, out, said = stepwire(account(working(moment())), *words)

    assert (ended, out) == (code, "")
    assert said.startswith(f"error: {line}")
    assert len(said.splitlines()) == 1


def test_an_execution_that_may_not_be_read_leaves_the_item(stepwire: Stepwire) -> None:
    denied = Refusal("AccessDeniedException")

    code, out, said = stepwire(account(working(moment()), DescribeExecution=denied))

    assert code == Exit.DONE
    assert "execution  not readable with these credentials" in out
    assert "these credentials may not states:DescribeExecution: add the permission" in said
    assert "Look at its execution with credentials that may read it:" in section(out, "What may be done")


@pytest.mark.parametrize("operation", ["GetExecutionHistory", "DescribeStacks"])
def test_what_else_may_not_be_read_is_left_out(stepwire: Stepwire, operation: str) -> None:
    aws = account(asking(moment()))
    aws.answers[operation] = Refusal("AccessDeniedException")

    code, out, _ = stepwire(aws)

    assert code == Exit.DONE
    assert "Stop its execution; the task becomes cancelled" in out
    assert f"stepwire tasks answer {ID}" in out


def test_a_long_history_shows_its_end(stepwire: Stepwire) -> None:
    _, out, _ = stepwire(account(working(moment())), ID, "--lines", "2")

    assert [line.partition("Z  ")[2] for line in section(out, "What happened")] == [
        "", "execution  its call failed: Busy", "execution  it called lambda:invoke"
    ]  # fmt: skip
    assert section(out, "What happened")[0] == "..."


def test_a_distributed_map_says_how_far_it_is(stepwire: Stepwire) -> None:
    at = moment()
    map_run = f"{operated.MACHINE.replace('stateMachine', 'mapRun')}/Each:1"
    started = [
        {"id": 1, "previousEventId": 0, "type": "MapStateEntered", "timestamp": at.timestamp(),
         "stateEnteredEventDetails": {"name": "Each"}},
        {"id": 2, "previousEventId": 1, "type": "MapStateStarted", "timestamp": at.timestamp(),
         "mapStateStartedEventDetails": {"length": 0}},
        {"id": 3, "previousEventId": 2, "type": "MapRunStarted", "timestamp": at.timestamp(),
         "mapRunStartedEventDetails": {"mapRunArn": map_run}},
    ]  # fmt: skip
    names = ("pending", "running", "succeeded", "failed", "timedOut", "aborted", "total", "resultsWritten")
    counts = {**dict.fromkeys(names, 0), "succeeded": 1200, "failed": 3, "total": 5000}

    _, out, _ = stepwire(
        account(working(at), GetExecutionHistory={"events": started}, DescribeMapRun={"itemCounts": counts})
    )

    (line,) = section(out, "It waits for")
    assert line.endswith(": 1,203 of 5,000 items are done, 3 of them failed")


def test_an_execution_elsewhere_is_read_under_its_role(stepwire: Stepwire) -> None:
    role = "arn:aws:iam::222222222222:role/stepwire"
    machine = "arn:aws:states:us-east-1:222222222222:stateMachine:Orders"
    task = working(moment())
    task = replace(task, runs=(Run(machine, role=role),))
    credentials = {
        "AccessKeyId": "a",
        "SecretAccessKey": "s",
        "SessionToken": "t",
        "Expiration": "2030-01-01T00:00:00Z",
    }
    outputs = [{"OutputKey": "ExternalId", "OutputValue": "the-stack-id"}]
    aws = account(
        task,
        AssumeRole={"Credentials": credentials},
        DescribeStacks={"Stacks": [{"StackName": "live", "Outputs": outputs}]},
    )

    code, out, _ = stepwire(aws)

    (assumed,) = [given for name, given in aws.calls if name == "AssumeRole"]
    assert (assumed["RoleArn"], assumed["ExternalId"]) == (role, "the-stack-id")
    assert code == Exit.DONE
    assert "https://us-east-1.console.aws.amazon.com/" in out
    assert "Stop its execution, with credentials of its account; the task becomes cancelled" in out
    assert "--region us-east-1" in out
