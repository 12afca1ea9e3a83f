"""The simulated services over HTTP, served by a command in another process; and the requests that are refused."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from msgspec.structs import replace

from packages.local.tests.conftest import TEMPLATE
from stepwire.aws.storage.items import item_of, task_of
from stepwire.tasks.runs import Run
from stepwire_local import LocalStack, TemplateError
from stepwire_local.account.services import SERVED
from stepwire_local.sam_local import write_env_vars
from tests.recorded import task_of_the_events
from tests.waiting import HANG_GUARD, until

ROOT = Path(__file__).parents[4]
# As on a developer's machine: neither the key nor the Region is that of the stack.
DEVELOPER = {
    "region_name": "eu-central-1",
    "aws_access_key_id": "AKIAIOSFODNN7EXAMPLE",
    "aws_secret_access_key": "anything",
    "aws_session_token": "a-session",
}


@dataclass(frozen=True)
class Outside:
    """The services in another process, as a client sees them."""

    url: str
    variables: dict[str, dict[str, str]]
    """The environment variables that the command has written for `sam local`."""

    def client(self, service: str) -> Any:
        """Return a client such as a function in a container has."""
        session: Any = boto3.session.Session()
        return session.client(service, endpoint_url=self.url, **DEVELOPER)

    def of_mcp(self, name: str) -> str:
        """Return a variable of function mcp."""
        return self.variables["McpFunction"][name]

    def machine(self, name: str) -> str:
        """Give the ARN of a state machine by its logical id."""
        found = self.client("stepfunctions").list_state_machines()["stateMachines"]
        return next(one["stateMachineArn"] for one in found if one["name"].endswith(f"-{name}"))


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    file = tmp_path_factory.mktemp("sam") / "new" / "env.json"
    templates = ["--template", "template.yaml", "--template", "tests/adopter/template.yaml"]
    command = [sys.executable, "-m", "stepwire_local", *templates, "--services", "--port", "0", "--env-vars", str(file)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        port = int(served.stdout.readline().split("127.0.0.1:")[1].split()[0])
        yield Outside(f"http://127.0.0.1:{port}", json.loads(file.read_text(encoding="utf-8")))
        served.send_signal(signal.SIGTERM)
        served.communicate(timeout=HANG_GUARD)  # reads to the end, so that its last line finds a reader
    assert served.returncode == 0


@pytest.fixture(scope="module")
def endpoint() -> Iterator[LocalStack]:
    with LocalStack(ROOT / "stack.yaml", services_at="127.0.0.1") as stack:
        yield stack


@pytest.fixture(scope="module")
def services() -> Iterator[LocalStack]:
    with LocalStack(TEMPLATE, services_at="127.0.0.1") as stack:
        yield stack


def signed_for(service: str) -> dict[str, str]:
    scope = f"Credential=AKIAIOSFODNN7EXAMPLE/20260801/eu-central-1/{service}/aws4_request"
    return {
        "authorization": f"AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=0",
        "content-type": "application/x-amz-json-1.0",
        "x-amz-target": "DynamoDB_20120810.ListTables",
    }


def list_tables(services: LocalStack, service: str = "dynamodb", **headers: str) -> httpx.Response:
    url = f"http://127.0.0.1:{services.port}"
    return httpx.post(url, headers={**signed_for(service), **headers}, content="{}", timeout=HANG_GUARD)


@pytest.mark.long
def test_the_table_exists(outside: Outside) -> None:
    tasks, table = outside.client("dynamodb"), outside.of_mcp("TABLE_NAME")
    item = {"pk": {"S": "grüße"}, "sk": {"S": "1"}}

    tasks.put_item(TableName=table, Item=item)

    assert tasks.get_item(TableName=table, Key=item)["Item"] == item
    with pytest.raises(tasks.exceptions.ConditionalCheckFailedException):
        tasks.put_item(TableName=table, Item=item, ConditionExpression="attribute_not_exists(pk)")


@pytest.mark.long
def test_state_machines_run(outside: Outside) -> None:
    states = outside.client("stepfunctions")
    machine = outside.machine("WaitAndEcho")

    arn = states.start_execution(stateMachineArn=machine, input='{"message": "hello", "seconds": 0}')["executionArn"]

    until(lambda: states.describe_execution(executionArn=arn)["status"] == "SUCCEEDED")
    with pytest.raises(states.exceptions.ExecutionDoesNotExist):
        states.describe_execution(executionArn=f"{arn}x")


@pytest.mark.long
def test_state_machines_call_functions_in_the_process_of_the_services(outside: Outside) -> None:
    states = outside.client("stepfunctions")
    machine = outside.machine("MeasureTexts")

    arn = states.start_execution(stateMachineArn=machine, input='{"texts": ["a"]}')["executionArn"]

    until(lambda: states.describe_execution(executionArn=arn)["status"] == "SUCCEEDED")


@pytest.mark.long
def test_the_secret_exists(outside: Outside) -> None:
    secret = outside.client("secretsmanager").get_secret_value(SecretId=outside.of_mcp("SECRET_ARN"))

    assert len(secret["SecretString"]) == 64


@pytest.mark.long
def test_an_event_reaches_the_function_of_its_rule(outside: Outside) -> None:
    machine = outside.machine("WaitAndEcho")
    task = task_of(task_of_the_events())
    prefix = outside.of_mcp("EXECUTION_PREFIX")
    item = item_of(replace(task, runs=(Run(machine),), work=replace(task.work, execution_prefix=prefix)))
    key, table, tasks = (
        {name: item[name] for name in ("pk", "sk")},
        outside.of_mcp("TABLE_NAME"),
        outside.client("dynamodb"),
    )
    tasks.put_item(TableName=table, Item=item)
    name = task_of(item).execution.name
    execution = f"{machine.replace(':stateMachine:', ':execution:')}:{name}"
    event = {"Source": "stepwire", "DetailType": "Stepwire Task Progress", "Resources": [machine, execution]}

    sent = outside.client("events").put_events(Entries=[{**event, "Detail": '{"progress": 40, "total": 100}'}])

    assert sent["FailedEntryCount"] == 0
    until(lambda: task_of(tasks.get_item(TableName=table, Key=key)["Item"]).progress is not None)


@pytest.mark.long
def test_the_queue_exists(outside: Outside) -> None:
    queues = outside.client("sqs")
    (queue,) = (one for one in queues.list_queues()["QueueUrls"] if "DeadLetters" in one)

    queues.send_message(QueueUrl=queue, MessageBody="a letter")

    (letter,) = queues.receive_message(QueueUrl=queue)["Messages"]
    assert letter["Body"] == "a letter"


def test_a_service_that_is_not_simulated_is_refused_by_name(services: LocalStack) -> None:
    answer = list_tables(services, "sts")

    assert (answer.status_code, answer.json()["__type"]) == (501, "NotServedLocally")
    assert all(service in answer.json()["message"] for service in SERVED)


def test_an_operation_that_is_not_simulated_is_an_error_and_does_not_stop_the_command(services: LocalStack) -> None:
    unknown = {"x-amz-target": "DynamoDB_20120810.ReadMyMind"}

    assert list_tables(services, **unknown).status_code in (400, 500, 501)
    assert list_tables(services).status_code == 200


def test_a_container_may_address_them_by_the_name_of_its_host(services: LocalStack) -> None:
    assert services.services_url == f"http://host.docker.internal:{services.port}"
    assert list_tables(services, host=f"host.docker.internal:{services.port}").status_code == 200


@pytest.mark.parametrize("host", ["rebound.example", "rebound.example:3000", "localhost.rebound.example", ""])
def test_a_request_with_an_unknown_host_is_refused(services: LocalStack, host: str) -> None:
    assert list_tables(services, host=host).json()["__type"] == "ForbiddenHost"


@pytest.mark.parametrize("authorization", ["", "Bearer token", "AWS4-HMAC-SHA256 Credential=x"])
def test_a_request_without_a_signature_is_refused(services: LocalStack, authorization: str) -> None:
    answer = list_tables(services, authorization=authorization)

    assert (answer.status_code, answer.json()["__type"]) == (403, "MissingAuthenticationToken")


def test_a_request_that_is_too_long_is_refused(services: LocalStack) -> None:
    url = f"http://127.0.0.1:{services.port}"

    answer = httpx.post(url, headers=signed_for("dynamodb"), content=b"x" * (16 * 1024 * 1024 + 1), timeout=HANG_GUARD)

    assert answer.status_code == 413


def test_a_template_whose_functions_would_call_the_real_aws_is_refused(services: LocalStack, tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match=r"ApiFunction does not declare the variable AWS_ENDPOINT_URL"):
        write_env_vars(services, tmp_path / "env.json")

    assert not (tmp_path / "env.json").exists()


def test_a_file_that_cannot_be_written_is_named(endpoint: LocalStack, tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match=re.escape(f"{tmp_path} cannot be written")):
        write_env_vars(endpoint, tmp_path)


def test_the_variables_of_functions_name_the_services_and_what_the_stack_has(
    endpoint: LocalStack, tmp_path: Path
) -> None:
    write_env_vars(endpoint, tmp_path / "new" / "env.json")

    variables = json.loads((tmp_path / "new" / "env.json").read_text(encoding="utf-8"))
    assert variables["McpFunction"]["TABLE_NAME"] == endpoint.physical_ids["TasksTable"]
    assert variables["McpFunction"]["AWS_ENDPOINT_URL"] == endpoint.services_url


def test_a_function_that_a_condition_excludes_gets_only_the_endpoint(endpoint: LocalStack, tmp_path: Path) -> None:
    write_env_vars(endpoint, tmp_path / "env.json")

    variables = json.loads((tmp_path / "env.json").read_text(encoding="utf-8"))
    assert set(variables["MetadataFunction"]) == {"AWS_ENDPOINT_URL"}


@pytest.mark.long
def test_containers_get_the_given_address() -> None:
    stack = LocalStack(TEMPLATE, services_at="172.17.0.1")

    assert stack.services_url == "http://172.17.0.1:0"
