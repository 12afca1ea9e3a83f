"""The AWS calls of resuming, asking, answering and listening, counted where botocore makes them."""

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.cost import calls
from stepwire_local import at_once, never
from tests.integration.clock import Clock
from tests.integration.stacks import OWN, ROOT, Deployed, deployed, deployed_without_events
from tests.kits import FORM
from tests.recorded import recorded
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient
from tests.server.messages import questions
from tests.waiting import until

pytestmark = pytest.mark.long

TOOL = "wait_and_echo"
SLOW = {"message": "hello", "seconds": 600}
REFUND = {"order_id": "A-1002", "amount": "249.00", "currency": "EUR", "reason": "It wobbles."}
ACCEPT: Json = {"action": "accept", "content": {"amount": 7}}


@pytest.fixture(scope="module")
def running_stack() -> Iterator[Deployed]:
    """The root template. Only the actions of a test call AWS."""
    with deployed_without_events() as stack:
        yield stack


@pytest.fixture
def stack(running_stack: Deployed) -> Deployed:
    """The same stack, with the counts reset."""
    running_stack.calls.forget()
    return running_stack


@pytest.fixture
def resuming(stack: Deployed) -> LegacyClient:
    """A legacy client that resumes streams and can ask its user."""
    return LegacyClient.opened(stack, capabilities=ASKING_CAPABILITY)


@pytest.fixture
def asking(stack: Deployed) -> ModernClient:
    """A modern client with tasks that can ask its user."""
    return ModernClient(stack, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})


def asked(stack: Deployed, task_id: str, key: str = "approval") -> None:
    """Let a state of a task's workflow ask a question, as Step Functions would."""
    event: dict[str, Any] = {
        "execution_arn": stack.execution_of(task_id),
        "task_token": f"a token of {key}",
        "key": key,
        "elicitation": FORM,
    }
    stack.stack.invoke("InputRequestsFunction", event)


def opened(client: LegacyClient, stack: Deployed) -> Answer:
    """Open the stream of a running task's result, and reset the counts."""
    first = client.task("result", client.call(TOOL, SLOW, task={}).id_in("task"))
    stack.calls.forget()
    return first


# K8
def test_a_poll_of_a_stream_is_one_read(resuming: LegacyClient, stack: Deployed) -> None:
    first = opened(resuming, stack)

    second = resuming.resume(first.last_event_id, opened_by=first.request)

    assert second.messages == []
    assert stack.calls.made == [*calls.STREAM_POLL]


def test_the_first_body_of_a_result_is_one_read(resuming: LegacyClient, stack: Deployed) -> None:
    task_id = resuming.call(TOOL, SLOW, task={}).id_in("task")
    stack.calls.forget()

    resuming.task("result", task_id)

    assert stack.calls.made == [*calls.POLL]


def test_a_plain_call_that_is_resumed_is_one_write_more_than_a_task(resuming: LegacyClient, stack: Deployed) -> None:
    answer = resuming.call(TOOL, SLOW)

    assert answer.is_stream
    # One more if the caller has just created another task: the creation rate continues instead of starting.
    assert stack.calls.made in ([*calls.PLAIN], ["UpdateItem", *calls.PLAIN])


# M50
@pytest.mark.parametrize("tasks", [0, 1, 3])
def test_listening_is_one_read_per_task(asking: ModernClient, stack: Deployed, tasks: int) -> None:
    ids = [asking.call(TOOL, SLOW).id_in() for _ in range(tasks)]
    stack.calls.forget()

    asking.listen({"taskIds": ids})

    assert stack.calls.made == ["GetItem"] * tasks


def test_a_question_is_a_read_and_a_write(asking: ModernClient, stack: Deployed) -> None:
    task_id = asking.call(TOOL, SLOW).id_in()
    stack.calls.forget()

    asked(stack, task_id)

    assert stack.calls.made == ["GetItem", "PutItem"]


# Read, record, deliver, record the delivery.
def test_an_answer_is_a_read_two_writes_and_its_delivery(asking: ModernClient, stack: Deployed) -> None:
    task_id = asking.call("approve_refund", REFUND).id_in()
    until(lambda: asking.task("get", task_id).result["status"] == "input_required")
    stack.calls.forget()

    asking.update(task_id, {"approval": {"action": "decline"}})

    assert stack.calls.made == ["GetItem", "PutItem", "SendTaskSuccess", "PutItem"]


