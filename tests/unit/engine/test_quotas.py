"""Quotas of Step Functions: a throttled check is postponed, and no caller gets an error for it (A6)."""

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from aws_lambda_powertools import Logger
from botocore.exceptions import ClientError, NoCredentialsError, ReadTimeoutError
from msgspec.structs import replace

from stepwire.aws.invocations import log_fault
from stepwire.catalog.tools import Tool
from stepwire.engine.limiter import Allowance
from stepwire.engine.upkeep import Intervals
from stepwire.errors import (
    KeyDenied,
    LargeResultsDenied,
    RoleDenied,
    StartRefusedForNow,
    StartThrottled,
    StartUnclear,
    StopRefused,
    StopThrottled,
    StoreBusy,
    WorkflowsThrottled,
    WorkflowsUnavailable,
)
from stepwire.tasks.outcomes import Running
from stepwire.tasks.runs import Pending, Retry
from stepwire.tasks.task import Completed, Task, Working
from tests.fakes import START_OF_TIME, nothing
from tests.kits import ALICE, OPTIONAL, OUTPUT, TELLING, World
from tests.races import open_executions, racing

INTERVALS = Intervals()


def due(world: World, *, count: int = 1) -> list[Task]:
    """Call a tool that shows its state, and let time pass until the state must be read."""
    tasks = [world.call(TELLING) for _ in range(count)]
    for task in tasks:
        world.workflows.current_states[task.execution] = "Counting"
    world.clock.time += INTERVALS.state
    return tasks


# ------------------------------------------------------------------------------------------------- what readers look at


def test_a_throttled_history_does_not_prevent_finding_an_end() -> None:
    world = World()
    (task,) = due(world)
    world.workflows.throttled = {"current_state"}
    world.workflows.succeed(task.execution, OUTPUT)  # its event is lost

    after = world.operations.get(ALICE, task.task_id)

    assert isinstance(after.status, Completed)


def test_a_history_whose_key_is_denied_does_not_prevent_finding_an_end() -> None:
    world = World()
    (task,) = due(world)
    world.workflows.denied = {"current_state"}
    world.workflows.succeed(task.execution, OUTPUT)  # and its event is lost

    after = world.operations.get(ALICE, task.task_id)

    assert isinstance(after.status, Completed)
    assert [type(trouble) for trouble in world.troubles] == [KeyDenied]


def test_a_throttled_check_is_postponed_and_its_caller_is_answered() -> None:
    world = World()
    (task,) = due(world)
    world.workflows.throttled = {"current_state", "describe"}

    after = world.operations.get(ALICE, task.task_id)

    assert after.status == Working()
    assert [type(trouble) for trouble in world.troubles] == [WorkflowsThrottled] * 2
    world.workflows.throttled = set()
    world.clock.time += INTERVALS.repair
    assert world.operations.get(ALICE, task.task_id).status.message == "The workflow is in its state Counting."


def test_a_throttled_check_is_repeated_by_the_next_poll() -> None:
    world = World()
    task = world.overdue()
    world.workflows.succeed(task.execution, OUTPUT)  # its event is lost
    world.workflows.throttled = {"describe"}
    world.operations.get(ALICE, task.task_id)
    world.workflows.throttled = set()
    world.clock.advance(seconds=5)

    after = world.operations.get(ALICE, task.task_id)

    assert isinstance(after.status, Completed)


def test_a_throttled_instance_pauses_history_calls_and_still_repairs() -> None:
    world = World()
    first, second = due(world, count=2)
    world.workflows.throttled = {"current_state"}
    world.operations.get(ALICE, first.task_id)

    world.operations.get(ALICE, second.task_id)

    assert world.workflows.looked_at == [first.execution]
    assert world.workflows.described == [first.execution, second.execution]


def test_an_instance_uses_only_its_share_of_the_quotas() -> None:
    """100 tasks at once, in an account with quotas of 20 and 15 calls a second."""
    world = World()
    tasks = [world.call(TELLING) for _ in range(100)]
    for task in tasks:
        world.workflows.current_states[task.execution] = "Counting"
    world.clock.time += INTERVALS.state

    for task in tasks:
        world.operations.get(ALICE, task.task_id)

    assert len(world.workflows.looked_at) == 5
    assert len(world.workflows.described) == 20


