"""Checks when everything has come to rest: handlers are done, lost events are lost, and the sweep has run twice.

The first check is made while workflows run; the second after all have ended without an event.
"""

from dataclasses import dataclass

from stepwire.aws.step_functions import execution_arn_of
from stepwire.tasks.ids import TaskId
from stepwire.tasks.inputs import Callback
from stepwire.tasks.lifecycle import as_of
from stepwire.tasks.task import Task
from tests.model.ends import arm_of
from tests.model.reference import OPEN, Operation, Reference
from tests.model.seen import modern_details
from tests.model.stack import MOST_AT_ONCE, SWEEP, Stack, arns_of
from tests.races import open_executions
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, ModernClient
from tests.simulated.step_functions import RUNNING


@dataclass(frozen=True)
class Rest:
    """The checks at the end of a run."""

    stack: Stack
    reference: Reference

    def check_work(self) -> None:
        """Check the account while workflows run."""
        tasks, executions = self.stack.tasks(), self.stack.step_functions.executions
        for task in tasks.values():
            known = self.reference.tasks.get(task.task_id)
            is_open = as_of(task, self.reference.now).awaits_confirmation
            assert not (is_open and known and known.decided), "a confirmation is lost"
            if not task.has_ended and not task.awaits_confirmation:
                for one in map(task.execution_of, task.due_runs(self.reference.now)):
                    arn = execution_arn_of(one)
                    assert arn in executions, "a task has no execution"
                    assert executions[arn].status == RUNNING, "an end is lost"
                for given in task.inputs.undelivered:
                    assert given.is_unclaimed, "an answer is not delivered"
                    assert not self.stack.step_functions.states[given.token].waits, "a state's answer is kept back"
        for arn in self.stack.step_functions.running():
            served = [task for task in tasks.values() if arn in arns_of(task)]
            assert served, "an execution has no task"
            working = [task for task in served if not task.has_ended]
            assert working, "the execution of an ended task is still running"
            letter = arm_of(arn)
            assert not letter or arn in map(execution_arn_of, open_executions(working[0])), "an arm runs on"
            label = self.reference.tasks[working[0].task_id].label
            is_given_up = label in self.reference.surely_given_up
            assert working[0].follows or not is_given_up, "the execution of a cancelled request is still running"
        self._check_handles(tasks)
        self._check_questions(tasks)
        self._check_line(tasks)

    def _check_line(self, tasks: dict[TaskId, Task]) -> None:
        """Check that a turn is held by a run that has begun, and that none is free while others wait."""
        now = self.reference.now
        held = [task.task_id for task in tasks.values() if task.line and not task.has_ended and task.due_runs(now)]
        waiting = [task.task_id for task in tasks.values() if not task.has_ended and task.waiting_runs(now)]
        assert not waiting or len(held) == MOST_AT_ONCE, "a line stands still"
        counted = self.stack.line()
        assert not waiting or counted == (len(held), len(waiting)), "a line is counted wrong"

    def _check_handles(self, tasks: dict[TaskId, Task]) -> None:
        there = {task.task_id for task in tasks.values()}
        for call in self.reference.calls:
            if call.task_id and self.reference.is_there(call.task_id):
                assert call.task_id in there, "a task id that a client got has no task"

    def _check_questions(self, tasks: dict[TaskId, Task]) -> None:
        for question in self.reference.questions.values():
            state = self.stack.step_functions.states[question.token]
            if state.waits:
                assert all(one.taken is None for one in question.given), "an answer is lost"
                open_ones = {one.destination: one for one in tasks[TaskId(question.task_id)].questions}
                assert Callback(question.token) in open_ones, "a state waits, but its question is not shown"
                asked = open_ones[Callback(question.token)]
                assert asked.audience.is_caller == (question.others is None), "a question is put to whom it is not for"
                if question.others is not None:
                    question.others.check_open(asked, self.reference.now, 2 * SWEEP)

    def check_slots(self, *, anyone_died: bool) -> None:
        """Check that no ended task holds a slot, except after a death or a confirmation that came too late.

        The caller's next call at the limit frees such slots.
        """
        now = self.stack.clock.time
        for owner, slots in self.stack.slots().items():
            counted = {*slots}
            tasks = [task for task in self.stack.tasks().values() if task.owner == owner and not task.has_ended]
            open_tasks = {task.task_id for task in tasks if not as_of(task, now).has_ended}
            assert open_tasks <= counted, "an active task holds no slot"
            if counted != open_tasks:
                assert anyone_died or counted <= {task.task_id for task in tasks}, "a slot is leaked"
                self.stack.limit(len(counted))
                created = ModernClient(self.stack, owner).start()
                assert {*self.stack.slots()[owner]} == {*open_tasks, created}, "an ended task holds a slot"

    def check_ends(self) -> None:
        """Read every task that has started, and check its end."""
        for task in self.stack.tasks().values():
            if not task.awaits_confirmation:
                client = ModernClient(self.stack, task.owner, {**TASKS_CAPABILITY, **ASKING_CAPABILITY})
                operation = Operation(self.reference.step, self.reference.now, task.owner, task.task_id)
                told = modern_details(client.task("get", task.task_id).result)
                assert told.kinds != OPEN, "an end is lost"
                self.reference.tells(operation, told)
