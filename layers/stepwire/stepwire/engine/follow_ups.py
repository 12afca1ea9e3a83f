"""Make the task that follows one which has ended, because its execution is redriven: by an operator's command, or not.

The rule: a terminal task stays as it is (T10, X30); it only names the task that follows it. The follow-up is a task of
the same owner, with the same work and the same input, and goes on with the same execution, which keeps its name.

First the ended task names its follow-up, by a conditional write, so that of several commands and events one makes the
id, and all find it. Then the follow-up is written, and then its work begins, as that of any task: who finds that it
has not begun begins it. So a crash between any two steps is repaired by the next command, event, reader or sweep, and
nothing begins twice. A command reserves a slot of the owner's active tasks, as a call does, and is refused at their
limit. An execution that was redriven without a command goes on whatever the limits are, so its task takes no slot.
"""

from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from stepwire.audit import AuditAction, EndSource
from stepwire.engine.limiter import Admission
from stepwire.engine.ports import Randomness
from stepwire.engine.recorder import MOST_TRIES, Recorder, entry_of
from stepwire.engine.runs import Runs
from stepwire.errors import (
    InternalError,
    LimitReached,
    NotFollowedUp,
    PartMissing,
    TaskExists,
)
from stepwire.tasks.events import FollowedUp
from stepwire.tasks.ids import RANDOM_BYTES, TaskId, TaskKey, created_at_of, new_task_id
from stepwire.tasks.outcomes import ExecutionState, Missing, Running, Succeeded, Unreadable
from stepwire.tasks.runs import Pending, RunState
from stepwire.tasks.task import Follows, Origin, Task, Terms, Working


class FollowUp(Struct, frozen=True):
    """The task that follows one which has ended."""

    task: Task
    is_new: bool = True
    """Whether this command made it, and not an earlier one."""
    has_begun: bool = True
    """Whether Step Functions has been told; if not, the next check of the task begins its work."""


class FollowUps(Struct, frozen=True):
    """Makes follow-up tasks."""

    recorder: Recorder
    runs: Runs
    randomness: Randomness
    admission: Admission

    def redrive(self, key: TaskKey, operator: str | None = None) -> FollowUp:
        """Let the execution of an ended task go on, as a new task. Idempotent: repeated, it returns the same task.

        Raises:
            NotFollowedUp: it cannot go on; nothing was changed.
            WorkflowsUnavailable: Step Functions does not answer; nothing was changed.
        """
        task = self._ended(key)
        existing = self._existing(task)
        if existing is not None:
            return self._begun(existing)
        redrives = _redrives_to_be(task, self.runs.workflows.describe(task.execution))
        return self._begun(self._made(task, redrives, operator=operator))

    def after_redrive(self, task: Task, redrives: int) -> Task | None:
        """Return the task that goes on with an execution which was redriven without a command.

        Returns:
            None if that task has expired, or the arguments of the one that has ended are gone: there is nobody to tell.
        """
        with suppress(NotFollowedUp):
            return self._made(task, redrives, EndSource.EVENT).task
        return None

    def _ended(self, key: TaskKey) -> Task:
        task = self.recorder.load(key)
        if task is None:
            raise NotFollowedUp("There is no such task, or it has expired: its caller must call the tool again.")
        if not task.has_ended:
            raise NotFollowedUp("The task has not ended: wait for its end, or let its caller cancel it.")
        if len(task.runs) > 1:
            raise NotFollowedUp(
                "Its state machines raced, and the others were stopped: its caller calls the tool again."
            )
        return task

    def _existing(self, task: Task) -> FollowUp | None:
        """Return the follow-up that an earlier command or event made; None if there is none, or not yet."""
        known = task.follow_up
        found = None if known is None else self.recorder.load(TaskKey(task.owner, known))
        return None if found is None else FollowUp(found, is_new=False)

    def _made(
        self, task: Task, redrives: int, source: EndSource | None = None, operator: str | None = None
    ) -> FollowUp:
        try:
            terms = self.recorder.store.parts.terms_of(task)
        except PartMissing:
            raise NotFollowedUp("Its arguments are gone from the table: its caller must call the tool again.") from None
        new = _continuation_of(task, terms, self._chosen_id(task), redrives, runs_already=source is not None)
        if new.expires_at <= self.recorder.clock.now():
            raise NotFollowedUp("The task that follows it has expired: its caller must call the tool again.")
        if source is None:
            try:  # the id is chosen, so a repeated command reserves the same slot
                new = self.admission.admitted(new, self.recorder.clock.now())
            except LimitReached as refused:
                raise NotFollowedUp(f"Its caller is at a limit. {refused.message}") from None
        try:
            made = FollowUp(self.recorder.store.create(new))
        except TaskExists:  # another command or event was faster
            self.admission.give_back_unless_active(new)
            return FollowUp(self.recorder.load(new.key) or new, is_new=False)
        followed = entry_of(AuditAction.FOLLOWED_UP, task, "redrive")
        with suppress(Exception):
            self.recorder.audit(replace(followed, source=source, follow_up=new.task_id, operator=operator))
            self.recorder.note(AuditAction.CREATED, made.task)
        return made

    def _chosen_id(self, task: Task) -> TaskId:
        """Return the id of the follow-up, after the ended task names it; of several ids, the first one counts."""
        current = task
        for _ in range(MOST_TRIES):
            if current.follow_up is not None:
                return current.follow_up
            chosen = new_task_id(self.recorder.clock.now(), self.randomness(RANDOM_BYTES))
            if self.recorder.save_if_unchanged(current, FollowedUp(chosen)) is not None:
                return chosen
            current = self._ended(task.key)
        raise InternalError("Too many concurrent requests are changing this task. Repeat the command.")

    def _begun(self, follow_up: FollowUp) -> FollowUp:
        if follow_up.task.has_ended:
            return follow_up
        begun = self.runs.start(follow_up.task, follow_up.task.ready_runs(self.recorder.clock.now()))
        is_left = begun.runs_pending(Pending.START) or begun.runs_pending(Pending.TURN)
        return FollowUp(begun, follow_up.is_new, has_begun=not is_left)


