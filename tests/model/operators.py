"""The moves of an operator, who redrives the executions of tasks that have ended."""

from stepwire.engine.follow_ups import FollowUp
from stepwire.errors import NotFollowedUp
from stepwire.tasks.ids import TaskId, TaskKey
from tests.model.ends import rules_of
from tests.model.handlers import Broken, Done, Outcome
from tests.model.moves import few, has_room, move
from tests.model.reference import Operation
from tests.model.run import Run

_FOLLOWED = ("optional", "racing", "limited")
"""The tools whose ended tasks an operator continues; those of a race are refused."""


def followable(run: Run) -> list[str]:
    """Return the ended tasks that an operator may try to continue, the newest last."""
    tasks = run.reference.tasks
    return [one for one in run.ended_ids() if one in tasks and tasks[one].label.split(" ", maxsplit=1)[0] in _FOLLOWED]


class OperatorMoves(Run):
    """The moves of an operator."""

    @move(2, lambda run: has_room(run) and followable(run), which=few)
    def redrive(self, which: int) -> None:
        """Redrive the execution of an ended task."""
        self.step("redrive")
        found = followable(self)
        task_id = found[-1 - which % len(found)]
        known, follow_ups = self.reference.tasks[task_id], self.stack.events.engine.follow_ups
        key = TaskKey(known.owner, TaskId(task_id))
        command = Operation(self.reference.step, self.reference.now, known.owner, label=known.label)
        self.reference.commands.append(command)

        def follow() -> FollowUp:
            return follow_ups.redrive(key)

        def ended(outcome: Outcome) -> None:
            if isinstance(outcome, Done):
                made: FollowUp = outcome.value
                self.counted["redrive done"] += 1
                assert rules_of(known.label) is None, "a race is continued"
                self.reference.is_obeyed(command, task_id, made.task.task_id)
            elif isinstance(outcome, Broken) and isinstance(outcome.fault, NotFollowedUp):
                self.reference.is_denied(command)

        self.begin(f"redrive {task_id}", follow, ended)
