"""Concurrent threads use one task, one key or one limit, on two instances of each function: one of them wins.

The assertions hold for every order and speed of the threads: tests deliver the status events themselves, no task is
overdue unless a test makes it so, and waits have no time limit. After each test everything has ended: no execution
runs,
and no slot is held.
"""

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, TypeVar

import pytest
from msgspec.structs import replace

from stepwire.aws.storage import items as heads
from stepwire_local import StatusEvent, never
from tests.integration.stacks import ROOT, SIGN_IN, Deployed, deployed
from tests.recorded import recorded
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient

pytestmark = pytest.mark.long
THREADS: Final = 12
MOST_ACTIVE: Final = 8
ROUNDS: Final = 4
LONG: Final = {"message": "hello", "seconds": 600}
SHORT: Final = {"message": "hello"}
ENDED: Final = {"completed", "failed", "cancelled"}
UNKNOWN: Final = -32602
LIMIT_REACHED: Final = -31002
Client = LegacyClient | ModernClient
Value = TypeVar("Value")


class Ends:
    """The ends of executions, from their status events; the events are not delivered."""

    def __init__(self) -> None:
        self._events: dict[str, StatusEvent] = {}
        self._changed = threading.Condition()

    def note(self, event: StatusEvent) -> Iterable[float]:
        """Record a status event, and drop it."""
        if event.status != "RUNNING":
            with self._changed:
                self._events[event.execution_arn.rpartition("-")[2]] = event
                self._changed.notify_all()
        return ()

    def wait(self, task_id: str) -> StatusEvent:
        """Wait until the execution of a task has ended; return its status event."""
        with self._changed:
            self._changed.wait_for(lambda: task_id in self._events)
            return self._events[task_id]


@dataclass(frozen=True)
class Racing(Deployed):
    """A stack whose status events a test delivers."""

    ends: Ends = field(default_factory=Ends)

    def bring_end(self, task_id: str) -> None:
        """Wait until the execution of a task has ended, and deliver its status event."""
        detail = self.ends.wait(task_id).detail
        self.stack.invoke("ExecutionEventsFunction", {**recorded("execution_succeeded"), "detail": detail})


@pytest.fixture(scope="module")
def running_stack() -> Iterator[Racing]:
    """The root template with two instances per function; no task is overdue."""
    parameters = {"MostActiveTasks": str(MOST_ACTIVE), "MostTasksPerMinute": "60000", "REPAIR_AFTER_SECONDS": "600"}
    with deployed(ROOT / "stack.yaml", never, 2, **parameters, STATE_AFTER_SECONDS="0", **SIGN_IN) as stack:
        racing = Racing(stack.stack, stack.calls)
        stack.stack.events = racing.ends.note
        yield racing


@pytest.fixture
def stack(running_stack: Racing) -> Iterator[Racing]:
    """The same stack; after each test, check that everything has ended."""
    running_stack.calls.forget()
    yield running_stack
    for name in running_stack.executions():
        running_stack.ends.wait(task_of(name))
    assert slots(running_stack) == set()


@pytest.fixture
def clients(stack: Racing) -> list[Client]:
    """One client of the same caller for each thread, of both eras."""
    modern = ModernClient(stack, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})
    legacy = LegacyClient.opened(stack, capabilities=ASKING_CAPABILITY)
    return [modern, legacy] * (THREADS // 2)


def together(acts: Sequence[Callable[[], Value]]) -> list[Value]:
    """Run all functions concurrently, each in its own thread; return their results."""
    gate = threading.Barrier(len(acts))

    def act(one: Callable[[], Value]) -> Value:
        gate.wait()
        return one()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(act, acts))


def items(stack: Deployed) -> list[dict[str, Any]]:
    """Read the whole table."""
    return stack.stack.client("dynamodb").scan(TableName=stack.stack.physical_ids["TasksTable"])["Items"]


def slots(stack: Deployed) -> set[str]:
    """Return the ids of the tasks that hold a slot."""
    return {task_id for item in items(stack) for task_id in item.get("active", {}).get("SS", ())}