def was_redriven(task: Task, state: ExecutionState) -> bool:
    """Tell whether the execution of an ended task has been redriven more often than for this task."""
    known = task.runs[0].attempt.redrives
    return not isinstance(state, Missing | Unreadable) and state.redrives > known


def _redrives_to_be(task: Task, state: ExecutionState) -> int:
    """Return how often the execution of an ended task will have been redriven.

    Raises:
        NotFollowedUp: it cannot be redriven.
    """
    match state:
        case Missing():
            raise NotFollowedUp("Its execution is not there, or no more: its caller must call the tool again.")
        case Succeeded() | Unreadable():
            raise NotFollowedUp("Its execution has succeeded: there is no failed state to go on from.")
        case Running():
            if was_redriven(task, state):
                return state.redrives
            raise NotFollowedUp("Its execution still runs, and is being stopped: try again in some minutes.")
        case _:
            if state.not_redrivable:
                raise NotFollowedUp(
                    f"Step Functions does not redrive its execution ({state.not_redrivable}): its caller calls the "
                    "tool again."
                )
            return state.redrives + 1


def _continuation_of(task: Task, terms: Terms, follow_up: TaskId, redrives: int, *, runs_already: bool) -> Task:
    """Return the task that continues an ended task.

    Args:
        task: the task that has ended.
        terms: its terms.
        follow_up: the id of the new task.
        redrives: how often its execution has been redriven then, this time included.
        runs_already: whether its execution runs, so that it needs no turn first.
    """
    pending = None if task.line is None or runs_already else Pending.TURN
    attempt = replace(task.runs[0].attempt, redrives=redrives, begins_at=None)
    begun = created_at_of(follow_up)
    return Task(
        owner=task.owner,
        task_id=follow_up,
        work=replace(task.work, terms=terms),
        status=Working(),
        created_at=begun,
        last_updated_at=begun,
        ttl=task.ttl,
        poll_interval=task.poll_interval,
        longest_poll_interval=task.longest_poll_interval,
        checked_at=begun,
        runs=(replace(task.runs[0], attempt=attempt, state=RunState.OPEN, place=0, error="", pending=pending),),
        retry=task.retry,
        line=task.line,
        # The client may be asked as before; nobody waits for the response of a request.
        origin=Origin(task.origin.modes, trace=task.origin.trace, person=task.origin.person),
        keep_result=task.keep_result,
        follows=Follows(task.task_id, task.follows.first if task.follows else task.task_id),
    )
