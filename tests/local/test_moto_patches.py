"""Each patch of moto, proven twice: with it moto behaves as AWS does, without it it does not.

A proof that passes without its patch fails here (strict xfail): then the defect is gone, and the patch can go too.
"""

import json
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

import pytest
from moto.stepfunctions.parser.asl.utils import boto_client

from local.engine import MOTO_VERSION, simulated_aws
from local.moto_patches import PATCHES
from tests.local.polling import until
from tests.local.simulated import Account, waiting_for_a_token

PROVEN: set[str] = set()

PASS = {"Type": "Pass"}
WAIT = {"Type": "Wait", "Seconds": 60}


def proof(patch: str) -> pytest.MarkDecorator:
    """Run the test with every patch, and without this one, which it must not survive."""
    PROVEN.add(patch)
    lifted = pytest.param(
        {patch}, id=f"without {patch}", marks=pytest.mark.xfail(strict=True, reason="a defect of moto")
    )
    return pytest.mark.parametrize("account", [pytest.param(set[str](), id="patched"), lifted], indirect=True)


@pytest.fixture
def account(request: pytest.FixtureRequest) -> Iterator[Account]:
    with simulated_aws(without=getattr(request, "param", ())):
        yield Account()


@pytest.fixture
def impatient_threads() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


def together(act: Callable[[], Any], count: int) -> list[Any]:
    """Act in so many threads at the same moment, and return what came of it."""
    gate = threading.Barrier(count)
    results: list[Any] = []

    def run() -> None:
        gate.wait()
        try:
            results.append(act())
        except Exception as error:  # noqa: BLE001 - whatever it was, the test wants to see it
            results.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_every_patch_has_its_proof() -> None:
    assert set(PATCHES) == PROVEN


def test_the_patches_are_for_the_installed_version() -> None:
    assert version("moto") == MOTO_VERSION


@proof("names_are_made_up_and_unique")
def test_executions_without_a_name_get_names_of_their_own(account: Account) -> None:
    machine = account.machine(WAIT)

    first, second = account.start(machine), account.start(machine)

    assert first != second
    assert not first.endswith(":None")


@pytest.mark.parametrize("name", ["a b", "a" * 81, "a/b", "a\nb"])
def test_a_bad_name_is_refused(account: Account, name: str) -> None:
    machine = account.machine(PASS)

    with pytest.raises(account.workflows.exceptions.InvalidName):
        account.start(machine, name=name)


def test_one_name_starts_one_execution_however_many_ask(account: Account, impatient_threads: None) -> None:
    machine = account.machine(WAIT)

    for name in map(str, range(20)):
        arns = together(lambda name=name: account.start(machine, name=name), 4)
        assert len(set(arns)) == 1, arns

    assert len(account.workflows.list_executions(stateMachineArn=machine)["executions"]) == 20


def test_a_name_with_another_input_is_taken(account: Account) -> None:
    machine = account.machine(WAIT)
    account.start(machine, {"a": 1}, name="taken")

    with pytest.raises(account.workflows.exceptions.ExecutionAlreadyExists):
        account.start(machine, {"a": 2}, name="taken")


@proof("inputs_are_checked")
def test_an_input_over_the_limit_is_refused(account: Account) -> None:
    machine = account.machine(PASS)

    with pytest.raises(account.workflows.exceptions.InvalidExecutionInput):
        account.start(machine, "x" * 262_144)


@proof("errors_carry_their_code")
def test_an_input_that_is_not_json_has_an_error_of_its_own(account: Account) -> None:
    machine = account.machine(PASS)

    with pytest.raises(account.workflows.exceptions.InvalidExecutionInput):
        account.workflows.start_execution(stateMachineArn=machine, input="{")


@proof("ends_are_final_and_reported")
def test_a_change_of_status_is_an_event(account: Account) -> None:
    queue, machine = account.queue(), account.machine(PASS)
    queue_arn = account.queues.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"][
        "QueueArn"
    ]
    account.rule_to(queue_arn, {"source": ["aws.states"], "detail": {"stateMachineArn": [machine]}})

    execution = account.start(machine)

    events = account.messages(queue, 2, within=1.0)
    assert [event["detail"]["status"] for event in events] == ["RUNNING", "SUCCEEDED"]
    assert {event["detail"]["executionArn"] for event in events} == {execution}


@proof("stopping_is_immediate")
def test_an_execution_that_waits_for_a_token_stops_at_once(account: Account) -> None:
    queue = account.queue()
    execution = account.start(account.machine(waiting_for_a_token(queue)))
    account.messages(queue)

    stopped = account.workflows.stop_execution(executionArn=execution, error="Enough", cause="of it")

    described = account.describe(execution)
    assert (described["status"], described["error"], described["cause"]) == ("ABORTED", "Enough", "of it")
    assert stopped["stopDate"] == described["stopDate"]


