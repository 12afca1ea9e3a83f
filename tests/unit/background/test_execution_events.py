"""The end of an execution reaches its task, even if events are duplicated, late or wrong."""

from itertools import permutations

import pytest
from msgspec.structs import replace

from stepwire.aws.workflow_events import execution_event_of
from stepwire.background.execution_events import ExecutionStatusChange
from stepwire.errors import InternalError, WorkflowsUnavailable
from stepwire.json_text import write
from stepwire.tasks.outcomes import (
    Aborted,
    ExecutionFailed,
    ExecutionState,
    Running,
    Succeeded,
    TimedOut,
    Unreadable,
)
from stepwire.tasks.task import Cancelled, Completed, Execution, ResultInExecution, Task, ToolResult
from tests.fakes import LARGE
from tests.kits import OPTIONAL, OUTPUT, World, plan_of, state_machine_arn
from tests.recorded import recorded

WAIT_AND_ECHO = replace(OPTIONAL, name="wait_and_echo", plan=plan_of(state_machine_arn("WaitAndEcho")))
OUTPUT_OF_THE_EVENT = '{"message":"grüße","waited_seconds":2}'
ENDS = ["execution_succeeded", "execution_failed", "execution_timed_out", "execution_aborted"]


def change(name: str) -> ExecutionStatusChange:
    """Read the status change of a sample event."""
    news = execution_event_of(recorded(name))
    assert isinstance(news, ExecutionStatusChange)
    return news


@pytest.fixture
def world() -> World:
    """A world whose first task is the task of the sample events."""
    return World()


@pytest.fixture
def task(world: World) -> Task:
    task = world.call(WAIT_AND_ECHO)
    assert task.execution == change("execution_running").execution
    return task


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("execution_running", Running()),
        ("execution_succeeded", Succeeded(OUTPUT_OF_THE_EVENT)),
        ("execution_succeeded_output_left_out", Succeeded(None)),
        ("execution_failed", ExecutionFailed("Example.Broken", "The caller asked for this failure.")),
        ("execution_timed_out", TimedOut()),
        ("execution_aborted", Aborted()),
    ],
)
def test_a_status_change_contains_the_executions_state(name: str, state: ExecutionState) -> None:
    found = change(name)

    assert found.state == state
    assert found.execution.state_machine_arn == WAIT_AND_ECHO.plan.runs[0].state_machine_arn


def test_a_success_completes_its_task_with_the_output(world: World, task: Task) -> None:
    world.events.record(change("execution_succeeded"))

    status = world.stored(task).status
    assert isinstance(status, Completed)
    assert isinstance(status.result, ToolResult)
    assert write(status.result.value()["structuredContent"]) == OUTPUT_OF_THE_EVENT


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("execution_failed", "Example.Broken: The caller asked for this failure."),
        ("execution_timed_out", "States.Timeout"),
    ],
)
def test_a_failure_completes_its_task_with_an_error(name: str, words: str, world: World, task: Task) -> None:
    """X11, T18."""
    world.events.record(change(name))

    status = world.stored(task).status
    assert isinstance(status, Completed)
    assert status.result.is_error
    assert words in (status.message or "")


def test_an_abort_cancels_its_task(world: World, task: Task) -> None:
    world.events.record(change("execution_aborted"))

    assert isinstance(world.stored(task).status, Cancelled)


def test_a_status_change_to_running_changes_nothing(world: World, task: Task) -> None:
    world.events.record(change("execution_running"))

    assert world.stored(task) == task


@pytest.mark.parametrize("name", ENDS)
def test_a_duplicate_event_is_recorded_once(name: str, world: World, task: Task) -> None:
    world.events.record(change(name))
    once = world.stored(task)
    world.clock.advance(seconds=30)

    world.events.record(change(name))

    assert world.stored(task) == once


@pytest.mark.parametrize("order", list(permutations(["execution_running", "execution_succeeded", "execution_failed"])))
def test_events_in_any_order_keep_the_first_end(order: tuple[str, ...], world: World, task: Task) -> None:
    """T10: a redriven execution, for one, ends more than once."""
    for name in order:
        world.events.record(change(name))

    status = world.stored(task).status
    assert isinstance(status, Completed)
    assert status.result.is_error == (order.index("execution_failed") < order.index("execution_succeeded"))


