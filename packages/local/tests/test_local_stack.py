"""A served template: its API answers over HTTP as API Gateway does, and its functions run as Lambda runs them."""

import contextlib
import json
import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from botocore.exceptions import ClientError

from packages.local.tests.conftest import TEMPLATE
from stepwire_local import FunctionError, FunctionLoadError, LocalStack, PortInUse
from stepwire_local.cloudformation.resources.kinds import NOT_ENFORCED
from stepwire_local.gateway.server import listen
from stepwire_local.lambdas import asynchronous, functions
from tests.waiting import HANG_GUARD, until

CLIENT = httpx.Client(timeout=HANG_GUARD, limits=httpx.Limits(max_connections=None))


def client_of_unknown_service() -> Any:
    """Return a client of a service that is not simulated."""
    session: Any = boto3.session.Session()
    return session.client("sqs", endpoint_url="https://sqs.not-simulated.example")


def post(stack: LocalStack, do: str = "echo", **headers: str) -> httpx.Response:
    return CLIENT.post(stack.url, headers={"x-do": do, **headers}, json={"a": 1})


def test_outputs_name_this_machine(stack: LocalStack) -> None:
    assert stack.url == f"http://127.0.0.1:{stack.port}/mcp"
    assert stack.outputs["McpEndpoint"] == stack.url
    assert stack.client("dynamodb").describe_table(TableName=stack.outputs["Tasks"])


def test_unsupported_resources_are_reported(stack: LocalStack) -> None:
    assert "Setting: AWS::Kinesis::Stream is not served" in stack.not_served
    assert (
        "alarms, dashboards and metric filters: nothing is counted, so none rings or shows anything"
        in stack.differences
    )
    assert NOT_ENFORCED in stack.differences


def test_a_schedule_is_not_a_rule_that_matches_every_event(stack: LocalStack) -> None:
    entry = {"Source": "a test", "DetailType": "anything", "Detail": "{}"}
    assert stack.client("events").put_events(Entries=[entry])["FailedEntryCount"] == 0

    messages = stack.client("sqs").receive_message(QueueUrl=stack.physical_ids["Scheduled"])

    assert "Messages" not in messages


def test_a_request_becomes_an_event(stack: LocalStack) -> None:
    seen = post(stack).json()["event"]

    assert (seen["routeKey"], seen["rawPath"], json.loads(seen["body"])) == ("POST /mcp", "/mcp", {"a": 1})
    assert seen["requestContext"]["http"]["method"] == "POST"


def test_a_path_parameter_reaches_the_function(stack: LocalStack) -> None:
    seen = httpx.get(f"{stack.base_url}/items/a%2Fb?x=1", timeout=HANG_GUARD).json()["event"]

    assert seen["pathParameters"] == {"id": "a/b"}
    assert seen["queryStringParameters"] == {"x": "1"}
    assert "body" not in seen


def test_a_response_reaches_the_client(stack: LocalStack) -> None:
    response = post(stack, "answer")

    assert (response.status_code, response.content) == (201, b"hi")
    assert (response.headers["x-answer"], response.headers["content-type"]) == ("42", "text/x")
    assert response.headers.get_list("set-cookie") == ["a=1; Secure", "b=2"]


@pytest.mark.parametrize("do", ["fail", "bad status"])
def test_a_failure_of_the_function_is_an_internal_error(stack: LocalStack, do: str) -> None:
    response = post(stack, do)

    assert (response.status_code, response.json()) == (500, {"message": "Internal Server Error"})


def test_a_function_that_exceeds_the_integration_timeout_gets_503() -> None:
    with LocalStack(TEMPLATE, parameters={"IntegrationTimeout": "50"}) as stack:
        response = post(stack, "sleep", **{"x-seconds": "600"})

    assert (response.status_code, response.json()) == (503, {"message": "Service Unavailable"})


