"""The life of a task on a whole stack, for each kind of event delivery and each kind of end."""

from collections.abc import Callable, Iterator

import pytest

from stepwire_local import EventPolicy, StatusEvent, after, at_once, never, twice
from tests.integration.clock import Clock
from tests.integration.stacks import ROOT, Deployed, deployed
from tests.kits import ALICE
from tests.server.answers import Json
from tests.server.clients import ASKING_CAPABILITY, LegacyClient, ModernClient
from tests.waiting import until

TOOL = "wait_and_echo"
ANSWER = {"message": "hello", "waited_seconds": 0}


MORE_THAN_A_WAIT = 21  # seconds; a response waits for 20, the default of the template
LONGER = 60  # seconds


@pytest.fixture(scope="module")
def running_stack(clock: Clock) -> Iterator[Deployed]:
    """The root template, where a task is overdue after a second."""
    with deployed(ROOT / "stack.yaml", at_once, 1, clock, REPAIR_AFTER_SECONDS="1") as stack:
        yield stack


@pytest.fixture
def stack(running_stack: Deployed) -> Iterator[Deployed]:
    """The same stack; status events arrive once and without delay unless a test says otherwise."""
    running_stack.stack.events = at_once
    running_stack.calls.forget()
    yield running_stack
    running_stack.stack.events = at_once


@pytest.fixture
def legacy(stack: Deployed) -> LegacyClient:
    """A client of 2025-11-25."""
    return LegacyClient(stack)


def start(client: ModernClient, seconds: int = 0, **more: str) -> str:
    """Call the tool with a task; return the task's id."""
    return client.call(TOOL, {"message": "hello", "seconds": seconds, **more}).id_in()


def found(client: ModernClient, task_id: str) -> Json:
    """Read a task."""
    return client.task("get", task_id).result


def ended(client: ModernClient, task_id: str) -> Callable[[], bool]:
    """Tell whether a task has ended."""
    return lambda: found(client, task_id)["status"] != "working"


def in_rounds(client: ModernClient, arguments: Json, *first: Json) -> list[Json]:
    """Make a plain call, and repeat it as often as the server asks; return all results."""
    results = list(first or [client.call(TOOL, arguments).result])
    while results[-1]["resultType"] == "input_required":
        results.append(client.call(TOOL, arguments, more={"requestState": results[-1]["requestState"]}).result)
    return results


def thrice(event: StatusEvent) -> tuple[float, ...]:
    """Deliver each event three times."""
    return (0.2, 0.0, 0.1)


@pytest.fixture(scope="module")
def patient_stack(clock: Clock) -> Iterator[Deployed]:
    """The root template, where no poll checks the execution and no response waits."""
    with deployed(ROOT / "stack.yaml", at_once, 1, clock, WaitSeconds="0", REPAIR_AFTER_SECONDS="600") as stack:
        yield stack


# X8, X10
@pytest.mark.long
def test_the_event_of_the_end_completes_the_task(patient_stack: Deployed) -> None:
    modern = ModernClient(patient_stack)
    task_id = start(modern)

    until(ended(modern, task_id))

    assert found(modern, task_id)["result"]["structuredContent"] == ANSWER
    assert "DescribeExecution" not in patient_stack.calls.made


# X11, T18
def test_the_event_of_a_failure_fails_the_task_with_its_cause(modern: ModernClient, legacy: LegacyClient) -> None:
    task_id = start(modern, error="NoSuchCity", cause="Atlantis")

    until(ended(modern, task_id))
    task = found(modern, task_id)

    assert (task["status"], task["result"]["isError"]) == ("completed", True)
    assert task["result"]["content"][0]["text"] == "The workflow failed with NoSuchCity: Atlantis"
    assert legacy.task("get", task_id).result["status"] == "failed"


# X12
def test_a_workflow_can_end_its_task_with_a_protocol_error(modern: ModernClient) -> None:
    task_id = start(modern, error="Stepwire.ProtocolError", cause='{"code": 4001, "message": "Not on a Sunday."}')

    until(ended(modern, task_id))

    assert found(modern, task_id)["error"] == {"code": 4001, "message": "Not on a Sunday."}


