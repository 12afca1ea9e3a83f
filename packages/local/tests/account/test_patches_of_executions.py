"""Executions and task tokens behave as in AWS, thanks to the patches of moto."""

import json
from typing import Any

import pytest
from moto.stepfunctions.parser.asl.antlr.runtime.ASLParser import ASLParser

from packages.local.tests.proving import PASS, WAIT, proof, together
from packages.local.tests.simulated import ROLE, Account, waiting_for_a_token
from tests.waiting import until

# Why long: they prove that moto needs its patches, which only a change of moto or of a patch can change.
pytestmark = pytest.mark.long


@proof("definitions_are_read_apart")
def test_a_refused_definition_leaves_nothing_behind(account: Account) -> None:
    with pytest.raises(account.workflows.exceptions.InvalidDefinition):
        account.machine({"Type": "Pass", "QueryLanguage": "JSONPath"}, QueryLanguage="JSONata")

    execution = account.start(account.machine({"Type": "Pass", "Parameters": {"b.$": "$.a"}}), {"a": 1})

    assert json.loads(account.ended(execution)["output"]) == {"b": 1}


@proof("executions_are_never_redriven")
def test_a_redrive_is_refused_as_of_an_execution_that_is_too_old(account: Account) -> None:
    execution = account.start(account.machine({"Type": "Fail", "Error": "Busy"}))
    account.ended(execution)

    with pytest.raises(account.workflows.exceptions.ExecutionNotRedrivable):
        account.workflows.redrive_execution(executionArn=execution)


def test_executions_that_start_together_all_end(account: Account, impatient_threads: None) -> None:
    paths = account.machine({"Type": "Pass", "Parameters": {"a": 1}})
    expressions = account.machine({"Type": "Pass", "Output": "{% 1 %}"}, QueryLanguage="JSONata")

    executions = [account.start(machine) for _ in range(10) for machine in (paths, expressions)]

    assert {account.ended(execution)["status"] for execution in executions} == {"SUCCEEDED"}


@proof("definitions_are_parsed_once")
def test_a_definition_is_parsed_once_for_all_its_executions(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[object] = []
    original = ASLParser.state_machine

    def state_machine(self: Any) -> object:
        parsed.append(self)
        return original(self)

    monkeypatch.setattr(ASLParser, "state_machine", state_machine)
    # No other test has this definition: what is parsed stays for the process.
    machine = account.machine({"Type": "Pass", "Parameters": {"once.$": "$.a"}})

    executions = [account.start(machine, {"a": number}) for number in range(3)]

    assert [json.loads(account.ended(one)["output"]) for one in executions] == [{"once": number} for number in range(3)]
    assert len(parsed) == 1


@proof("names_are_made_up_and_unique")
def test_executions_without_a_name_get_unique_names(account: Account) -> None:
    machine = account.machine(WAIT)

    first, second = account.start(machine), account.start(machine)

    assert first != second
    assert not first.endswith(":None")


@pytest.mark.parametrize("name", ["a b", "a" * 81, "a/b", "a\nb"])
def test_a_bad_name_is_refused(account: Account, name: str) -> None:
    machine = account.machine(PASS)

    with pytest.raises(account.workflows.exceptions.InvalidName):
        account.start(machine, name=name)


def test_concurrent_starts_with_one_name_start_one_execution(account: Account, impatient_threads: None) -> None:
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
def test_an_input_that_is_not_json_is_refused_with_its_own_error(account: Account) -> None:
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

    events = account.messages(queue, 2)
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
def test_an_output_of_null_is_returned(account: Account) -> None:
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


def test_a_token_is_invalid_after_its_execution_has_ended(account: Account) -> None:
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


def test_a_token_that_was_never_issued_is_invalid(account: Account) -> None:
    with pytest.raises(account.workflows.exceptions.InvalidToken):
        account.workflows.send_task_success(taskToken="made up", output="1")


@proof("heartbeats_find_their_task")
def test_a_task_without_a_heartbeat_limit_may_send_heartbeats(account: Account) -> None:
    queue = account.queue()
    execution = account.start(account.machine(waiting_for_a_token(queue)))
    (message,) = account.messages(queue)

    account.workflows.send_task_heartbeat(taskToken=message["token"])

    assert account.describe(execution)["status"] == "RUNNING"


@proof("versions_and_aliases_are_started")
def test_a_version_and_an_alias_run_the_definition_that_was_published(account: Account) -> None:
    states = account.workflows
    machine = account.machine({**PASS, "Result": "first"})
    second = json.dumps({"StartAt": "S", "States": {"S": {**PASS, "Result": "second", "End": True}}})
    version = states.update_state_machine(stateMachineArn=machine, roleArn=ROLE, publish=True)["stateMachineVersionArn"]
    states.update_state_machine(stateMachineArn=machine, definition=second)
    alias = states.create_state_machine_alias(
        name="live", routingConfiguration=[{"stateMachineVersionArn": version, "weight": 100}]
    )["stateMachineAliasArn"]

    ended = [account.ended(account.start(arn)) for arn in (machine, version, alias)]

    assert [json.loads(one["output"]) for one in ended] == ["second", "first", "first"]
    assert [one["stateMachineArn"] for one in ended] == [machine] * 3
    assert [one.get("stateMachineVersionArn") for one in ended] == [None, version, version]
    assert [one.get("stateMachineAliasArn") for one in ended] == [None, None, alias]


def test_a_version_or_an_alias_that_is_not_there_is_refused(account: Account) -> None:
    machine = account.machine(PASS)

    for qualifier in ("1", "live"):
        with pytest.raises(account.workflows.exceptions.StateMachineDoesNotExist):
            account.start(f"{machine}:{qualifier}")
