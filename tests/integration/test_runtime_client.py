"""The functions as `sam local` runs them, without the container: in separate processes, under the official runtime
interface client, with the variables of the file for `--env-vars`, against the simulated services.
"""

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from stepwire_local import LocalStack
from stepwire_local.account.services import CONTAINER_HOST
from stepwire_local.sam_local import ENDPOINT, env_vars
from tests.adopted import ADOPTER
from tests.extras import parts
from tests.integration import samples
from tests.integration.runtime_api import Answer, Fault, Runtime
from tests.integration.samples import OfExtra, Sample
from tests.integration.stacks import ROOT, SIGN_IN
from tests.recorded import recorded, task_of_the_events
from tests.template.chosen import ON
from tests.waiting import until
from tests.wire_oracle import check

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no wheel of awslambdaric for other systems")

# The credentials that `sam local` invents for a developer without any.
CREDENTIALS: Final = {
    "AWS_ACCESS_KEY_ID": "defaultkey",
    "AWS_SECRET_ACCESS_KEY": "defaultsecret",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
}
# Where an extra has parameters of its own, its samples are of another stack (docs/sam_local.md).
OF_EXTRAS: Final[list[OfExtra]] = [part.SAMPLES for part in parts("samples") if not part.SAMPLES.parameters]
SAMPLES: Final = {**samples.SAMPLES, **{name: sample for part in OF_EXTRAS for name, sample in part.taken.items()}}
# The sample event for each function: one that it answers, with a signed-in caller if needed.
ONE_OF_EACH: Final = {
    sample.function: name
    for name, sample in sorted(SAMPLES.items(), key=lambda one: bool(one[1].parameters))
    if sample.fails is None
}


@pytest.fixture(scope="module")
def services() -> Iterator[LocalStack]:
    """The services with the resources of the template, where sign-in is needed."""
    given = {"WaitSeconds": "0", "PollsPerSecond": "0", "EventBus": "default", **ON}
    parameters = {**given, **SIGN_IN}
    with LocalStack(ROOT / "stack.yaml", others=[ADOPTER], services_at="127.0.0.1", parameters=parameters) as stack:
        yield stack


@pytest.fixture(scope="module")
def mcp(services: LocalStack) -> Iterator[Runtime]:
    """Function mcp."""
    with runtime_of("McpFunction", services) as runtime:
        yield runtime


def runtime_of(function: str, services: LocalStack, handler: str | None = None) -> Runtime:
    """Run a function as the template describes it."""
    settings = services.functions[function].settings
    variables = dict(env_vars(services)[function])
    # Without a container, the host has the same name everywhere.
    variables[ENDPOINT] = variables[ENDPOINT].replace(CONTAINER_HOST, "127.0.0.1")
    layer = {"PYTHONPATH": str(ROOT / "layers" / "stepwire")}
    return Runtime(settings.folder, handler or settings.handler, {**CREDENTIALS, **layer, **variables})


def ask(mcp: Runtime, method: str, **params: Any) -> dict[str, Any]:
    """Send a legacy request in an event; return the result."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = mcp.invoke({**recorded("http_post_jwt"), "body": json.dumps(message)})
    assert isinstance(answer, Answer)
    body = json.loads(answer.result["body"])
    check(message, body, "2025-11-25")
    return body["result"]


def is_now(mcp: Runtime, task_id: str, status: str) -> Callable[[], bool]:
    """Tell whether a task has this status."""
    return lambda: ask(mcp, "tasks/get", taskId=task_id)["status"] == status


# The other functions start in the same way, from the same template.
@pytest.mark.parametrize(
    ("function", "name"),
    [
        pytest.param(*one, marks=() if one[0] == "McpFunction" else pytest.mark.long)
        for one in sorted(ONE_OF_EACH.items())
    ],
)
def test_a_function_answers_its_sample_event(services: LocalStack, function: str, name: str) -> None:
    sample: Sample = SAMPLES[name]
    if sample.alias:  # a command is about a task
        table = services.physical_ids["TasksTable"]
        services.client("dynamodb").put_item(TableName=table, Item=task_of_the_events())

    with runtime_of(function, services) as runtime:
        answer = runtime.invoke(recorded(name), sample.alias)

    assert isinstance(answer, Answer)
    assert answer.result == (sample.answers and answer.result | sample.answers)


def test_a_task_starts_in_one_process_and_is_ended_by_functions_in_another(mcp: Runtime) -> None:
    call = {"name": "wait_and_echo", "arguments": {"message": "grüße", "seconds": 1}, "task": {}}

    task_id = ask(mcp, "tools/call", **call)["task"]["taskId"]
    until(is_now(mcp, task_id, "completed"))

    assert ask(mcp, "tasks/result", taskId=task_id)["structuredContent"] == {"message": "grüße", "waited_seconds": 1}


@pytest.mark.long
def test_a_task_that_is_cancelled_from_outside_stops_its_execution(mcp: Runtime, services: LocalStack) -> None:
    call = {"name": "wait_and_echo", "arguments": {"message": "never", "seconds": 600}, "task": {}}
    task_id = ask(mcp, "tools/call", **call)["task"]["taskId"]

    ask(mcp, "tasks/cancel", taskId=task_id)

    machine = services.physical_ids["WaitAndEcho"]
    executions = services.client("stepfunctions").list_executions(stateMachineArn=machine)["executions"]
    (status,) = [one["status"] for one in executions if one["name"].endswith(task_id)]
    assert status == "ABORTED"


@pytest.mark.long
def test_an_invalid_event_is_an_error_and_the_function_continues(services: LocalStack) -> None:
    with runtime_of("InputRequestsFunction", services) as runtime:
        fault = runtime.invoke({})
        answer = runtime.invoke(recorded("input_requested"))

    assert isinstance(fault, Fault)
    assert (fault.error["errorType"], fault.at_start) == ("KeyError", False)
    assert answer == Answer(None)


@pytest.mark.long
def test_a_missing_handler_stops_the_start(services: LocalStack) -> None:
    with runtime_of("McpFunction", services, handler="app.nobody") as runtime:
        fault = runtime.invoke(recorded("http_get"))

    assert isinstance(fault, Fault)
    assert (fault.error["errorType"], fault.at_start) == ("Runtime.HandlerNotFound", True)
