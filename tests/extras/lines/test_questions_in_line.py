"""A run of a task asks, and is answered, while another run of the same task waits in line for its turn."""

from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from stepwire.background.input_requests import Question
from stepwire.extras.lines.limits import Rules
from stepwire.json_text import Json, load_json
from stepwire.tasks.runs import Pending, Retry
from stepwire.tasks.task import Completed, InputRequired, Task, Working
from tests.extras.lines.test_turns import call, limited, line_of
from tests.kits import ALICE, FORM, World
from tests.races import BROKEN, WON, execution_of, racing

ANSWER: Final[Json] = {"action": "accept", "content": {"amount": 7}}
RETRY: Final = Retry(3, ("States.ALL",), delay=timedelta(minutes=1))
BOTH: Final = racing(2, quorum=2)
"""Both of its runs must succeed."""


def ask(world: World, task: Task, letter: str, key: str = "approval") -> None:
    """Let a run of a task ask a question."""
    world.workflows.waiting.add(f"token of {key}")
    world.requests.record(Question(execution_of(world.stored(task), letter), f"token of {key}", key, FORM))


def answer(world: World, task: Task, key: str = "approval") -> Task:
    return world.answers.respond(ALICE, task.task_id, {key: ANSWER})


def delivered(world: World) -> list[tuple[str, Json]]:
    """Return what states got, with their tokens."""
    return [(one.token, load_json(one.output or "")) for one in world.workflows.resumptions]


def pending(world: World, task: Task) -> list[Pending | None]:
    return [run.pending for run in world.stored(task).runs]


def running(world: World, task: Task) -> list[str]:
    """Return the letters of the runs of a task that run."""
    current = world.stored(task)
    return [letter for letter in "abc"[: len(task.runs)] if execution_of(current, letter) in world.workflows.running()]


def half_in_line() -> tuple[World, Task]:
    """Return a task whose first run asks, and whose second one waits for its turn."""
    world = World()
    task = call(world, limited(tool=BOTH))
    ask(world, task, "a")
    assert (running(world, task), pending(world, task)) == (["a"], [None, Pending.TURN])
    return world, task


def test_the_answer_reaches_the_run_that_asked_and_the_other_one_keeps_its_place() -> None:
    world, task = half_in_line()
    other = call(world)

    answered = answer(world, task)

    assert answered.status == Working()
    assert delivered(world) == [("token of approval", ANSWER)]
    assert (running(world, task), pending(world, task)) == (["a"], [None, Pending.TURN])
    assert (line_of(world, task).held, line_of(world, task).waiting) == (1, 2)
    world.end_arm(task, "a", WON)
    assert running(world, task) == ["b"]
    world.end_arm(task, "b", WON)
    assert isinstance(world.stored(task).status, Completed)
    assert execution_of(other, "a") in world.workflows.running()


def test_a_look_at_the_line_keeps_the_question_open() -> None:
    world, task = half_in_line()
    world.clock.time += world.intervals.repair

    seen = world.operations.get(ALICE, task.task_id)

    assert isinstance(seen.status, InputRequired)
    assert pending(world, task) == [None, Pending.TURN]
    answer(world, task)
    assert delivered(world) == [("token of approval", ANSWER)]


def test_a_run_that_gets_its_turn_at_the_moment_of_the_answer_begins_and_the_answer_counts() -> None:
    world = World()
    tool = limited(Rules(most=2), tool=BOTH)
    first = call(world, limited(Rules(most=2)))
    task = call(world, tool)
    ask(world, task, "a")
    assert pending(world, task) == [None, Pending.TURN]
    world.store.before_save = lambda: world.succeed(first.task_id, {"said": "done"})

    answer(world, task)

    assert running(world, task) == ["a", "b"]
    assert delivered(world) == [("token of approval", ANSWER)]
    assert world.stored(task).status == Working()
    assert line_of(world, task).held == 2


def test_a_failed_run_waits_for_its_turn_without_its_question_and_the_question_of_the_other_is_answered() -> None:
    world = World()
    task = call(world, limited(Rules(most=2), tool=replace(BOTH, retry=RETRY)))
    ask(world, task, "a", "first")
    ask(world, task, "b", "second")
    between = call(world, limited(Rules(most=2)))
    world.end_arm(task, "a", BROKEN)
    world.wake()
    assert (running(world, task), pending(world, task)) == (["b"], [Pending.TURN, None])

    answer(world, task, "first")
    answer(world, task, "second")

    assert delivered(world) == [("token of second", ANSWER)]
    assert (running(world, task), pending(world, task)) == (["b"], [Pending.TURN, None])
    world.succeed(between.task_id, {"said": "done"})
    assert running(world, task) == ["a", "b"]
    ask(world, task, "a", "third")
    answer(world, task, "third")
    assert delivered(world)[1:] == [("token of third", ANSWER)]


def test_an_answer_that_could_not_be_delivered_is_delivered_by_the_next_reader_who_also_looks_at_the_line() -> None:
    world, task = half_in_line()
    world.workflows.is_available = False
    answer(world, task)
    world.workflows.is_available = True
    assert (delivered(world), world.stored(task).status) == ([], Working())

    world.clock.time += world.intervals.repair
    world.operations.get(ALICE, task.task_id)

    assert delivered(world) == [("token of approval", ANSWER)]
    assert (running(world, task), pending(world, task)) == (["a"], [None, Pending.TURN])


def test_the_cancellation_of_a_task_that_asks_takes_the_other_run_out_of_the_line() -> None:
    world, task = half_in_line()
    following = call(world)

    world.operations.cancel(ALICE, task.task_id)

    assert execution_of(following, "a") in world.workflows.running()
    assert (line_of(world, task).held, line_of(world, task).waiting) == (1, 0)
    answer(world, task)
    assert delivered(world) == []