def test_a_state_is_not_refreshed_early_when_the_quota_is_low() -> None:
    """The interval of the state is shorter than that of repairs, so no repair is due yet."""
    world = World(intervals=Intervals(timedelta(seconds=60), timedelta(seconds=30)))
    task = world.call(TELLING)
    world.clock.advance(seconds=30)
    world.upkeep.history_calls.pause(world.clock.now())
    world.store.calls.clear()

    world.operations.get(ALICE, task.task_id)

    assert world.store.calls == ["load"]


def test_fetching_a_large_result_is_retried_when_throttled() -> None:
    """Without the call there is no result, and clients give a task up after an error."""
    world = World()
    task = world.call()
    world.succeed(task.task_id, "x" * 200_000)
    world.workflows.throttled = {"describe"}
    world.clock.on_sleep = world.workflows.throttled.clear

    answer = world.operations.result_of(world.stored(task))

    assert "x" * 100 in str(answer)
    assert world.troubles == []


# ------------------------------------------------------------------------------------------------ starts that must wait


@pytest.mark.parametrize("fault", [StartThrottled(), StartUnclear()], ids=["throttled", "no answer"])
@pytest.mark.parametrize("tool", [OPTIONAL, replace(racing(2), name="races")], ids=lambda tool: tool.name)
def test_a_start_that_was_throttled_is_made_by_the_next_poll_without_a_look(fault: StartUnclear, tool: Tool) -> None:
    world = World()
    world.workflows.start_fault = fault
    task = world.call(tool)
    world.operations.get(ALICE, task.task_id)  # still throttled
    world.workflows.start_fault = None

    after = world.operations.get(ALICE, task.task_id)

    assert all(world.workflows.states[one] == Running() for one in open_executions(task))
    assert world.workflows.described == []
    assert not after.runs_pending(Pending.START)
    world.workflows.starts.clear()
    world.operations.get(ALICE, task.task_id)
    assert world.workflows.starts == []


def test_an_arm_that_was_refused_for_now_is_started_by_the_next_poll() -> None:
    world = World()
    refusals = iter([None, StartRefusedForNow("too many")])
    world.workflows.on_start = lambda: setattr(world.workflows, "start_fault", next(refusals))
    task = world.call(replace(racing(2), name="races"))
    world.workflows.on_start, world.workflows.start_fault = nothing, None

    world.operations.get(ALICE, task.task_id)

    assert set(world.workflows.running()) == set(open_executions(task))


def test_an_attempt_that_was_throttled_and_has_no_wake_up_begins_with_the_next_poll() -> None:
    world = World()
    world.wake_ups.is_available = False
    task = world.call(replace(OPTIONAL, retry=Retry(3, ("OutOfStock",), delay=timedelta(), backoff=1.0)))
    world.workflows.start_fault = StartThrottled()
    world.workflows.fail(task.execution, "OutOfStock")
    world.deliver()
    world.workflows.start_fault = None

    after = world.operations.get(ALICE, task.task_id)

    assert world.workflows.running() == (after.execution,)


def test_a_mark_that_could_not_be_written_at_once_is_written_again() -> None:
    world = World()
    world.workflows.start_fault = StartThrottled()
    world.store.before_save = aborted
    task = world.call()
    world.workflows.start_fault = None

    world.operations.get(ALICE, task.task_id)

    assert world.workflows.running() == (task.execution,)


def test_neither_running_tasks_nor_a_throttled_look_keep_a_task_from_its_start() -> None:
    world = World()
    for task in due(world, count=30):
        world.operations.get(ALICE, task.task_id)
    world.workflows.throttled = {"current_state", "describe"}
    world.clock.time += INTERVALS.repair
    world.operations.get(ALICE, world.call(TELLING).task_id)
    world.workflows.start_fault = StartThrottled()
    waiting = world.call()
    world.workflows.start_fault = None

    world.operations.get(ALICE, waiting.task_id)

    assert world.workflows.states[waiting.execution] == Running()


