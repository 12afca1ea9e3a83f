"""The AWS calls of a client's task, counted where botocore makes them."""

import pytest

from benchmarks.cost import calls
from tests.integration.stacks import Deployed
from tests.integration.test_aws_calls_of_dialogues import ACCEPT, asked, opened, running_stack, stack
from tests.server.answers import Json
from tests.server.clients import ASKING_CAPABILITY, LegacyClient

__all__ = ["running_stack", "stack"]
pytestmark = pytest.mark.long


# N2: its task is written once when it is made and once when it has ended; a look that finds nothing writes nothing
def test_a_clients_task_is_two_writes_more_than_its_answer_and_a_look_is_one_read(stack: Deployed) -> None:
    tasks: Json = {"cancel": {}, "requests": {"elicitation": {"create": {}}}}
    client = LegacyClient.opened(stack, capabilities={**ASKING_CAPABILITY, "tasks": tasks})
    told: Json = {"taskId": "a-task", "status": "working", "createdAt": "", "lastUpdatedAt": "", "ttl": None}
    first = opened(client, stack)
    asked(stack, first.request["params"]["taskId"])
    latest = client.resume(first.last_event_id, opened_by=first.request)
    made = list[str]()

    for result in ({"task": told}, told, {**told, "status": "completed"}, ACCEPT):
        request = next(one for one in latest.messages if "id" in one)
        stack.calls.forget()
        client.respond(request, result=result)
        made.append(" ".join(stack.calls.made))
        stack.calls.forget()
        latest = client.resume(latest.last_event_id, opened_by=first.request)
        assert stack.calls.made == [*calls.STREAM_POLL]

    assert made == [
        "GetItem PutItem",
        "GetItem",
        "GetItem PutItem",
        "GetItem GetItem PutItem SendTaskSuccess PutItem",
    ]
