"""The AWS calls of a retry, counted where botocore makes them: one write and one call, beside the reads.

What each further call is for, and why it cannot go, stands with the counts in `benchmarks.cost.calls`.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

import boto3
import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from benchmarks.cost import calls
from stepwire.catalog.live import REREAD_AFTER
from stepwire_local import never
from tests.integration.clock import Clock
from tests.integration.owners import Owner
from tests.integration.stacks import ROOT, Deployed, deployed
from tests.server.clients import ModernClient
from tests.simulated.wire import answered
from tests.waiting import until

pytestmark = pytest.mark.long

ARGUMENTS: Final = {"message": "hello", "seconds": 600}
ERROR: Final = {"error": "OutOfStock", "cause": "on purpose"}
DELAY: Final = 10  # seconds
MODES: Final = {
    "restarted_at_once": {"mode": "restart", "delay": "PT0S"},
    "redriven_at_once": {"mode": "redrive", "delay": "PT0S"},
    "restarted_later": {"mode": "restart", "delay": f"PT{DELAY}S"},
    "redriven_later": {"mode": "redrive", "delay": f"PT{DELAY}S"},
}


@pytest.fixture(scope="module")
def stack(clock: Clock) -> Iterator[Deployed]:
    """A stack with a tool for each kind of retry, in which no event arrives but those that a test sends."""
    with deployed(ROOT / "stack.yaml", never, 1, clock, WaitSeconds="0") as stack:
        # The local engine does not redrive. The handlers build their clients with this session.
        session: Any = boto3.DEFAULT_SESSION
        session.events.register("before-send.sfn.RedriveExecution", redriven)
        owner = Owner(stack, stack.stack.physical_ids["WaitAndEcho"])
        for name, retry in MODES.items():
            owner.register(name, retry={"attempts": 3, "errors": ["OutOfStock"], **retry})
        until(lambda: set(MODES) <= set(owner.published()))
        clock.move(seconds=REREAD_AFTER.total_seconds())
        stack.list_tools()
        yield stack


def redriven(request: AWSPreparedRequest, **_: object) -> AWSResponse:
    return answered(request, 200, {"redriveDate": 0})


def failed(stack: Deployed, tool: str) -> dict[str, Any]:
    """Begin a task, and return the event that its first execution has failed."""
    task_id = ModernClient(stack).call(tool, ARGUMENTS).id_in()
    event = stack.status_event(task_id, "execution_failed", **ERROR)
    stack.calls.forget()
    return event


# R9
@pytest.mark.parametrize(
    ("tool", "made"),
    [
        ("restarted_at_once", calls.RESTART_AT_ONCE),
        ("redriven_at_once", calls.REDRIVE_AT_ONCE),
        ("restarted_later", calls.RETRY_LATER),
        ("redriven_later", calls.RETRY_LATER),
    ],
)
def test_a_failure_that_is_retried_is_one_write_and_one_call(stack: Deployed, tool: str, made: tuple[str, ...]) -> None:
    event = failed(stack, tool)

    stack.stack.invoke("ExecutionEventsFunction", event)

    assert stack.calls.made == [*made]


# R9
@pytest.mark.parametrize(
    ("tool", "made"), [("restarted_later", calls.RESTART_IN_TIME), ("redriven_later", calls.REDRIVE_IN_TIME)]
)
def test_an_attempt_that_begins_later_is_one_call_and_no_write(
    stack: Deployed, clock: Clock, tool: str, made: tuple[str, ...]
) -> None:
    event = failed(stack, tool)
    stack.stack.invoke("ExecutionEventsFunction", event)
    clock.move(seconds=DELAY)
    stack.calls.forget()

    stack.stack.invoke("ExecutionEventsFunction", {"Records": [message(stack, event)]})

    assert stack.calls.made == [*made]


def message(stack: Deployed, event: dict[str, Any]) -> dict[str, str]:
    """Return the message that wakes the task of an event."""
    task_id = event["detail"]["name"].rpartition("-")[2]
    table = stack.stack.physical_ids["TasksTable"]
    items = stack.stack.client("dynamodb").scan(TableName=table)["Items"]
    (owner,) = {item["pk"]["S"] for item in items if item["sk"]["S"] == f"task#{task_id}"}
    return {"messageId": "1", "body": json.dumps({"owner": owner, "task_id": task_id})}