def test_a_cancelled_task_whose_start_was_throttled_is_not_started_by_polls() -> None:
    world = World()
    world.workflows.start_fault = StartThrottled()
    task = world.call()
    world.workflows.start_fault = None
    world.operations.cancel(ALICE, task.task_id)
    world.workflows.starts.clear()

    world.operations.get(ALICE, task.task_id)

    assert world.workflows.starts == []


def aborted() -> None:
    raise ConnectionAbortedError


# ------------------------------------------------------------------------------------------------------- the allowance


def test_an_allowance_allows_a_burst_and_then_its_rate() -> None:
    allowance, now = Allowance(per_second=2, burst=3), START_OF_TIME

    at_once = [allowance.take(now) for _ in range(5)]
    later = [allowance.take(now + timedelta(seconds=0.5)) for _ in range(2)]

    assert at_once == [True, True, True, False, False]
    assert later == [True, False]


def test_a_pause_ends() -> None:
    allowance, now = Allowance(), START_OF_TIME

    allowance.pause(now)

    assert not allowance.take(now + timedelta(seconds=1))
    assert allowance.take(now + timedelta(seconds=2))


def test_pauses_double_up_to_half_a_minute_until_a_call_is_answered() -> None:
    allowance, now = Allowance(per_second=1_000), START_OF_TIME

    def pause() -> int:
        allowance.pause(now)
        return next(n for n in range(60) if allowance.take(now + timedelta(seconds=n, milliseconds=1)))

    assert [pause() for _ in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    allowance.resume()
    assert pause() == 1


# ------------------------------------------------------------------------------------------------------------- the log


def caused(fault: Exception, code: str, status: int = 400) -> Exception:
    """Return an error with an AWS error as its cause."""
    fault.__cause__ = refused(code, status)
    return fault


def refused(code: str, status: int = 400) -> ClientError:
    """Return an error of AWS."""
    answer: Any = {"Error": {"Code": code, "Message": "arguments"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "DescribeExecution")


SILENT = ReadTimeoutError(endpoint_url="https://arguments.example")
BUSY = "AWS throttles or does not answer"


@pytest.mark.parametrize(
    ("fault", "level", "message"),
    [
        (caused(WorkflowsThrottled(), "ThrottlingException"), "WARNING", "check postponed"),
        (caused(StartThrottled(), "ThrottlingException"), "WARNING", "check postponed"),
        (caused(StopThrottled(), "ThrottlingException"), "WARNING", "check postponed"),
        (caused(WorkflowsUnavailable(), "AccessDeniedException"), "ERROR", "a request met a fault"),
        (caused(KeyDenied(), "KmsAccessDeniedException"), "ERROR", "a permission is missing"),
        (caused(RoleDenied(), "AccessDenied"), "ERROR", "a permission is missing"),
        (caused(StopRefused("why"), "AccessDeniedException"), "ERROR", "a permission is missing"),
        (ValueError("arguments"), "ERROR", "a request met a fault"),
        (refused("ProvisionedThroughputExceededException"), "WARNING", BUSY),
        (refused("ThrottlingException"), "WARNING", BUSY),
        (refused("SlowDown", 503), "WARNING", BUSY),
        (refused("InternalServerError", 500), "WARNING", BUSY),
        (refused("AccessDeniedException"), "ERROR", "a request met a fault"),
        (refused("ValidationException"), "ERROR", "a request met a fault"),
        (SILENT, "WARNING", BUSY),
        (StoreBusy("arguments"), "WARNING", BUSY),
        (caused(WorkflowsUnavailable(), "InternalFailure", 500), "WARNING", BUSY),
        (caused(LargeResultsDenied(), "AccessDenied"), "ERROR", "a permission is missing"),
        (NoCredentialsError(), "ERROR", "a request met a fault"),
    ],
    ids=repr,
)
def test_throttling_has_another_log_message_than_a_fault(fault: Exception, level: str, message: str) -> None:
    log = StringIO()  # a separate service name, because loggers are cached by service

    log_fault(fault, "a request met a fault", "check postponed", Logger(service=f"{fault!r} {id(fault)}", stream=log))

    line: dict[str, Any] = json.loads(log.getvalue())
    assert (line["level"], line["message"]) == (level, message)
    assert "arguments" not in json.dumps({**line, "service": ""})
