"""The questions of executions that a task's execution has started, and of those elsewhere."""

import pytest
from msgspec.structs import replace

from stepwire.background.input_requests import MOST_GENERATIONS, Question
from stepwire.errors import ForeignQuestion
from stepwire.tasks.task import Execution
from tests.kits import FORM, OPTIONAL, World, plan_of, state_machine_arn
from tests.unit.background.test_input_requests import NOT_SUPPORTED, failure_of_the_only_state


class TestANestedQuestion:
    CHILD = Execution(state_machine_arn("Child"), "a-child")
    GRANDCHILD = Execution(state_machine_arn("Grandchild"), "a-grandchild")

    def ask(self, world: World, execution: Execution, token: str = "a token") -> None:
        world.workflows.waiting.add(token)
        world.requests.record(Question(execution, token, "approval", FORM))

    def test_is_asked_in_the_task_whose_execution_started_it(self) -> None:
        world = World()
        task = world.call()
        world.workflows.starters = {self.CHILD: task.execution, self.GRANDCHILD: self.CHILD}

        self.ask(world, self.CHILD, "1")
        self.ask(world, self.GRANDCHILD, "2")

        assert [one.key for one in world.stored(task).input_requests] == ["approval", "approval-2"]

    def test_waits_a_little_for_a_history_that_lags_behind(self) -> None:
        world = World()
        task = world.call()
        world.workflows.starters, world.workflows.unproven = {self.CHILD: task.execution}, 2

        self.ask(world, self.CHILD)

        assert len(world.stored(task).input_requests) == 1
        assert world.clock.slept == [0.5, 1.0]

    def test_whose_starter_does_not_confirm_it_is_asked_in_no_task(self) -> None:
        """Nobody asks in the task of another: whoever starts an execution chooses its input."""
        world = World()
        task = world.call()
        world.workflows.starters, world.workflows.unproven = {self.CHILD: task.execution}, 99

        self.ask(world, self.CHILD)

        assert world.stored(task).input_requests == ()
        assert failure_of_the_only_state(world)[0] == NOT_SUPPORTED

    def test_of_an_execution_that_nobody_started_fails_its_state_and_says_what_is_missing(self) -> None:
        world = World()

        self.ask(world, self.CHILD)

        error, cause = failure_of_the_only_state(world)
        assert error == NOT_SUPPORTED
        assert "needs AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID in its input" in (cause or "")

    def test_looks_up_only_some_generations_even_in_a_circle(self) -> None:
        world = World()
        world.workflows.starters = {self.CHILD: self.GRANDCHILD, self.GRANDCHILD: self.CHILD}

        self.ask(world, self.CHILD)

        assert len(world.workflows.starters_asked) == MOST_GENERATIONS
        assert failure_of_the_only_state(world)[0] == NOT_SUPPORTED

    def test_of_a_task_s_own_execution_asks_step_functions_nothing(self) -> None:
        world = World()

        world.ask(world.call().task_id)

        assert world.workflows.starters_asked == []


def test_a_question_from_another_account_or_region_fails_its_state() -> None:
    """Its answer could not be delivered; the function's error is the state's."""
    world = World()
    task = world.call(
        replace(OPTIONAL, plan=plan_of(state_machine_arn("Optional"), "arn:aws:iam::222222222222:role/stepwire"))
    )

    with pytest.raises(ForeignQuestion):
        world.ask(task.task_id)

    assert world.stored(task).input_requests == ()
