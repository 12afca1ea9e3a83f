"""Races: start the arms of a task, and stop those that have lost.

The end of a race is saved before any arm is stopped, with a mark (`Task.may_begin`) that stays until every arm is known
to be stopped. So after a crash, or if an arm starts late, a reader or the sweep finds the task and stops the arm.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stepwire.engine.attempts import Attempts
from stepwire.errors import SaveConflict, StartRefused, StartRefusedForNow, StartUnclear
from stepwire.tasks.events import WorkBegun
from stepwire.tasks.races import Arm, Race
from stepwire.tasks.task import Task

_LOST: Final = "Another arm of the race has decided the task."


class _Starts(Struct, frozen=True):
    """What came of starting arms; all others have begun."""

    refusals: Mapping[str, StartRefused]
    """By the letter of the arm."""
    unclear: Sequence[StartUnclear]

    @property
    def postponed(self) -> list[Exception]:
        """Return why arms may not have begun that can begin later."""
        for_now = (refusal for refusal in self.refusals.values() if isinstance(refusal, StartRefusedForNow))
        return [*self.unclear, *for_now]


class Races(Struct, frozen=True):
    """Begins races and ends them."""

    attempts: Attempts

    def begin(self, task: Task, trace_header: str | None = None) -> Task:
        """Start the arms that are due, schedule the others, and return the task. Idempotent.

        Raises:
            StartRefused: Step Functions refused to start any of the arms; none runs.
        """
        attempts, at = self.attempts, self.attempts.recorder.now()
        race = _race_of(task)
        starts = self._start(task, race.due(at), trace_header)
        for arm in race.arms:
            if arm.is_open and not arm.is_due(at) and arm.attempt.begins_at is not None:
                attempts.schedule(task, arm.attempt.begins_at - at, arm.letter)
        try:
            return self._stop_if_ended(self._with_refusals(self._noted(task, starts.postponed), starts.refusals))
        except Exception as fault:  # noqa: BLE001 - arms have started; readers and the sweep repeat the rest
            attempts.report(fault)
            return task

    def _start(self, task: Task, due: Sequence[Arm], trace_header: str | None) -> "_Starts":
        """Start arms.

        Raises:
            StartRefused: Step Functions refused to start any of them.
        """
        common = self.attempts.recorder.store.terms_of(task).input
        refusals, unclear = dict[str, StartRefused](), list[StartUnclear]()
        for arm in due:
            try:
                self.attempts.workflows.start(task.execution_of(arm), arm.input_text(common), trace_header)
            except StartRefused as refusal:
                refusals[arm.letter] = refusal
            except StartUnclear as error:
                unclear.append(error)
        if len(refusals) == len(due):
            raise min(refusals.values(), key=lambda one: not isinstance(one, StartRefusedForNow))
        return _Starts(refusals, unclear)

    def _noted(self, task: Task, postponed: Sequence[Exception]) -> Task:
        """Note whether the next reader has to start arms."""
        if postponed:
            return self.attempts.postpone(task, postponed[0])
        return (self.attempts.recorder.record(task, WorkBegun()) or task) if task.is_unbegun else task

    def after_end(self, task: Task, letter: str) -> Task:
        """Stop the arms that have lost, after an end that has decided the race; after any other end, do nothing."""
        # An arm that is open has ended too late to count.
        return task if _race_of(task).arm(letter).is_open else self.stop_losers(task)

    def stop_losers(self, task: Task, *, is_late: bool = False, but: frozenset[str] = frozenset()) -> Task:
        """Stop the arms that may run although their task has ended, and return the task.

        Args:
            task: the task.
            is_late: whether every request that may have started an arm is over by now.
            but: letters of the arms that were stopped before.

        Raises:
            StopRefused, Exception: an arm could not be stopped; the others are.
        """
        if not (task.has_ended and task.may_begin):
            return task
        left = _race_of(task).left_running(task.last_updated_at, self.attempts.recorder.now())
        faults, stopped = list[Exception](), set(but)
        for arm in left:
            try:
                if arm.letter not in but and self.attempts.workflows.stop(task.execution_of(arm), _LOST):
                    stopped.add(arm.letter)
            except Exception as fault:  # noqa: BLE001 - the other arms must be stopped too
                faults.append(fault)
        if faults:
            raise faults[0]
        # Whoever redrives a stopped arm at this moment brings it back, as one who starts it now.
        is_settled = is_late or all(arm.letter in stopped and not arm.attempt.is_redriven for arm in left)
        return self._settled(task) if is_settled else task

    def _settled(self, task: Task) -> Task:
        """Remove the mark: no arm runs, and none can."""
        try:
            return self.attempts.recorder.store.save(replace(task, may_begin=False))
        except SaveConflict:
            return task

    def _with_refusals(self, task: Task, refusals: Mapping[str, StartRefused]) -> Task:
        for letter, refusal in refusals.items():
            if isinstance(refusal, StartRefusedForNow):
                self.attempts.schedule(task, letter=letter)
            else:
                task = self.attempts.record_refusal(task, letter, refusal)
        return task

    def _stop_if_ended(self, task: Task) -> Task:
        """Return the current task; if it has ended while its arms were started, stop those that run."""
        current = self.attempts.recorder.load(task.key)
        if current is None:  # it was taken back
            for execution in task.executions.values():
                self.attempts.workflows.stop(execution, _LOST)
            return task
        return self.stop_losers(current) if current.has_ended else current


def _race_of(task: Task) -> Race:
    assert task.race is not None  # noqa: S101 - callers know
    return task.race