@pytest.mark.parametrize(("method", "path"), [("GET", "/mcp"), ("POST", "/"), ("POST", "/mcp/"), ("OPTIONS", "/mcp")])
def test_a_path_without_a_route_is_not_found(stack: LocalStack, method: str, path: str) -> None:
    response = httpx.request(method, stack.base_url + path, timeout=HANG_GUARD)

    assert (response.status_code, response.json()) == (404, {"message": "Not Found"})


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "localhost.evil.example:{port}", ""])
def test_a_foreign_host_is_forbidden(stack: LocalStack, host: str) -> None:
    response = post(stack, host=host.format(port=stack.port))

    assert (response.status_code, response.json()) == (403, {"message": "Forbidden"})


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST", "[::1]"])
def test_the_other_names_of_this_machine_are_served(stack: LocalStack, name: str) -> None:
    assert post(stack, host=f"{name}:{stack.port}").status_code == 200


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:9", "127.1.2.3:{port}", "[::1]:80"])
def test_every_loopback_name_is_served_with_a_forwarded_port(stack: LocalStack, host: str) -> None:
    assert post(stack, host=host.format(port=stack.port)).status_code == 200


def test_a_request_with_two_hosts_is_forbidden(stack: LocalStack) -> None:
    with socket.create_connection(("127.0.0.1", stack.port)) as connection:
        hosts = f"Host: 127.0.0.1:{stack.port}\r\nHost: evil.example\r\n"
        connection.sendall(f"GET /items/1 HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n".encode())
        answer = connection.recv(4096)

    assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 403"))


def test_headers_over_the_limit_are_refused(stack: LocalStack) -> None:
    assert post(stack, **{"x-long": "a" * 10_240}).status_code == 431


@pytest.mark.parametrize("size", [10 * 1024 * 1024 + 1, 6 * 1024 * 1024])
def test_a_body_over_the_limit_is_refused(stack: LocalStack, size: int) -> None:
    response = httpx.post(stack.url, content=b"a" * size, headers={"content-type": "text/plain"}, timeout=HANG_GUARD)

    assert (response.status_code, response.json()) == (413, {"message": "Request Entity Too Large"})


def test_fifty_waiting_requests_do_not_block_another(stack: LocalStack, tmp_path: Path) -> None:
    go = tmp_path / "go"
    with ThreadPoolExecutor(50) as pool:
        waiting = [
            pool.submit(post, stack, "wait", **{"x-arrived": str(tmp_path / f"{number}"), "x-until": str(go)})
            for number in range(50)
        ]
        until(lambda: len(list(tmp_path.iterdir())) == 50)

        assert post(stack).status_code == 200
        assert not any(future.done() for future in waiting)
        go.touch()
        assert {future.result().status_code for future in waiting} == {204}


def test_a_function_has_the_environment_of_its_template(stack: LocalStack) -> None:
    variables = post(stack).json()["environment"]

    assert variables["TABLE_NAME"] == stack.outputs["Tasks"]
    assert variables["ALLOWED_ORIGINS"] == f"http://127.0.0.1:{stack.port},http://localhost:{stack.port}"
    assert variables["AWS_LAMBDA_FUNCTION_NAME"].endswith("ApiFunction")
    assert variables["LAMBDA_TASK_ROOT"] == str(TEMPLATE.parent / "api")
    assert variables["AWS_REGION"] == "us-east-1"
    assert "TABLE_NAME" not in os.environ


def test_functions_do_not_share_variables_or_modules(stack: LocalStack) -> None:
    worker = stack.invoke("WorkerFunction", {})

    assert (worker["greeting"], worker["table"], worker["shared"]) == ("from the worker", None, "the worker's own")
    assert post(stack).json()["shared"] == "the api's own"


def test_a_function_knows_its_remaining_time(stack: LocalStack) -> None:
    assert 0 < stack.invoke("WorkerFunction", {})["remaining"] <= 1000


