"""A tutorial: what Stepwire does, read from top to bottom, each test one step on.

`World` is a whole Stepwire over ports in memory. In it, executions end when a test says so, time moves when somebody
sleeps, and news reaches nobody until it is delivered.
"""

from datetime import timedelta

from stepwire.tasks.ids import execution_name_of, task_key_of
from stepwire.tasks.task import Cancelled, Completed, Working
from tests.kits import ALICE, ARGUMENTS, BOB, World
from tests.server.clients import LegacyClient, ModernClient


def test_1_a_call_gives_a_task_at_once_and_its_workflow_runs() -> None:
    world = World()
    client = ModernClient(world)

    answer = client.call("optional", ARGUMENTS)

    assert answer.result["resultType"] == "task"
    assert answer.result["status"] == "working"
    assert len(world.workflows.running()) == 1


def test_2_the_execution_bears_the_name_of_the_task_so_its_news_finds_the_way() -> None:
    world = World()
    task = world.call()

    (execution,) = world.workflows.running()

    assert execution.name == execution_name_of(task.key)
    assert task_key_of(execution.name) == task.key


def test_3_the_end_of_the_execution_is_the_end_of_the_task() -> None:
    world = World()
    client = ModernClient(world)
    task_id = client.start()

    world.succeed(task_id, {"answer": 42})

    found = client.task("get", task_id).result
    assert found["status"] == "completed"
    assert found["result"]["structuredContent"] == {"answer": 42}


def test_4_a_workflow_that_fails_has_answered_and_each_era_says_so_in_its_own_way() -> None:
    world = World()
    modern, legacy = ModernClient(world), LegacyClient(world)
    task_id = modern.start()

    world.fail(task_id, "Order.Unknown", "There is no order 7.")

    assert modern.task("get", task_id).result["status"] == "completed"
    assert modern.task("get", task_id).result["result"]["isError"] is True
    assert legacy.task("get", task_id).result["status"] == "failed"
    assert legacy.task("result", task_id).text == "The workflow failed with Order.Unknown: There is no order 7."


def test_5_bad_arguments_start_nothing_and_tell_the_model_what_to_correct() -> None:
    world = World()

    answer = ModernClient(world).call("optional", {"text": "hello", "count": -1})

    assert answer.result["isError"] is True
    assert "at /count: -1 is less than the minimum of 0" in answer.text
    assert world.store.tasks == {}
    assert world.workflows.starts == []


def test_6_news_that_comes_twice_or_too_late_changes_nothing() -> None:
    world = World()
    task = world.call()
    world.workflows.succeed(task.execution, {"answer": 1})
    news = list(world.workflows.undelivered)
    world.deliver()

    for change in news:
        world.events.record(change)

    assert isinstance(world.stored(task).status, Completed)
    assert world.stored(task).version == 2


def test_7_news_that_never_comes_is_found_out_by_whoever_asks() -> None:
    world = World()
    task = world.call()
    world.workflows.succeed(task.execution, {"answer": 1})
    world.workflows.undelivered.clear()

    at_once = world.operations.get(ALICE, task.task_id)
    world.clock.advance(seconds=60)
    later = world.operations.get(ALICE, task.task_id)

    assert at_once.status == Working()
    assert isinstance(later.status, Completed)


def test_8_a_start_that_was_lost_is_made_again_and_never_runs_twice() -> None:
    world = World()
    task = world.call()
    world.workflows.states.clear()  # as if the function had died before it could start the execution
    world.clock.advance(seconds=60)

    world.operations.get(ALICE, task.task_id)

    assert [start.execution for start in world.workflows.starts] == [task.execution] * 2
    assert world.workflows.running() == (task.execution,)


def test_9_cancelling_stops_the_work_and_what_ends_afterwards_changes_nothing() -> None:
    world = World()
    task = world.call()

    world.operations.cancel(ALICE, task.task_id)
    world.deliver()

    assert isinstance(world.stored(task).status, Cancelled)
    assert world.workflows.running() == ()


def test_10_a_task_is_its_owners_alone() -> None:
    world = World()
    task_id = ModernClient(world, owner=ALICE).start()

    foreign = ModernClient(world, owner=BOB).task("get", task_id)
    unknown = ModernClient(world, owner=BOB).task("get", "0" * 36)

    assert foreign.code == -32602
    assert foreign.response == unknown.response


def test_11_a_call_without_a_task_is_a_task_all_the_same_and_is_not_lost() -> None:
    world = World()
    client = LegacyClient(world)

    answer = client.call("optional")

    task_id = answer.result["_meta"]["stepwire/task"]["taskId"]
    world.succeed(task_id, {"answer": 42})
    assert client.task("result", task_id).result["structuredContent"] == {"answer": 42}


def test_12_a_task_is_gone_when_its_time_is_over() -> None:
    world = World()
    client = ModernClient(world)
    task_id = client.start()

    world.clock.time += timedelta(hours=1)

    assert client.task("get", task_id).code == -32602
