"""What must be so when everything has come to rest: handlers are done, lost news is lost, and the sweep has run twice.

First while workflows go on; then when all of them have ended, and nobody has brought the news.
"""

from dataclasses import dataclass

from stepwire.tasks.inputs import Callback
from stepwire.tasks.lifecycle import as_of
from stepwire.tasks.task import Task
from tests.model.reference import OPEN, Operation, Reference
from tests.model.seen import modern_details
from tests.model.stack import Stack
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, ModernClient
from tests.simulated.step_functions import RUNNING


@dataclass(frozen=True)
class Rest:
    """The end of a run."""

    stack: Stack
    reference: Reference

    def check_work(self) -> None:
        """Hold the account against what is promised while work goes on."""
        tasks, executions = self.stack.tasks(), self.stack.step_functions.executions
        for arn, task in tasks.items():
            known = self.reference.tasks.get(task.task_id)
            is_open = as_of(task, self.reference.now).awaits_confirmation
            assert not (is_open and known and known.decided), "a confirmation is lost"
            if not task.has_ended and not task.awaits_confirmation:
                assert arn in executions, "a task is without its execution"
                assert executions[arn].status == RUNNING, "an end is lost"
                assert not task.inputs.undelivered, "an answer is not delivered"
        for arn in self.stack.step_functions.running():
            assert arn in tasks, "an execution is without its task"
            assert not tasks[arn].has_ended, "an execution goes on whose task has ended"
            label = self.reference.executions[tasks[arn].task_id]
            is_given_up = label in self.reference.surely_given_up
            assert not is_given_up, "the work of a request that was given up goes on"
        self._check_handles(tasks)
        self._check_questions(tasks)

    def _check_handles(self, tasks: dict[str, Task]) -> None:
        there = {task.task_id for task in tasks.values()}
        for call in self.reference.calls:
            if call.task_id and self.reference.is_there(call.task_id):
                assert call.task_id in there, "a handle is without its task"

    def _check_questions(self, tasks: dict[str, Task]) -> None:
        for question in self.reference.questions.values():
            state = self.stack.step_functions.states[question.token]
            if state.waits:
                assert all(one.taken is None for one in question.given), "an answer is lost"
                asked = [one.destination for one in tasks[state.arn].input_requests]
                assert Callback(question.token) in asked, "a state waits whose question nobody is asked"

    def check_slots(self, *, anyone_died: bool) -> None:
        """Check that no slot is held by what is over, but after a death, or where a confirmation was not answered in time.

        What is held then, the next call of its caller frees.
        """
        now = self.stack.clock.time
        for owner, slots in self.stack.slots().items():
            counted: set[str] = {*slots}
            tasks = [task for task in self.stack.tasks().values() if task.owner == owner and not task.has_ended]
            open_tasks: set[str] = {task.task_id for task in tasks if not as_of(task, now).has_ended}
            assert open_tasks <= counted, "a task is not counted"
            if counted != open_tasks:
                assert anyone_died or counted == {task.task_id for task in tasks}, "a slot is leaked"
                self.stack.limit(len(counted))
                created = ModernClient(self.stack, owner).start()
                assert {*self.stack.slots()[owner]} == {*open_tasks, created}, "a slot is lost"

    def check_ends(self) -> None:
        """Let every task that has begun be told, and judge its end."""
        for task in self.stack.tasks().values():
            if not task.awaits_confirmation:
                client = ModernClient(self.stack, task.owner, {**TASKS_CAPABILITY, **ASKING_CAPABILITY})
                operation = Operation(self.reference.step, self.reference.now, task.owner, task.task_id)
                told = modern_details(client.task("get", task.task_id).result)
                assert told.kinds != OPEN, "an end is lost"
                self.reference.tells(operation, told)