@pytest.mark.parametrize(
    ("event", "kind", "message"),
    [
        ({"refuse": "no"}, "Refused", "no"),
        ({"break": "it"}, "KeyError", "'it'"),
        ({"exit": "now"}, "SystemExit", "now"),
    ],
)
def test_a_failure_has_its_type_and_message(stack: LocalStack, event: Any, kind: str, message: str) -> None:
    with pytest.raises(FunctionError) as caught:
        stack.invoke("WorkerFunction", event)

    assert caught.value.error_type == kind
    assert message in caught.value.message


def test_an_invocation_ends_with_the_functions_timeout(stack: LocalStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "timeout_scale", 1.0)

    with pytest.raises(FunctionError) as caught:
        stack.invoke("WorkerFunction", {"seconds": 600})

    assert caught.value.error_type == "Sandbox.Timedout"
    assert "Task timed out after 1.00 seconds" in caught.value.message


def test_a_failed_asynchronous_invocation_is_retried_and_kept_as_a_dead_letter(stack: LocalStack) -> None:
    event = {"detail": {"input": "poison"}}
    function = stack.outputs["EventsFunction"]

    stack.client("lambda").invoke(FunctionName=function, InvocationType="Event", Payload=json.dumps(event))

    def letters() -> Any:
        request = {"QueueUrl": stack.outputs["DeadLetters"], "MessageAttributeNames": ["All"]}
        return stack.client("sqs").receive_message(**request).get("Messages")

    (letter,) = until(letters)
    assert json.loads(letter["Body"]) == event
    assert letter["MessageAttributes"]["ErrorMessage"]["StringValue"] == "poison"


def test_a_drained_stack_has_no_invocation_under_way(stack: LocalStack) -> None:
    function, event = stack.physical_ids["WorkerFunction"], json.dumps({"seconds": 0.1})
    invoke = stack.client("lambda").invoke

    begun = asynchronous.begun()
    for _ in range(3):
        invoke(FunctionName=function, InvocationType="Event", Payload=event)
    stack.drain()

    assert asynchronous.begun() == begun + 3
    assert asynchronous.is_idle(stack.functions.values())


def test_objects_in_buckets_are_kept(stack: LocalStack) -> None:
    bucket = stack.client("s3")
    bucket.put_object(Bucket=stack.outputs["Data"], Key="a.csv", Body=b"a,b\n1,2\n")

    assert bucket.get_object(Bucket=stack.outputs["Data"], Key="a.csv")["Body"].read() == b"a,b\n1,2\n"


def test_no_call_reaches_the_network(stack: LocalStack) -> None:
    elsewhere = client_of_unknown_service()

    with pytest.raises(ClientError, match="NotServedLocally"):
        elsewhere.list_queues()


def test_real_credentials_are_hidden_and_restored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    template = tmp_path / "template.yaml"
    template.write_text("Resources: {Queue: {Type: AWS::SQS::Queue}}", encoding="utf-8")
    before = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}

    with LocalStack(template):
        inside = boto3.session.Session().get_credentials()

    assert inside is not None
    assert inside.access_key == "LOCALSTACKDUMMYKEY"
    assert {name: value for name, value in os.environ.items() if name.startswith("AWS_")} == before


def test_a_route_whose_sign_in_is_not_served_refuses_every_request() -> None:
    with LocalStack(TEMPLATE, parameters={"Authorizer": "iam"}) as stack:
        response = post(stack, authorization="AWS4-HMAC-SHA256 anything")

    assert response.status_code == 403
    assert "POST /mcp: AWS_IAM sign-in is not verified here, so the route refuses every request" in stack.not_served


def test_parameters_reach_the_functions() -> None:
    with LocalStack(TEMPLATE, parameters={"Greeting": "moin", "AllowedOrigins": ""}) as stack:
        variables = post(stack).json()["environment"]

    assert (variables["GREETING"], variables["ALLOWED_ORIGINS"]) == ("moin", "")


def test_two_stacks_at_the_same_time_have_nothing_in_common() -> None:
    with LocalStack(TEMPLATE) as first, LocalStack(TEMPLATE) as second:
        names = [post(stack).json()["environment"]["TABLE_NAME"] for stack in (first, second)]

        assert names == [first.outputs["Tasks"], second.outputs["Tasks"]]
        assert first.outputs["Workflow"] != second.outputs["Workflow"]