def test_an_end_that_a_reader_has_recorded_is_ignored(world: World, task: Task) -> None:
    world.workflows.end(task.execution, Succeeded(OUTPUT_OF_THE_EVENT))
    world.clock.time += world.intervals.repair
    repaired = world.operations.get(task.owner, task.task_id)

    world.deliver()

    assert world.stored(task) == repaired


@pytest.mark.parametrize(
    "execution",
    [
        Execution(state_machine_arn("WaitAndEcho"), "nightly-import"),
        replace(change("execution_running").execution, state_machine_arn=state_machine_arn("Other")),
    ],
    ids=["a foreign name", "another state machine with the same name"],
)
def test_the_end_of_an_execution_of_others_is_ignored(execution: Execution, world: World, task: Task) -> None:
    world.store.calls.clear()

    world.events.record(ExecutionStatusChange(execution, Succeeded(OUTPUT_OF_THE_EVENT)))

    assert world.stored(task) == task
    assert world.store.calls == ([] if execution.name == "nightly-import" else ["load"])


@pytest.mark.parametrize("how", ["cancelled", "deleted", "expired"])
def test_the_end_of_a_task_that_is_over_is_ignored(how: str, world: World, task: Task) -> None:
    """T23."""
    if how == "cancelled":
        world.operations.cancel(task.owner, task.task_id)
    elif how == "deleted":
        world.store.delete(task)
    else:
        world.clock.time = task.expires_at
    before = dict(world.store.tasks)

    world.events.record(change("execution_succeeded"))

    assert world.store.tasks == before


def test_an_output_missing_from_the_event_is_fetched(world: World, task: Task) -> None:
    large = {"answer": 42, "text": "x" * LARGE}
    world.workflows.succeed(task.execution, large)

    world.events.record(change("execution_succeeded_output_left_out"))

    assert world.workflows.described == [task.execution]
    answer = world.operations.result_of(world.stored(task))
    assert isinstance(answer, ToolResult)
    assert answer.value()["structuredContent"] == large
    assert world.workflows.described == [task.execution]


def test_an_output_is_not_fetched_if_the_event_has_it_or_the_task_has_ended(world: World, task: Task) -> None:
    world.events.record(change("execution_succeeded"))

    world.events.record(change("execution_succeeded_output_left_out"))

    assert world.workflows.described == []


def test_an_event_is_retried_while_describe_lags_behind_it(world: World, task: Task) -> None:
    with pytest.raises(WorkflowsUnavailable):
        world.events.record(change("execution_succeeded_output_left_out"))
    assert world.stored(task) == task

    world.workflows.succeed(task.execution, OUTPUT)
    world.events.record(change("execution_succeeded_output_left_out"))

    assert isinstance(world.stored(task).status, Completed)


def test_an_event_is_retried_while_step_functions_is_unavailable(world: World, task: Task) -> None:
    world.workflows.is_available = False

    with pytest.raises(WorkflowsUnavailable):
        world.events.record(change("execution_succeeded_output_left_out"))

    assert world.stored(task) == task


def test_an_event_that_races_with_a_reader_is_not_lost(world: World, task: Task) -> None:
    world.clock.time += world.intervals.repair
    world.store.before_save = lambda: world.operations.get(task.owner, task.task_id)

    world.events.record(change("execution_succeeded"))

    assert isinstance(world.stored(task).status, Completed)


def test_an_error_that_the_event_left_out_is_fetched(world: World, task: Task) -> None:
    """Events of a state machine with a key of its own have no data."""
    world.workflows.fail(task.execution, "Some.Error", "it broke")

    world.events.record(ExecutionStatusChange(task.execution, ExecutionFailed("", "")))

    assert world.stored(task).status.message == "The workflow failed with Some.Error: it broke"


def test_an_output_whose_key_is_denied_stays_where_it_is_until_the_key_is_allowed(world: World, task: Task) -> None:
    world.workflows.end(task.execution, Unreadable())

    world.events.record(ExecutionStatusChange(task.execution, Succeeded(None)))

    ended = world.stored(task)
    assert ended.status == Completed(ResultInExecution(is_error=False))
    with pytest.raises(InternalError, match="may not use the key that encrypts it"):
        world.operations.result_of(ended)
    world.workflows.states[task.execution] = Succeeded(write(OUTPUT))
    result = world.operations.result_of(ended)
    assert isinstance(result, ToolResult)
    assert result.value()["structuredContent"] == OUTPUT