def test_the_history_of_a_stopped_execution_ends_with_the_stop(account: Account) -> None:
    queue = account.queue()
    execution = account.start(account.machine(waiting_for_a_token(queue)))
    account.messages(queue)

    account.workflows.stop_execution(executionArn=execution)

    def last() -> bool:
        history = account.workflows.get_execution_history(executionArn=execution, reverseOrder=True)
        return history["events"][0]["type"] == "ExecutionAborted"

    until(last)
    assert account.describe(execution)["status"] == "ABORTED"


def test_an_execution_can_be_stopped_the_moment_it_starts(account: Account) -> None:
    machine = account.machine(WAIT)

    for _ in range(20):
        execution = account.start(machine)
        account.workflows.stop_execution(executionArn=execution)
        assert account.describe(execution)["status"] == "ABORTED"


@proof("describing_tells_all")
def test_an_output_of_null_is_an_output(account: Account) -> None:
    execution = account.start(account.machine({"Type": "Pass", "Result": None}))

    assert account.ended(execution)["output"] == "null"


def test_an_execution_that_timed_out_has_an_end(account: Account) -> None:
    execution = account.start(account.machine(WAIT, TimeoutSeconds=1))

    described = account.ended(execution)

    assert described["status"] == "TIMED_OUT"
    assert described["stopDate"] > described["startDate"]


@proof("history_comes_in_pages")
def test_a_history_is_read_backwards_in_pages(account: Account) -> None:
    execution = account.start(account.machine(PASS))
    account.ended(execution)

    page = account.workflows.get_execution_history(executionArn=execution, maxResults=2, reverseOrder=True)
    rest = account.workflows.get_execution_history(
        executionArn=execution, reverseOrder=True, nextToken=page["nextToken"]
    )

    assert [event["type"] for event in page["events"]] == ["ExecutionSucceeded", "PassStateExited"]
    assert [event["type"] for event in rest["events"]] == ["PassStateEntered", "ExecutionStarted"]


@proof("tokens_count_once")
def test_a_task_that_is_failed_by_its_token_keeps_the_cause(account: Account) -> None:
    queue = account.queue()
    execution = account.start(account.machine(waiting_for_a_token(queue)))
    (message,) = account.messages(queue)

    account.workflows.send_task_failure(taskToken=message["token"], error="Declined", cause="by the user")

    described = account.ended(execution)
    assert (described["error"], described["cause"]) == ("Declined", "by the user")


def test_a_token_is_answered_once(account: Account) -> None:
    queue = account.queue()
    execution = account.start(account.machine(waiting_for_a_token(queue), WAIT))
    (message,) = account.messages(queue)
    account.workflows.send_task_success(taskToken=message["token"], output="1")

    with pytest.raises(account.workflows.exceptions.TaskTimedOut):
        account.workflows.send_task_success(taskToken=message["token"], output="2")

    assert account.describe(execution)["status"] == "RUNNING"


def test_a_token_dies_with_its_execution(account: Account) -> None:
    queue = account.queue()
    execution = account.start(account.machine(waiting_for_a_token(queue)))
    (message,) = account.messages(queue)
    account.workflows.stop_execution(executionArn=execution)

    with pytest.raises(account.workflows.exceptions.TaskTimedOut):
        account.workflows.send_task_success(taskToken=message["token"], output="1")


def test_an_answer_that_is_not_json_leaves_the_task_waiting(account: Account) -> None:
    queue = account.queue()
    execution = account.start(account.machine(waiting_for_a_token(queue)))
    (message,) = account.messages(queue)

    with pytest.raises(account.workflows.exceptions.InvalidOutput):
        account.workflows.send_task_success(taskToken=message["token"], output="{")

    account.workflows.send_task_success(taskToken=message["token"], output='{"said": "yes"}')
    assert json.loads(account.ended(execution)["output"]) == {"said": "yes"}


def test_a_token_that_nobody_issued_is_invalid(account: Account) -> None:
    with pytest.raises(account.workflows.exceptions.InvalidToken):
        account.workflows.send_task_success(taskToken="made up", output="1")


@proof("heartbeats_find_their_task")
def test_a_task_without_a_heartbeat_limit_may_beat(account: Account) -> None:
    queue = account.queue()
    execution = account.start(account.machine(waiting_for_a_token(queue)))
    (message,) = account.messages(queue)

    account.workflows.send_task_heartbeat(taskToken=message["token"])

    assert account.describe(execution)["status"] == "RUNNING"


@proof("tasks_share_their_clients")
def test_tasks_share_their_clients(account: Account) -> None:
    first, second = (boto_client.boto_client_for(region="us-east-1", service="sqs") for _ in range(2))

    assert first is second


@proof("parameters_are_spelled_either_way")
def test_a_workflow_starts_another_and_takes_its_output(account: Account) -> None:
    inner = account.machine({"Type": "Pass", "Result": {"answer": 42}})
    parameters: dict[str, Any] = {"StateMachineArn": inner, "Input": {}}
    start = {"Type": "Task", "Resource": "arn:aws:states:::states:startExecution.sync:2", "Parameters": parameters}

    described = account.ended(account.start(account.machine(start)))

    assert json.loads(described["output"])["Output"] == {"answer": 42}