def test_nothing_is_left_when_a_stack_has_stopped() -> None:
    before = servers()

    stack = LocalStack(TEMPLATE)
    for _ in range(2):
        with stack:
            execution = stack.client("stepfunctions").start_execution(
                stateMachineArn=stack.outputs["Workflow"], input='{"seconds": 30}'
            )
            assert execution["executionArn"]

    with pytest.raises(httpx.ConnectError):
        httpx.get(stack.base_url, timeout=HANG_GUARD)
    assert servers() == before


def test_a_port_in_use_is_named_with_what_to_do(stack: LocalStack) -> None:
    words = (
        rf"Port {stack.port} of 127\.0\.0\.1 is in use\. Choose another, as `make run PORT=3001` does; 0 is any free"
    )

    with pytest.raises(PortInUse, match=words), LocalStack(TEMPLATE, port=stack.port):
        pass


def test_a_port_that_is_none_is_named(stack: LocalStack) -> None:
    with pytest.raises(PortInUse, match=r"Port 65536 of 127.0.0.1 is not available"), LocalStack(TEMPLATE, port=65_536):
        pass


def servers() -> int:
    return sum(thread.name == "http" for thread in threading.enumerate())


FUNCTION = """
Transform: AWS::Serverless-2016-10-31
Resources:
  F:
    Type: AWS::Serverless::Function
    Properties: {CodeUri: f, Handler: app.handler, Runtime: RUNTIME}
"""


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            "import nothing_of_this_name",
            "Runtime.ImportModuleError: cannot import FILE: ModuleNotFoundError: nothing_of_this_name is not installed "
            "here (uvx --with nothing_of_this_name stepwire-local)",
        ),
        (
            "from json import nothing",
            "Runtime.ImportModuleError: cannot import FILE: ImportError: cannot import name 'nothing' from 'json'",
        ),
        ("def handler(:", "Runtime.UserCodeSyntaxError: cannot import FILE: SyntaxError: invalid syntax"),
        ("raise SystemExit(1)", "Runtime.ExitError: cannot import FILE: SystemExit: 1"),
        ("{}['key']", "KeyError: cannot import FILE: KeyError: 'key'"),
        ("x = 1", "Runtime.HandlerNotFound: FILE has no handler"),
        (None, "Runtime.ImportModuleError: handler app.handler needs FILE, which does not exist"),
    ],
)
def test_a_function_that_cannot_be_loaded_says_so_at_the_start_and_when_it_is_called(
    tmp_path: Path, code: str | None, words: str
) -> None:
    file, template = tmp_path / "f/app.py", tmp_path / "template.yaml"
    file.parent.mkdir()
    if code is not None:
        file.write_text(code, encoding="utf-8")
    template.write_text(FUNCTION.replace("RUNTIME", "python3.13"), encoding="utf-8")

    with LocalStack(template) as stack:
        (missing,) = stack.coverage.missing
        with pytest.raises(FunctionError) as raised:
            stack.invoke("F", {})

    kind, _, why = words.replace("FILE", str(file)).partition(": ")
    assert missing.startswith(f"the function F cannot run here: {why}")
    assert (raised.value.error_type, raised.value.message) == (kind, missing)


def test_a_function_that_was_not_loaded_is_loaded_once_its_code_is_well(tmp_path: Path) -> None:
    file, template = tmp_path / "f/app.py", tmp_path / "template.yaml"
    file.parent.mkdir()
    file.write_text("import nothing_of_this_name", encoding="utf-8")
    template.write_text(FUNCTION.replace("RUNTIME", "python3.13"), encoding="utf-8")

    with LocalStack(template) as stack:
        file.write_text("def handler(:", encoding="utf-8")
        stack.update(stack.deployments[0])
        with pytest.raises(FunctionError, match="SyntaxError"):
            stack.invoke("F", {})
        file.write_text("handler = lambda event, context: event", encoding="utf-8")
        stack.update(stack.deployments[0])

        assert stack.invoke("F", "well") == "well"
        assert stack.coverage.missing == []