def test_a_poll_repairs_a_task_whose_event_was_lost(modern: ModernClient, stack: Deployed, clock: Clock) -> None:
    stack.stack.events = never
    task_id = start(modern)
    stack.wait_for_the_end_of(task_id)
    assert found(modern, task_id)["status"] == "working"

    clock.move(seconds=1)

    assert found(modern, task_id)["result"]["structuredContent"] == ANSWER
    assert stack.calls.made.count("DescribeExecution") == 1


def test_a_running_task_is_checked_once_per_interval_however_often_it_is_polled(
    modern: ModernClient, stack: Deployed, clock: Clock
) -> None:
    task_id, looks = start(modern, seconds=600), list[int]()

    for _ in range(3):
        assert [found(modern, task_id)["status"] for _ in range(3)] == ["working"] * 3
        looks.append(stack.calls.made.count("GetExecutionHistory"))
        clock.move(seconds=1)

    assert looks == [0, 1, 2]
    assert stack.calls.made.count("GetItem") == 9
    modern.task("cancel", task_id)


@pytest.mark.parametrize(
    "events", [twice, pytest.param(after(0.3), marks=pytest.mark.long), thrice], ids=["twice", "late", "thrice"]
)
def test_late_and_duplicate_events_are_harmless(modern: ModernClient, stack: Deployed, events: EventPolicy) -> None:
    stack.stack.events = events
    task_id = start(modern)
    until(ended(modern, task_id))
    first = found(modern, task_id)

    stack.stack.invoke("ExecutionEventsFunction", stack.status_event(task_id, "execution_succeeded", output="{}"))

    assert found(modern, task_id) == first
    assert first["result"]["structuredContent"] == ANSWER


@pytest.mark.parametrize("late", ["execution_running", "execution_failed", "execution_aborted", "execution_timed_out"])
def test_a_later_event_that_contradicts_the_end_is_ignored(modern: ModernClient, stack: Deployed, late: str) -> None:
    task_id = start(modern)
    until(ended(modern, task_id))
    before = found(modern, task_id)

    stack.stack.invoke("ExecutionEventsFunction", stack.status_event(task_id, late))

    assert found(modern, task_id) == before


def test_an_event_that_the_execution_is_running_changes_nothing(modern: ModernClient, stack: Deployed) -> None:
    task_id = start(modern, seconds=600)
    before = found(modern, task_id)

    stack.stack.invoke("ExecutionEventsFunction", stack.status_event(task_id, "execution_running"))

    assert found(modern, task_id) == before
    modern.task("cancel", task_id)


@pytest.mark.parametrize(
    "detail",
    [
        {"name": "somebody-elses"},
        {"name": f"{'0' * 32}-{'0' * 36}"},
        {"stateMachineArn": "arn:aws:states:us-east-1:123456789012:stateMachine:Other"},
    ],
    ids=["another name", "a name like ours", "another state machine"],
)
def test_the_event_of_an_execution_without_a_task_is_harmless(
    modern: ModernClient, stack: Deployed, detail: dict[str, str]
) -> None:
    task_id = start(modern, seconds=600)
    foreign = stack.status_event(task_id, "execution_failed", **detail)

    stack.stack.invoke("ExecutionEventsFunction", foreign)

    assert found(modern, task_id)["status"] == "working"
    modern.task("cancel", task_id)


# T23, X18
def test_a_cancel_aborts_the_execution(modern: ModernClient, stack: Deployed) -> None:
    task_id = start(modern, seconds=600)

    modern.task("cancel", task_id)
    recorded = found(modern, task_id)

    assert recorded["status"] == "cancelled"
    until(lambda: stack.status_of(task_id) == "ABORTED")
    assert found(modern, task_id) == recorded, "the event of the abort must not change the task"


def test_a_workflow_that_an_operator_stops_cancels_its_task(modern: ModernClient, stack: Deployed) -> None:
    task_id = start(modern, seconds=600)

    stack.stop(task_id)
    until(ended(modern, task_id))

    assert found(modern, task_id)["status"] == "cancelled"


