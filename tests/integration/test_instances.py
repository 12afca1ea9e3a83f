"""Two instances of each function take turns, and clients notice nothing in any kind of conversation."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stepwire_local import at_once
from tests.integration.clock import Clock
from tests.integration.stacks import OWN, ROOT, Deployed, deployed
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient
from tests.server.messages import progress_of, questions
from tests.waiting import until

pytestmark = pytest.mark.long
REFUND = {"order_id": "A-1002", "amount": "249.00", "currency": "EUR", "reason": "It wobbles."}
ACCEPT: Json = {"action": "accept", "content": {"amount": 120.5, "note": "Half."}}
TEXTS = {"texts": ["Berlin", "Paris", "Rome"]}


INSTANCES = (pytest.param(1, marks=pytest.mark.long, id="one instance"), pytest.param(2, id="two instances"))


@pytest.fixture(scope="module", params=INSTANCES)
def stack(request: pytest.FixtureRequest, clock: Clock) -> Iterator[Deployed]:
    """The root template, where plain calls do not wait, and other responses wait as long as needed."""
    with deployed(ROOT / "stack.yaml", at_once, request.param, clock, INLINE_WAIT_SECONDS="0") as stack:
        yield stack


@pytest.fixture(scope="module", params=INSTANCES)
def own_stack(request: pytest.FixtureRequest, clock: Clock) -> Iterator[Deployed]:
    """A stack with a tool that needs a confirmation."""
    with deployed(OWN, at_once, request.param, clock) as stack:
        yield stack


@pytest.fixture
def resuming(stack: Deployed) -> LegacyClient:
    """A legacy client that resumes streams and can ask its user."""
    return LegacyClient.opened(stack, capabilities=ASKING_CAPABILITY)


def answering(client: LegacyClient, answer: Json) -> Callable[[Any], None]:
    """Answer every question in a body."""

    def answer_all(messages: Any) -> None:
        for one in questions(messages):
            assert client.respond(one, result=answer).status == 202

    return answer_all


# K8, T30
@pytest.mark.parametrize("kind", ["a task", "a plain call"])
def test_a_workflow_asks_over_a_legacy_stream(resuming: LegacyClient, kind: str) -> None:
    if kind == "a task":
        task_id = resuming.call("approve_refund", REFUND, task={}).id_in("task")
        first = resuming.task("result", task_id)
    else:
        first = resuming.call("approve_refund", REFUND)

    messages = resuming.follow(first, between=answering(resuming, ACCEPT), limit=None)

    assert len(questions(messages)) == 1
    result = messages[-1]["result"]["structuredContent"]
    assert (result["status"], result["refunded"], result["note"]) == ("refunded", "120.50", "Half.")


# T32
def test_a_workflow_reports_progress_over_a_legacy_stream(resuming: LegacyClient) -> None:
    first = resuming.call("measure_texts", TEXTS, progress_token="t")

    messages = resuming.follow(first, limit=None)

    assert messages[-1]["result"]["structuredContent"]["characters"] == [6, 5, 4]
    assert progress_of(messages) == sorted(set(progress_of(messages)))


# X15, X10
def test_a_modern_task_is_answered_by_an_update(stack: Deployed) -> None:
    modern = ModernClient(stack, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})
    task_id = modern.call("approve_refund", REFUND).id_in()
    until(lambda: modern.task("get", task_id).result["status"] == "input_required")

    modern.update(task_id, {"approval": ACCEPT})
    assert modern.task("get", task_id).result["status"] != "input_required"
    until(lambda: modern.task("get", task_id).result["status"] == "completed")

    assert modern.task("get", task_id).result["result"]["structuredContent"]["refunded"] == "120.50"


# M43, M45, M46
def test_a_modern_plain_call_asks_and_continues_in_rounds(stack: Deployed) -> None:
    plain = ModernClient(stack, capabilities=ASKING_CAPABILITY)
    answers = [plain.call("approve_refund", REFUND)]

    while answers[-1].result["resultType"] == "input_required":
        asked = answers[-1].result.get("inputRequests", {})
        more: Json = {
            "requestState": answers[-1].result["requestState"],
            "inputResponses": dict.fromkeys(asked, ACCEPT),
        }
        answers.append(plain.call("approve_refund", REFUND, more=more))

    assert any("inputRequests" in answer.result for answer in answers)
    assert answers[-1].result["structuredContent"]["refunded"] == "120.50"


# M50, X23
def test_a_listener_gets_notifications_of_every_task(stack: Deployed, clock: Clock) -> None:
    modern = ModernClient(stack, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})
    ids = [modern.call("wait_and_echo", {"message": "a", "seconds": seconds}).id_in() for seconds in (0, 600)]
    until(lambda: modern.task("get", ids[0]).result["status"] == "completed")

    with clock.passing(seconds=60):
        _, *told, _ = modern.listen({"taskIds": ids}).messages

    assert [one["params"]["status"] for one in told] == ["completed", "working"]
    modern.task("cancel", ids[1])


# L15
def test_a_plain_call_that_is_given_up_is_stopped(resuming: LegacyClient, stack: Deployed) -> None:
    before = set(stack.executions())
    first = resuming.call("wait_and_echo", {"message": "a", "seconds": 600}, message_id="r")
    (execution,) = set(stack.executions()) - before

    resuming.notify("notifications/cancelled", {"requestId": "r"})

    assert resuming.resume(first.last_event_id, opened_by=first.request).code == -31005
    assert stack.status_of(execution.rpartition("-")[2]) == "ABORTED"


def begun(stack: Deployed, answer: Answer) -> Any:
    """Return the input of a modern task's workflow, which the workflow returns."""
    modern = ModernClient(stack, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})
    until(lambda: modern.task("get", answer.id_in()).result["status"] == "completed")
    return modern.task("get", answer.id_in()).result["result"]["structuredContent"]


# X9, M45: another instance accepts what one has signed
def test_a_call_is_confirmed_and_a_state_used_twice_starts_nothing(own_stack: Deployed) -> None:
    modern = ModernClient(own_stack, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})
    first = modern.call("confirmed_parrot", {"text": "hello"})
    response = {"action": "accept", "content": {"loud": True}}
    more: Json = {"requestState": first.result["requestState"], "inputResponses": {"confirm": response}}

    created = modern.call("confirmed_parrot", {"text": "hello"}, more=more)
    output = begun(own_stack, created)
    executions = own_stack.executions()
    replayed = modern.call("confirmed_parrot", {"text": "hello"}, more=more)

    assert output == {"text": "hello", "confirmation": {"loud": True}}
    assert replayed.id_in() == created.id_in()
    assert own_stack.executions() == executions


# T9, T30
@pytest.mark.parametrize("as_task", [True, False])
def test_a_legacy_call_is_confirmed_over_its_stream(own_stack: Deployed, as_task: bool) -> None:
    client = LegacyClient.opened(own_stack, capabilities=ASKING_CAPABILITY)
    before = own_stack.executions()
    if as_task:
        created = client.call("confirmed_parrot", {"text": "hello"}, task={})
        first = client.task("result", created.id_in("task"))
    else:
        first = client.call("confirmed_parrot", {"text": "hello"})
    assert own_stack.executions() == before

    messages = client.follow(first, between=answering(client, {"action": "accept", "content": {}}), limit=None)

    assert json.loads(messages[-1]["result"]["content"][0]["text"]) == {"text": "hello", "confirmation": {}}