def test_an_answer_over_a_stream_is_one_read_more(resuming: LegacyClient, stack: Deployed) -> None:
    first = opened(resuming, stack)
    asked(stack, first.request["params"]["taskId"])
    second = resuming.resume(first.last_event_id, opened_by=first.request)
    (question,) = questions(second.messages)
    stack.calls.forget()

    resuming.respond(question, result=ACCEPT)

    assert stack.calls.made == ["GetItem", "GetItem", "PutItem", "SendTaskSuccess", "PutItem"]


# X15: the steady state again
def test_a_poll_after_an_answer_is_one_read(asking: ModernClient, stack: Deployed) -> None:
    task_id = asking.call(TOOL, SLOW).id_in()
    asked(stack, task_id)
    asking.update(task_id, {"approval": ACCEPT})
    stack.calls.forget()

    asking.task("get", task_id)

    assert stack.calls.made == ["GetItem"]


def test_a_wrong_answer_is_read_and_its_question_written_again(asking: ModernClient, stack: Deployed) -> None:
    task_id = asking.call(TOOL, SLOW).id_in()
    asked(stack, task_id)
    stack.calls.forget()

    asking.update(task_id, {"approval": {"action": "accept"}})

    assert stack.calls.made == ["GetItem", "PutItem"]


def test_progress_is_a_read_and_a_write_and_late_progress_only_a_read(asking: ModernClient, stack: Deployed) -> None:
    task_id = asking.call(TOOL, SLOW).id_in()
    event = recorded("progress_reported")
    event["resources"] = [stack.execution_of(task_id)]
    stack.calls.forget()

    stack.stack.invoke("ExecutionEventsFunction", event)
    further = list(stack.calls.made)
    stack.stack.invoke("ExecutionEventsFunction", event)

    assert asking.task("get", task_id).result["statusMessage"].startswith("40%")
    assert further == ["GetItem", "PutItem"]
    assert stack.calls.made[2:] == ["GetItem", "GetItem"]


# L15
def test_cancelling_a_plain_call_is_one_write_more_than_cancelling_its_task(
    resuming: LegacyClient, stack: Deployed
) -> None:
    resuming.call(TOOL, SLOW, message_id="r")
    stack.calls.forget()

    resuming.notify("notifications/cancelled", {"requestId": "r"})

    assert stack.calls.made == [*calls.GIVE_UP]


def test_cancelling_tasks_result_is_one_write(resuming: LegacyClient, stack: Deployed) -> None:
    first = opened(resuming, stack)

    resuming.notify("notifications/cancelled", {"requestId": first.request["id"]})

    assert stack.calls.made == ["UpdateItem"]


def test_a_round_of_a_plain_call_is_one_read(stack: Deployed) -> None:
    plain = ModernClient(stack, capabilities=ASKING_CAPABILITY)
    first = plain.call(TOOL, SLOW)
    stack.calls.forget()

    plain.call(TOOL, SLOW, more={"requestState": first.result["requestState"]})

    assert stack.calls.made == ["GetItem"]


# Read, claim, check, record: once per interval, and only if no progress was reported.
def test_reading_the_current_state_is_four_calls_and_the_next_poll_is_one() -> None:
    clock, rare = Clock(), {"REPAIR_AFTER_SECONDS": "600", "STATE_AFTER_SECONDS": "4"}
    with deployed(ROOT / "stack.yaml", never, 1, clock, **rare) as stack:
        modern = ModernClient(stack)
        task_id = modern.call(TOOL, SLOW).id_in()
        until(lambda: stack.state_of(task_id) == "Wait")
        clock.move(seconds=4)
        stack.calls.forget()

        found = modern.task("get", task_id).result
        look = list(stack.calls.made)
        modern.task("get", task_id)

    assert found["statusMessage"] == "The workflow is in its state Wait."
    assert look == [*calls.LOOK]
    assert stack.calls.made == [*look, *calls.POLL]


# M45: read at the first use, once per instance
@pytest.mark.parametrize("instances", [1, 2])
def test_the_secret_is_read_once_in_an_instance(instances: int) -> None:
    with deployed(OWN, at_once, instances) as stack:
        modern = ModernClient(stack, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})
        modern.ask("tools/list")
        modern.ask("server/discover")
        stack.calls.forget()

        answers = [modern.call("confirmed_parrot", {"text": "hello"}) for _ in range(4)]
        asking = list(stack.calls.made)
        stack.calls.forget()
        state = answers[-1].result["requestState"]
        more: Json = {"requestState": state, "inputResponses": {"confirm": {"action": "accept"}}}
        created = modern.call("confirmed_parrot", {"text": "hello"}, more=more)

    assert asking == ["GetSecretValue"] * instances
    assert created.result["resultType"] == "task"
    # The first call tells whether the confirmation was used before.
    assert stack.calls.made[:4] == ["GetItem", *calls.CREATE]