@proof("expressions_are_evaluated")
def test_variables_keep_what_was_assigned_to_them(account: Account) -> None:
    text = "quotes \"' and \\ and \n; and $x:=1;"
    assign = {"Type": "Pass", "Assign": {"text": "{% $states.input.text %}", "nothing": None}}
    read = {"Type": "Pass", "Output": {"text": "{% $text %}", "null": "{% $nothing = null %}", "id": "{% $uuid() %}"}}

    described = account.ended(account.start(account.machine(assign, read, QueryLanguage="JSONata"), {"text": text}))

    output = json.loads(described["output"])
    assert (output["text"], output["null"]) == (text, True)
    assert str(uuid.UUID(output["id"])) == output["id"]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("$hash('a', 'SHA-256')", "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"),
        ("$parse('{\"a\": [1]}').a[0]", 1),
        ("$partition([1,2,3], 2)", [[1, 2], [3]]),
        ("$range(1, 5, 2)", [1, 3, 5]),
        ("$sum($states.input.numbers)", 6),
        ("($y := 2; $y * 2)", 4),
        ("$exists($states.input.nothing)", False),
    ],
)
def test_an_expression_has_its_value(account: Account, expression: str, value: Any) -> None:
    state = {"Type": "Pass", "Output": f"{{% {expression} %}}"}
    execution = account.start(account.machine(state, QueryLanguage="JSONata"), {"numbers": [1, 2, 3]})

    assert json.loads(account.ended(execution)["output"]) == value


@proof("failed_expressions_have_their_error")
def test_an_expression_that_fails_has_an_error_name(account: Account) -> None:
    state = {"Type": "Pass", "Output": "{% $sum('a') %}"}
    execution = account.start(account.machine(state, QueryLanguage="JSONata"))

    described = account.ended(execution)

    assert (described["status"], described["error"]) == ("FAILED", "States.QueryEvaluationError")


def test_a_large_input_does_not_slow_an_expression_down(account: Account) -> None:
    state = {"Type": "Pass", "Output": "{% $length($states.input.text) %}"}
    execution = account.start(account.machine(state, QueryLanguage="JSONata"), {"text": 'a"\n' * 50_000})

    assert account.ended(execution, within=2.0)["output"] == "150000"


@proof("invoking_runs_the_code")
def test_a_task_runs_the_functions_code(account: Account) -> None:
    function = account.function(GREETING="hello")
    task = {"Type": "Task", "Resource": function.settings.arn}

    described = account.ended(account.start(account.machine(task), {"a": 1}))

    assert json.loads(described["output"])["greeting"] == "hello"


def test_an_exceptions_name_can_be_caught(account: Account) -> None:
    function = account.function()
    refused = {"ErrorEquals": ["Refused"], "Next": "S1", "ResultPath": "$.error"}
    task = {"Type": "Task", "Resource": function.settings.arn, "Catch": [refused]}

    described = account.ended(account.start(account.machine(task, PASS), {"refuse": "not today"}))

    error = json.loads(described["output"])["error"]
    assert error["Error"] == "Refused"
    assert json.loads(error["Cause"])["errorMessage"] == "not today"


@proof("rules_invoke_functions")
def test_an_event_reaches_the_function_that_a_rule_names(account: Account) -> None:
    function = account.function()
    account.rule_to(function.settings.arn, {"source": ["test"]})

    account.rules.put_events(Entries=[{"Source": "test", "DetailType": "d", "Detail": '{"a": 1}'}])

    until(lambda: json.loads(function.invoke("{}").payload)["calls"] > 1, within=1.0)


def test_a_disabled_rule_invokes_nothing(account: Account) -> None:
    function = account.function()
    account.rules.disable_rule(Name=account.rule_to(function.settings.arn, {"source": ["test"]}))

    account.rules.put_events(Entries=[{"Source": "test", "DetailType": "d", "Detail": "{}"}])

    assert json.loads(function.invoke("{}").payload)["calls"] == 1


def table(account: Account) -> str:
    name = f"table-{uuid.uuid4()}"
    account.tables.create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return name


@proof("calls_take_turns")
def test_one_of_several_conditional_writes_wins(account: Account, impatient_threads: None) -> None:
    name = table(account)

    def put(key: str) -> Any:
        item = {"pk": {"S": key}}
        return account.tables.put_item(TableName=name, Item=item, ConditionExpression="attribute_not_exists(pk)")

    winners = [
        sum(isinstance(result, dict) for result in together(lambda key=key: put(key), 4)) for key in map(str, range(60))
    ]

    assert winners == [1] * 60


@proof("transactions_are_idempotent")
def test_a_transaction_that_is_repeated_counts_once(account: Account) -> None:
    name = table(account)
    update = {
        "TableName": name,
        "Key": {"pk": {"S": "a"}},
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }

    for _ in range(2):
        account.tables.transact_write_items(TransactItems=[{"Update": update}], ClientRequestToken="the same")

    assert account.tables.get_item(TableName=name, Key={"pk": {"S": "a"}})["Item"]["n"] == {"N": "1"}
