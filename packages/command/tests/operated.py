"""An account for `stepwire task`: an endpoint's stack with tasks in many states, and their executions."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from packages.command.tests.aws import Aws, Refusal
from stepwire.aws.step_functions import execution_arn_of
from stepwire.aws.storage.items import SHARDS, divided
from stepwire.aws.storage.table import Item
from stepwire.principal import Principal
from stepwire.tasks.answers import Action, Given, InputResponse
from stepwire.tasks.ids import TaskId
from stepwire.tasks.inputs import Callback, FormElicitation, InputRequest, UndeliveredAnswer, WorkflowInput
from stepwire.tasks.runs import Run
from stepwire.tasks.task import Completed, InputRequired, Inputs, Task, Terms, ToolResult, Work, Working

Stepwire = Callable[..., tuple[int, str, str]]
"""Runs the command with words in an account; returns its code, its output and what it said."""

EXAMPLE: Final = Path(__file__).parent / "example"
STACK: Final = "live"
OWNER: Final = Principal("3f2a9c41d07be6583f2a9c41d07be658")
ID: Final = TaskId("01kyyk41g000000000000000000000000001")
MACHINE: Final = "arn:aws:states:eu-central-1:123456789012:stateMachine:SettleInvoices"
SECRET: Final = "customer-17"
TOKEN: Final = "the-task-token"
QUESTION: Final = FormElicitation(f"Refund {SECRET}?", '{"type":"object","properties":{}}')


def moment() -> datetime:
    """Return when the task was created: some minutes ago."""
    return (datetime.now(UTC) - timedelta(minutes=9)).replace(microsecond=0)


def working(at: datetime) -> Task:
    """Return a task whose execution runs."""
    work = Work("settle_invoices", Terms(f'{{"customer":"{SECRET}"}}'), "sw01234567-")
    minute = timedelta(minutes=1)
    later, ttl = at + minute, timedelta(days=7)
    return Task(
        OWNER, ID, work, Working(f"Settling for {SECRET}"), at, later, ttl, minute, minute, later, (Run(MACHINE),)
    )


def asking(at: datetime) -> Task:
    """Return a task that waits for its caller."""
    request = InputRequest("approval", 1, QUESTION, Callback(TOKEN), at + timedelta(days=1))
    return replace(working(at), status=InputRequired((request,)), inputs=Inputs(1, ("approval",)))


def unconfirmed(at: datetime) -> Task:
    """Return a task that begins once its caller confirms it."""
    request = InputRequest("confirm", 1, QUESTION, WorkflowInput(None), at + timedelta(minutes=15))
    return replace(working(at), status=InputRequired((request,)))


def answered(at: datetime) -> Task:
    """Return a task whose answer has not reached the workflow."""
    answer = UndeliveredAnswer(TOKEN, (Given(OWNER, at, InputResponse(Action.ACCEPT, f'{{"note":"{SECRET}"}}')),))
    return replace(working(at), inputs=Inputs(1, ("approval",), (answer,)))


def completed(at: datetime) -> Task:
    """Return a task that has its result."""
    result = ToolResult(f'{{"content":[{{"type":"text","text":"{SECRET}"}}]}}', is_error=False)
    return replace(working(at), status=Completed(result))


def events(at: datetime) -> list[dict[str, Any]]:
    """Return the history of an execution that calls a function."""
    start = at.timestamp()
    return [
        {"id": 1, "previousEventId": 0, "type": "ExecutionStarted", "timestamp": start},
        {"id": 2, "previousEventId": 0, "type": "PassStateEntered", "timestamp": start + 1,
         "stateEnteredEventDetails": {"name": "Read", "input": SECRET}},
        {"id": 3, "previousEventId": 2, "type": "PassStateExited", "timestamp": start + 1,
         "stateExitedEventDetails": {"name": "Read", "output": SECRET}},
        {"id": 4, "previousEventId": 3, "type": "TaskStateEntered", "timestamp": start + 2,
         "stateEnteredEventDetails": {"name": "Settle"}},
        {"id": 5, "previousEventId": 4, "type": "TaskScheduled", "timestamp": start + 2,
         "taskScheduledEventDetails": {"resourceType": "lambda", "resource": "invoke", "parameters": TOKEN}},
        {"id": 6, "previousEventId": 5, "type": "TaskStarted", "timestamp": start + 2, "taskStartedEventDetails": {}},
        {"id": 7, "previousEventId": 6, "type": "TaskFailed", "timestamp": start + 60,
         "taskFailedEventDetails": {"error": "Busy", "cause": f"not now, {SECRET}"}},
        {"id": 8, "previousEventId": 7, "type": "TaskScheduled", "timestamp": start + 62,
         "taskScheduledEventDetails": {"resourceType": "lambda", "resource": "invoke", "parameters": TOKEN}},
    ]  # fmt: skip


def logged(*rows: Mapping[str, str]) -> dict[str, Any]:
    """Return what Logs Insights answers to a query that finds these lines."""
    found = [[{"field": name, "value": value} for name, value in row.items()] for row in rows]
    return {"StartQuery": {"queryId": "the-query"}, "GetQueryResults": {"status": "Complete", "results": found}}


NEXT: Final = TaskId("01kyytmd80000000000000000000000002")
"""The task that follows, in an account in which an operator continues one."""
ADMIN: Final = "arn:aws:sts::123456789012:assumed-role/operators/olga"


def continued(task: Task | None = None, **answers: Any) -> Aws:
    """Return an account whose function continues the task that it is asked to."""
    made = {"task_id": NEXT, "status": "working", "is_new": True, "has_begun": True}
    caller = {"Arn": ADMIN, "UserId": "olga", "Account": "123456789012"}
    given: dict[str, Any] = {"Invoke": {"done": made}, "GetCallerIdentity": caller, **answers}
    return account(task or working(moment()), **given)


def account(task: Task, *, status: str | None = "RUNNING", beside: Sequence[Item] = (), **answers: Any) -> Aws:
    """Return the account of one task.

    Args:
        task: the task.
        status: of its execution; None: there is none.
        beside: items that extras keep below its caller.
        answers: by operation, instead of the usual ones.
    """
    stored = divided(task)
    item = stored.item
    key = {name: item[name] for name in ("pk", "sk")}
    found = {"Items": [key], "ScannedCount": 1}
    nothing: dict[str, Any] = {"Items": [], "ScannedCount": 0}
    shard = item.get("open", {}).get("S")
    run = {"executionArn": execution_arn_of(task.execution), "status": status, "startDate": task.created_at.timestamp()}
    ended = {} if status in ("RUNNING", None) else {"stopDate": task.created_at.timestamp() + 120}

    def query(given: Mapping[str, Any]) -> Any:
        wanted = given["ExpressionAttributeValues"]
        if ":pk" in wanted:
            return {"Items": list(beside), "ScannedCount": len(beside)}
        assert wanted[":shard"]["S"] in SHARDS
        return found if (wanted[":shard"]["S"], wanted[":sk"]) == (shard, item["sk"]) else nothing

    def load(given: Mapping[str, Any]) -> Any:
        same = [one for one in (item, *stored.parts) if {name: one[name] for name in key} == given["Key"]]
        return {"Item": same[0]} if same else {}

    def scan(given: Mapping[str, Any]) -> Any:
        return found if given["ExpressionAttributeValues"][":sk"] == item["sk"] else nothing

    usual: dict[str, Any] = {
        "DescribeStackResource": _resource,
        "DescribeStacks": {"Stacks": [{"StackName": STACK, "Outputs": [
            {"OutputKey": "McpEndpoint", "OutputValue": "https://mcp.example.com/mcp"}]}]},
        "Query": query,
        "Scan": scan,
        "GetItem": load,
        "DescribeExecution": Refusal("ExecutionDoesNotExist") if status is None else {**run, **ended},
        "GetExecutionHistory": {"events": events(task.created_at)[::-1]},
    }  # fmt: skip
    return Aws({**usual, **answers})


def _resource(given: Mapping[str, Any]) -> Any:
    if given["StackName"] != STACK:
        return Refusal("ValidationError", f"Stack '{given['StackName']}' does not exist")
    return {"StackResourceDetail": {"PhysicalResourceId": f"{STACK}-{given['LogicalResourceId']}"}}