def task_of(execution_name: str) -> str:
    """Return the task id in the name of an execution."""
    return execution_name.rpartition("-")[2]


def make_overdue(stack: Deployed, task_id: str) -> None:
    """Set the time of a task's last check far into the past."""
    (item,) = [item for item in items(stack) if item["sk"]["S"] == f"task#{task_id}"]
    task = heads.task_of(item)
    overdue = heads.item_of(replace(task, checked_at=task.checked_at - timedelta(hours=1)))
    stack.stack.client("dynamodb").put_item(TableName=stack.stack.physical_ids["TasksTable"], Item=overdue)


def begin(client: Client, arguments: Json, key: str | None = None, tool: str = "wait_and_echo") -> Answer:
    """Call the tool with a task."""
    params: Json = {"name": tool, "arguments": arguments}
    headers = {} if key is None else {"idempotency-key": key}
    if isinstance(client, LegacyClient):
        return client.ask("tools/call", {**params, "task": {}}, headers=headers)
    return client.ask("tools/call", params, headers=headers)


def id_in(answer: Answer) -> str:
    """Return the task id in the answer to a call of either era."""
    return answer.result.get("task", answer.result)["taskId"]


def status_of(client: Client, task_id: str) -> str:
    """Return the status of a task; `gone` if it is unknown."""
    answer = client.task("get", task_id)
    return "gone" if answer.body.get("error", {}).get("code") == UNKNOWN else answer.result["status"]


def text_of(client: Client, task_id: str) -> str:
    """Return the text of a task's result."""
    if isinstance(client, LegacyClient):
        return client.task("result", task_id).text
    return client.task("get", task_id).result["result"]["content"][0]["text"]


def states_left(stack: Deployed, task_id: str) -> list[str]:
    """Return the states that the execution of a task has left, in order."""
    history = stack.stack.client("stepfunctions").get_execution_history(executionArn=stack.execution_of(task_id))
    return [event["stateExitedEventDetails"]["name"] for event in history["events"] if event["type"].endswith("Exited")]


def cancel_all(client: Client, task_ids: set[str]) -> None:
    """Cancel the tasks of a test."""
    for task_id in task_ids:
        client.task("cancel", task_id)


# X8
def test_concurrent_calls_with_one_key_create_one_task_and_one_execution(clients: list[Client], stack: Racing) -> None:
    for number in range(ROUNDS):
        key, before = f"order-{number}", set(stack.executions())

        answers = together([partial(begin, client, LONG, key) for client in clients])

        (task_id,) = {id_in(answer) for answer in answers}
        (execution,) = set(stack.executions()) - before
        assert execution.endswith(task_id)
        assert slots(stack) == {task_id}
        cancel_all(clients[0], {task_id})


# T27
def test_concurrent_calls_never_exceed_a_callers_limit_of_active_tasks(clients: list[Client], stack: Racing) -> None:
    before = set(stack.executions())

    answers = together([partial(begin, client, LONG) for client in clients])

    made = {id_in(answer) for answer in answers if "result" in answer.body}
    refused = [answer.code for answer in answers if "error" in answer.body]
    assert (len(made), refused) == (MOST_ACTIVE, [LIMIT_REACHED] * (THREADS - MOST_ACTIVE))
    assert slots(stack) == made == {task_of(name) for name in set(stack.executions()) - before}
    cancel_all(clients[0], made)


# T22, X19
def test_concurrent_cancellations_cancel_a_task_once(clients: list[Client], stack: Racing) -> None:
    for _ in range(ROUNDS):
        task_id = id_in(begin(clients[0], LONG))

        answers = together([partial(client.task, "cancel", task_id) for client in clients])

        assert all("result" in answer.body for answer in answers[::2])  # X19: of modern clients
        assert {status_of(client, task_id) for client in clients} == {"cancelled"}
        assert stack.status_of(task_id) == "ABORTED"


