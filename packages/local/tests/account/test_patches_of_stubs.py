"""Tasks that nothing here can run: a stub answers, or the state fails and names the stub to give."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from packages.local.tests.proving import proof
from packages.local.tests.simulated import Account
from stepwire_local.stubs import owners
from stepwire_local.stubs.book import Book
from stepwire_local.stubs.owners import Owned
from stepwire_local.stubs.scripts import Scripts

# Why long: they prove that moto needs its patches, which only a change of moto or of a patch can change.
pytestmark = pytest.mark.long

Json = dict[str, Any]
FUNCTION = "arn:aws:lambda:us-east-1:123456789012:function:nobody"
ACTIVITY = "arn:aws:states:us-east-1:123456789012:activity:reviewer"
CHILD = "arn:aws:states:us-east-1:123456789012:stateMachine:nobody"
SDK = "arn:aws:states:::aws-sdk:"


def service(action: str, **parameters: Any) -> Json:
    return {"Type": "Task", "Resource": f"arn:aws:states:::{action}", "Parameters": parameters}


def throw(error: str, cause: str = "") -> Json:
    return {"Throw": {"Error": error, "Cause": cause}}


class Workflow:
    """A state machine with one Task state, and a folder of stubs."""

    def __init__(self, account: Account, folder: Path) -> None:
        self.account = account
        self.scripts = Scripts()
        self._folder = folder
        self._book = Book((), folder, "endpoint", self.scripts)

    def stub(self, name: str, answer: Any) -> None:
        """Give a name its stub: a script's text, or JSON."""
        path = self._folder / "stubs" / (name + (".py" if isinstance(answer, str) else ".json"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(answer if isinstance(answer, str) else json.dumps(answer), encoding="utf-8")
        self._book.read()

    def start(self, *states: Json, given: Any = None, **settings: Any) -> str:
        machine = self.account.machine(*states, **settings)
        owners.register(machine, Owned(self._book, ("Orders", machine.rpartition(":")[2])))
        return self.account.start(machine, given)

    def run(self, *states: Json, given: Any = None, **settings: Any) -> Json:
        """Run the state machine to its end."""
        return self.account.ended(self.start(*states, given=given, **settings))

    def output(self, *states: Json, **named: Any) -> Any:
        described = self.run(*states, **named)
        assert described["status"] == "SUCCEEDED", described.get("cause")
        return json.loads(described["output"])

    def close(self) -> None:
        self.scripts.close()
        owners.unregister(self._book)


@pytest.fixture
def workflow(account: Account, tmp_path: Path) -> Iterator[Workflow]:
    made = Workflow(account, tmp_path)
    yield made
    made.close()


@proof("stubs_answer_tasks")
def test_a_stub_answers_for_an_action(workflow: Workflow) -> None:
    workflow.stub("sns/publish", {"MessageId": "m-1"})

    assert workflow.output(service("sns:publish", TopicArn="topic", Message="x")) == {"MessageId": "m-1"}


@proof("activities_have_stubs")
def test_a_stub_answers_for_an_activity(workflow: Workflow) -> None:
    workflow.stub("reviewer", "def answer(given): return {'reviewed': given}")

    output = workflow.output({"Type": "Task", "Resource": ACTIVITY}, given={"order": 1})

    assert output == {"reviewed": {"order": 1}}


@proof("any_service_may_be_named")
def test_a_service_that_is_unknown_to_moto_may_be_named(workflow: Workflow) -> None:
    workflow.stub("http/invoke", {"StatusCode": 200})

    assert workflow.output(service("http:invoke", ApiEndpoint="https://example.com")) == {"StatusCode": 200}


@proof("runtime_errors_are_final")
def test_nothing_catches_or_retries_a_task_that_cannot_run(workflow: Workflow) -> None:
    everything = {"ErrorEquals": ["States.ALL"]}
    state = service("ecs:runTask", TaskDefinition="t")
    retry = [{**everything, "IntervalSeconds": 60, "MaxAttempts": 9}]

    described = workflow.run({**state, "Retry": retry, "Catch": [{**everything, "Next": "S1"}]}, {"Type": "Pass"})

    assert (described["status"], described["error"]) == ("FAILED", "States.Runtime")
    assert described["cause"].endswith("ecs:runTask is not served here: --stub ecs:runTask=answer.json")


FORMS: dict[str, tuple[Json, str]] = {
    "sns:publish.waitForTaskToken": (service("sns:publish.waitForTaskToken", Message="x"), "sns/publish"),
    "glue:startJobRun.sync": (service("glue:startJobRun.sync", JobName="nightly"), "glue/startJobRun"),
    "ecs:runTask.sync": (service("ecs:runTask.sync", Cluster="c", TaskDefinition="d"), "ecs/runTask.sync"),
    "ecs:runTask.waitForTaskToken": (service("ecs:runTask.waitForTaskToken", Cluster="c"), "ecs/runTask"),
    "batch:submitJob.sync": (service("batch:submitJob.sync", JobName="j"), "batch/submitJob"),
    "bedrock:invokeModel": (service("bedrock:invokeModel", ModelId="m"), "bedrock/invokeModel"),
    "athena, whose .sync moto refuses": (service("athena:startQueryExecution.sync"), "athena/startQueryExecution"),
    "eks:runJob.sync": (service("eks:runJob.sync"), "eks/runJob"),
    "apigateway:invoke": (service("apigateway:invoke", Method="GET"), "apigateway/invoke"),
    "any action of an SDK": (service("aws-sdk:textract:detectText", Document="x"), "aws-sdk/textract/detectText"),
    "a served action too": (service("sqs:sendMessage", QueueUrl="q", MessageBody="x"), "sqs/sendMessage"),
    "a nested execution": (service("states:startExecution.sync:2", StateMachineArn=CHILD), "states/startExecution"),
    "a state by its name": (service("sns:publish", Message="x"), "S0"),
    "a state of a state machine": (service("sns:publish", Message="x"), "Orders/S0"),
    "a function that waits for a token": (
        service("lambda:invoke.waitForTaskToken", FunctionName="nobody", Payload={}),
        "nobody",
    ),
    "a function": ({"Type": "Task", "Resource": FUNCTION}, "nobody"),
    "a version of a function": ({"Type": "Task", "Resource": f"{FUNCTION}:3"}, "nobody"),
    "a function in JSONata": (
        {"Type": "Task", "QueryLanguage": "JSONata", "Resource": FUNCTION, "Arguments": "{% $states.input %}"},
        "lambda/invoke",
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_task_has_its_stub(workflow: Workflow, form: str) -> None:
    state, name = FORMS[form]
    workflow.stub(name, {"answered": [form]})

    assert workflow.output(state) == {"answered": [form]}


def test_what_a_function_returns_is_the_payload_of_lambda_invoke(workflow: Workflow) -> None:
    workflow.stub("nobody", "def answer(given): return {'got': given}")
    state = service("lambda:invoke", FunctionName=f"{FUNCTION}:live", **{"Payload.$": "$"})

    assert workflow.output(state, given={"n": 1})["Payload"] == {"got": {"n": 1}}


def test_the_most_precise_name_counts(workflow: Workflow) -> None:
    states = [service("sns:publish", Message="x") for _ in range(3)]
    for name in ("sns/publish", "S1", "Orders/S1", "S2"):
        workflow.stub(name, {"by": name})

    output = workflow.output(*({**state, "ResultPath": f"$.s{at}"} for at, state in enumerate(states)))

    assert [output[f"s{at}"]["by"] for at in range(3)] == ["sns/publish", "Orders/S1", "S2"]


def test_a_script_knows_the_task_and_its_token(workflow: Workflow) -> None:
    workflow.stub("sns/publish", "def answer(given, context): return {'given': given, **context}")
    execution = workflow.start(service("sns:publish.waitForTaskToken", Message="x"))

    output = json.loads(workflow.account.ended(execution)["output"])

    assert len(output.pop("token")) > 20
    assert output == {
        "given": {"Message": "x"},
        "parameters": {"Message": "x"},
        "name": "sns/publish",
        "action": "sns:publish",
        "resource": "arn:aws:states:::sns:publish.waitForTaskToken",
        "state_machine": "Orders",
        "state": "S0",
        "attempt": 0,
        "execution": execution,
    }


@pytest.mark.parametrize(
    "state",
    [
        service("sns:publish", Message="x"),
        {"Type": "Task", "Resource": FUNCTION},
        {"Type": "Task", "Resource": ACTIVITY},
    ],
)
def test_a_failure_is_caught_by_its_name(workflow: Workflow, state: Json) -> None:
    workflow.stub("S0", throw("Shop.Closed", "come back tomorrow"))
    caught = {**state, "Catch": [{"ErrorEquals": ["Shop.Closed"], "Next": "S1"}]}

    assert workflow.output(caught, {"Type": "Pass"}) == {"Error": "Shop.Closed", "Cause": "come back tomorrow"}


def test_a_failure_may_be_one_of_step_functions_own(workflow: Workflow) -> None:
    workflow.stub("S0", throw("States.TaskFailed", "no"))

    described = workflow.run(service("glue:startJobRun.sync", JobName="nightly"))

    assert (described["error"], described["cause"]) == ("States.TaskFailed", "no")


def test_a_script_fails_first_and_succeeds_when_it_is_retried(workflow: Workflow) -> None:
    lines = (
        "def answer(given, context):",
        " if context['attempt'] < 2: raise OSError('busy')",
        " return context['attempt']",
    )
    workflow.stub("S0", "\n".join(lines))
    retry = {"ErrorEquals": ["OSError"], "IntervalSeconds": 1, "MaxAttempts": 3, "MaxDelaySeconds": 1}

    assert workflow.output({**service("sns:publish", Message="x"), "Retry": [retry]}) == 2


def test_a_stub_that_takes_longer_than_its_state_may_is_a_timeout(workflow: Workflow) -> None:
    workflow.stub("S0", {"Return": "late", "DelaySeconds": 600})

    described = workflow.run({**service("http:invoke"), "TimeoutSeconds": 1})

    assert described["error"] == "States.Timeout"


def test_a_delay_ends_with_the_execution(workflow: Workflow) -> None:
    workflow.stub("S0", {"Return": "late", "DelaySeconds": 600})
    execution = workflow.start(service("glue:startJobRun.sync", JobName="nightly"))

    workflow.account.workflows.stop_execution(executionArn=execution)

    assert workflow.account.ended(execution)["status"] == "ABORTED"


BROKEN: dict[str, tuple[Any, str]] = {
    "that raises when it is loaded": ("import nothing_of_this_name\ndef answer(given): pass", "No module named"),
    "that returns no JSON": ("def answer(given): return {1, 2}", "returned what is not JSON"),
    "that returns infinity": ("def answer(given): return float('inf')", "returned what is not JSON"),
    "that ends the process": ("import os\ndef answer(given): os._exit(3)", "ended before it returned"),
    "that returns half a reply": ("def answer(given): return {'Throw': 'x'}", "Throw must be"),
    "that throws what Step Functions does not know": (throw("States.Made.Up"), "is no error of Step Functions"),
    "that never returns": ("def answer(given):\n    while True: pass", "did not return within 0.5 seconds"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_stub_is_a_runtime_error(workflow: Workflow, kind: str) -> None:
    stub, words = BROKEN[kind]
    workflow.scripts.limit = 0.5 if "never" in kind else 60.0
    workflow.stub("S0", stub)
    caught = {**service("sns:publish", Message="x"), "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "S1"}]}

    described = workflow.run(caught, {"Type": "Pass"})

    assert (described["status"], described["error"]) == ("FAILED", "States.Runtime")
    assert words in described["cause"]


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (service("http:invoke"), "http:invoke is not served here: --stub http:invoke=answer.json"),
        (service("glue:startJobRun.sync", JobName="n"), "--stub glue:startJobRun=answer.json"),
        (service("ecs:runTask.waitForTaskToken", TaskDefinition="t"), "--stub ecs:runTask=answer.json"),
        ({"Type": "Task", "Resource": FUNCTION}, "the function nobody is in no template here: --stub "),
        ({"Type": "Task", "Resource": ACTIVITY}, "the activity reviewer has no worker here: --stub "),
        (service("states:startExecution", StateMachineArn=CHILD), f"{CHILD} is in no template here: --stub "),
    ],
)
def test_a_task_that_cannot_run_says_which_stub_to_give(workflow: Workflow, state: Json, words: str) -> None:
    described = workflow.run(state)

    assert described["error"] == "States.Runtime"
    assert words in described["cause"]


def test_in_a_branch_it_is_final_too(workflow: Workflow) -> None:
    branch = {"StartAt": "Send", "States": {"Send": {**service("ecs:runTask", TaskDefinition="t"), "End": True}}}
    everything = {"ErrorEquals": ["States.ALL"], "Next": "S1"}

    described = workflow.run({"Type": "Parallel", "Branches": [branch], "Catch": [everything]}, {"Type": "Pass"})

    assert described["status"] == "FAILED"
    assert "--stub ecs:runTask=answer.json" in described["cause"]


def test_a_state_machine_that_no_stack_has_is_left_alone(account: Account) -> None:
    described = account.ended(account.start(account.machine(service("sns:publish", TopicArn="t", Message="x"))))

    assert described["status"] == "FAILED"
    assert "--stub" not in described["cause"]