def test_settings_that_a_function_refuses_stop_the_start(tmp_path: Path) -> None:
    code = "class H:\n  def warm(self): raise ValueError('tools/a.yaml: bad')\nhandler = H()"
    (tmp_path / "f").mkdir()
    (tmp_path / "f/app.py").write_text(code, encoding="utf-8")
    template = tmp_path / "template.yaml"
    template.write_text(FUNCTION.replace("RUNTIME", "python3.13"), encoding="utf-8")

    with pytest.raises(FunctionLoadError, match=r"F: tools/a\.yaml: bad"), LocalStack(template):
        pass


IMAGE = {"PackageType": "Image"}
ELSEWHERE = {"Handler": "a.b", "Runtime": "python3.13"}


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"CodeUri": "f", "Handler": "a.b", "Runtime": "ruby3.4"}, "its runtime is ruby3.4"),
        ({"CodeUri": "never/built.jar", "Handler": "A::b", "Runtime": "java21"}, "its runtime is java21"),
        (IMAGE, "its code is a container image"),
        ({**IMAGE, "ImageUri": "1.dkr.ecr.us-east-1.amazonaws.com/a:1"}, "its code is a container image"),
        ({**ELSEWHERE, "CodeUri": "gone"}, "its code is not in a folder on this disk"),
        ({**ELSEWHERE, "CodeUri": "s3://bucket/key.zip"}, "its code is not in a folder on this disk"),
        ({**ELSEWHERE, "CodeUri": {"Bucket": "bucket", "Key": "key.zip"}}, "its code is not in a folder on this disk"),
    ],
)
def test_a_function_that_cannot_run_here_does_not_stop_the_start(
    tmp_path: Path, properties: dict[str, object], why: str
) -> None:
    function = {"Type": "AWS::Serverless::Function", "Properties": {**properties, "AutoPublishAlias": "live"}}
    body = {"Transform": "AWS::Serverless-2016-10-31", "Resources": {"F": function}}
    (tmp_path / "template.json").write_text(json.dumps(body), encoding="utf-8")

    with LocalStack(tmp_path / "template.json") as stack:
        missing = stack.coverage.missing
        with pytest.raises(FunctionError) as raised:
            stack.invoke("F", {})

    assert missing == [f"the function F cannot run here: {why}: --stub F=answer.json"]
    assert raised.value.error_type == "Stepwire.NotServedLocally"
    assert raised.value.message == f"the function F cannot run here: {why}: --stub F=answer.json"


def test_tools_are_compiled_beside_their_function(tmp_path: Path) -> None:
    template = with_a_folder_of_tools(tmp_path, "import stepwire\nhandler = lambda event, context: None")

    with pytest.raises(FunctionLoadError, match=r"a\.yaml.*nonsense"), LocalStack(template):
        pass


def test_a_folder_of_tools_of_a_function_that_is_none_of_stepwire_is_left_alone(tmp_path: Path) -> None:
    template = with_a_folder_of_tools(tmp_path, "handler = lambda event, context: event")

    with LocalStack(template) as stack:
        assert stack.invoke("F", 7) == 7


def with_a_folder_of_tools(folder: Path, code: str) -> Path:
    tools, template = folder / "f/tools", folder / "template.yaml"
    tools.mkdir(parents=True)
    (folder / "f/app.py").write_text(code, encoding="utf-8")
    (tools / "a.yaml").write_text("name: a\nnonsense: true\n", encoding="utf-8")
    template.write_text(FUNCTION.replace("RUNTIME", "python3.13"), encoding="utf-8")
    return template


def test_an_answer_is_not_held_back() -> None:
    with contextlib.closing(listen(0)) as listener:
        assert listener.proto == socket.IPPROTO_TCP