# X15: an answer is delivered at least once, because each reader delivers a pending one; its state accepts it once.
def test_of_many_concurrent_answers_the_workflow_gets_one(clients: list[Client], stack: Racing) -> None:
    refund = {"order_id": "A-1002", "amount": "249.00", "currency": "EUR", "reason": "It wobbles."}
    modern = ModernClient(stack, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})
    task_id = id_in(begin(modern, refund, tool="approve_refund"))
    while status_of(modern, task_id) != "input_required":
        time.sleep(0.01)  # without a time limit: the workflow asks by itself

    def answer(number: int) -> Answer:
        content = {"amount": 100 + number, "note": f"note {number}"}
        return modern.update(task_id, {"approval": {"action": "accept", "content": content}})

    answers = together([partial(answer, number) for number in range(THREADS)])
    stack.bring_end(task_id)

    assert all("result" in answer.body for answer in answers)
    result = modern.task("get", task_id).result["result"]["structuredContent"]
    assert (result["status"], result["note"]) == ("refunded", f"note {float(result['refunded']) - 100:.0f}")
    assert states_left(stack, task_id).count("AskForApproval") == 1
    assert "SendTaskSuccess" in stack.calls.made


# X10, T15
def test_polls_during_the_end_of_a_task_see_it_working_and_then_one_result(
    clients: list[Client], stack: Racing
) -> None:
    task_id = id_in(begin(clients[0], SHORT))

    def follow(client: Client) -> tuple[list[str], str]:
        seen = [status_of(client, task_id)]
        while seen[-1] not in ENDED:
            seen.append(status_of(client, task_id))
        seen += [status_of(client, task_id) for _ in range(3)]
        return seen, text_of(client, task_id)

    def end() -> tuple[list[str], str]:
        stack.bring_end(task_id)
        return follow(clients[0])

    followed = together([*(partial(follow, client) for client in clients), end])

    assert {text for _, text in followed} == {'{"message":"hello","waited_seconds":0}'}
    for seen, _ in followed:
        assert seen == ["working"] * (len(seen) - 4) + ["completed"] * 4


# X10
def test_of_concurrent_polls_of_an_overdue_task_one_records_the_end(clients: list[Client], stack: Racing) -> None:
    task_id = id_in(begin(clients[0], SHORT))
    stack.ends.wait(task_id)
    make_overdue(stack, task_id)
    stack.calls.forget()

    together([partial(status_of, client, task_id) for client in clients])

    assert stack.calls.made.count("UpdateItem") == 1, "who records the end frees the slot"
    assert {status_of(client, task_id) for client in clients} == {"completed"}


# T24: an expired task is deleted; any other keeps its first end.
@pytest.mark.parametrize("expires", [pytest.param(False, marks=pytest.mark.long), True])
def test_a_concurrent_end_cancellation_and_expiry_leave_one_end_or_no_task(
    clients: list[Client], stack: Racing, expires: bool
) -> None:
    def end_somehow(client: Client, polls: int) -> str:
        task_id = id_in(begin(client, SHORT))
        for _ in range(polls):  # so that the cancellation comes before the end, with it, and after
            status_of(client, task_id)
        cancel: Callable[[], object] = partial(client.task, "cancel", task_id)
        together([cancel, cancel, partial(stack.bring_end, task_id)])
        return task_id

    def expire() -> str:
        stack.stack.expire(at=datetime.now(UTC) + timedelta(days=3))
        return ""

    acts = [partial(end_somehow, clients[number], number % 4) for number in range(MOST_ACTIVE)]
    task_ids = set(together([*acts, *[expire] * (3 if expires else 0)])) - {""}
    stack.stack.drain(within=math.inf)
    ends = {task_id: status_of(clients[0], task_id) for task_id in task_ids}

    assert set(ends.values()) <= ENDED | ({"gone"} if expires else set())
    assert {task_id: status_of(clients[1], task_id) for task_id in task_ids} == ends
    for task_id, end in ends.items():
        assert stack.status_of(task_id) in ({"SUCCEEDED"} if end == "completed" else {"SUCCEEDED", "ABORTED"})