# T6
@pytest.mark.parametrize("era", [LegacyClient, ModernClient])
def test_a_plain_call_waits_for_the_end(stack: Deployed, era: type[LegacyClient | ModernClient]) -> None:
    client = LegacyClient(stack) if era is LegacyClient else ModernClient(stack, capabilities={})

    answer = client.call(TOOL, {"message": "hello"})

    assert answer.result["structuredContent"] == ANSWER


# T6, M43
@pytest.mark.long
def test_a_plain_call_longer_than_one_response_continues_in_the_next_round(stack: Deployed, clock: Clock) -> None:
    plain, arguments = (
        ModernClient(stack, ALICE, capabilities=ASKING_CAPABILITY),
        {"message": "hello", "seconds": LONGER},
    )
    before = set(stack.executions())
    with clock.passing(seconds=MORE_THAN_A_WAIT):
        first = plain.call(TOOL, arguments).result
    (begun,) = set(stack.executions()) - before

    clock.move_on(begun, seconds=LONGER)
    rounds = in_rounds(plain, arguments, first)

    assert [result["resultType"] for result in rounds] == ["input_required", "complete"]
    assert rounds[-1]["structuredContent"] == {"message": "hello", "waited_seconds": LONGER}


# T6, nothing is lost
def test_a_plain_call_that_takes_too_long_names_its_task_which_then_completes(
    patient_stack: Deployed, clock: Clock
) -> None:
    plain, modern = ModernClient(patient_stack, ALICE, capabilities=ASKING_CAPABILITY), ModernClient(patient_stack)

    *_, result = rounds = in_rounds(plain, {"message": "hello", "seconds": 3})
    task_id = result["_meta"]["stepwire/task"]["taskId"]
    clock.move_on(task_id, seconds=3)
    until(ended(modern, task_id))

    assert len(rounds) == 7
    assert task_id in result["content"][0]["text"]
    answer = LegacyClient(patient_stack).task("result", task_id).result
    assert answer["structuredContent"] == {"message": "hello", "waited_seconds": 3}


# T15
def test_a_request_for_the_result_waits_for_it(legacy: LegacyClient, clock: Clock) -> None:
    task_id = legacy.call(TOOL, {"message": "hello", "seconds": 1}, task={}).id_in("task")

    with clock.passing(seconds=10):
        result = legacy.task("result", task_id).result

    assert result["structuredContent"] == {"message": "hello", "waited_seconds": 1}


# T15, K8
@pytest.mark.long
def test_a_request_for_a_result_that_takes_too_long_can_be_repeated(
    legacy: LegacyClient, modern: ModernClient, clock: Clock
) -> None:
    task_id = legacy.call(TOOL, {"message": "hello", "seconds": LONGER}, task={}).id_in("task")

    with clock.passing(seconds=MORE_THAN_A_WAIT):
        refused = legacy.task("result", task_id)
    clock.move_on(task_id, seconds=LONGER)
    until(ended(modern, task_id))

    assert refused.code == -31001
    assert legacy.task("result", task_id).result["structuredContent"]["waited_seconds"] == LONGER


def test_an_abort_event_before_the_cancel_is_recorded_is_harmless(modern: ModernClient, stack: Deployed) -> None:
    task_id = start(modern, seconds=600)
    stack.stop(task_id)

    modern.task("cancel", task_id)

    assert found(modern, task_id)["status"] == "cancelled"


def test_an_event_can_be_lost_for_one_task_only(modern: ModernClient, stack: Deployed, clock: Clock) -> None:
    lost: set[str] = set()

    def lose(event: StatusEvent) -> tuple[float, ...]:
        return () if event.detail["name"].rpartition("-")[2] in lost else (0.0,)

    stack.stack.events = lose
    lost.add(kept_waiting := start(modern, seconds=1))
    told = start(modern)

    until(ended(modern, told))
    assert found(modern, kept_waiting)["status"] == "working"
    clock.move_on(kept_waiting, seconds=1)
    stack.wait_for_the_end_of(kept_waiting)

    assert found(modern, kept_waiting)["status"] == "completed"
