"""A tutorial: what Stepwire does, in tests to be read from top to bottom.

`World` is a whole Stepwire over ports in memory. Executions end when a test says so, time passes only in sleeps or when
a test advances it, and events arrive only when a test delivers them.
"""

from datetime import timedelta

from stepwire.tasks.ids import execution_name_of, task_key_from_execution
from stepwire.tasks.task import Cancelled, Completed, Working
from tests.kits import ALICE, ARGUMENTS, BOB, EXECUTION_PREFIX, World
from tests.server.clients import LegacyClient, ModernClient


def test_1_a_call_returns_a_task_at_once_and_starts_its_workflow() -> None:
    world = World()
    client = ModernClient(world)

    answer = client.call("optional", ARGUMENTS)

    assert answer.result["resultType"] == "task"
    assert answer.result["status"] == "working"
    assert len(world.workflows.running()) == 1


def test_2_the_executions_name_leads_its_events_to_the_task() -> None:
    world = World()
    task = world.call()

    (execution,) = world.workflows.running()

    assert execution.name == execution_name_of(task.key, EXECUTION_PREFIX)
    assert task_key_from_execution(execution.name) == task.key


def test_3_the_end_of_the_execution_is_the_end_of_the_task() -> None:
    world = World()
    client = ModernClient(world)
    task_id = client.start()

    world.succeed(task_id, {"answer": 42})

    found = client.task("get", task_id).result
    assert found["status"] == "completed"
    assert found["result"]["structuredContent"] == {"answer": 42}


def test_4_a_failed_workflow_is_a_tool_error_which_each_era_shows_in_its_way() -> None:
    world = World()
    modern, legacy = ModernClient(world), LegacyClient(world)
    task_id = modern.start()

    world.fail(task_id, "Order.Unknown", "There is no order 7.")

    assert modern.task("get", task_id).result["status"] == "completed"
    assert modern.task("get", task_id).result["result"]["isError"] is True
    assert legacy.task("get", task_id).result["status"] == "failed"
    assert legacy.task("result", task_id).text == "The workflow failed with Order.Unknown: There is no order 7."


def test_5_invalid_arguments_start_nothing_and_the_model_learns_what_to_correct() -> None:
    world = World()

    answer = ModernClient(world).call("optional", {"text": "hello", "count": -1})

    assert answer.result["isError"] is True
    assert "at /count: -1 is less than the minimum of 0" in answer.text
    assert world.store.tasks == {}
    assert world.workflows.starts == []


def test_6_duplicate_and_late_events_change_nothing() -> None:
    world = World()
    task = world.call()
    world.workflows.succeed(task.execution, {"answer": 1})
    news = list(world.workflows.undelivered)
    world.deliver()

    for change in news:
        world.events.record(change)

    assert isinstance(world.stored(task).status, Completed)
    assert world.stored(task).version == 2


def test_7_a_lost_event_is_repaired_by_the_next_poll() -> None:
    world = World()
    task = world.call()
    world.workflows.succeed(task.execution, {"answer": 1})
    world.workflows.undelivered.clear()

    at_once = world.operations.get(ALICE, task.task_id)
    world.clock.advance(seconds=60)
    later = world.operations.get(ALICE, task.task_id)

    assert at_once.status == Working()
    assert isinstance(later.status, Completed)


def test_8_a_lost_start_is_retried_and_never_runs_twice() -> None:
    world = World()
    task = world.call()
    world.workflows.states.clear()  # as if the function had died before it started the execution
    world.clock.advance(seconds=60)

    world.operations.get(ALICE, task.task_id)

    assert [start.execution for start in world.workflows.starts] == [task.execution] * 2
    assert world.workflows.running() == (task.execution,)


def test_9_a_cancel_stops_the_work_and_later_ends_change_nothing() -> None:
    world = World()
    task = world.call()

    world.operations.cancel(ALICE, task.task_id)
    world.deliver()

    assert isinstance(world.stored(task).status, Cancelled)
    assert world.workflows.running() == ()


def test_10_only_its_owner_can_see_a_task() -> None:
    world = World()
    task_id = ModernClient(world, owner=ALICE).start()

    foreign = ModernClient(world, owner=BOB).task("get", task_id)
    unknown = ModernClient(world, owner=BOB).task("get", "0" * 36)

    assert foreign.code == -32602
    assert foreign.response == unknown.response


def test_11_a_call_without_a_task_is_also_a_task_and_is_not_lost() -> None:
    world = World()
    client = LegacyClient(world)

    answer = client.call("optional")

    task_id = answer.result["_meta"]["stepwire/task"]["taskId"]
    world.succeed(task_id, {"answer": 42})
    assert client.task("result", task_id).result["structuredContent"] == {"answer": 42}


def test_12_a_task_disappears_when_its_ttl_has_passed() -> None:
    world = World()
    client = ModernClient(world)
    task_id = client.start()

    world.clock.time += timedelta(hours=1)

    assert client.task("get", task_id).code == -32602
