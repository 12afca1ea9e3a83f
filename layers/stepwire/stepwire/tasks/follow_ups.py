"""Follow-up tasks: what an operator's redrive or restart makes of a task that has ended. Pure.

The rule: a terminal task stays as it is (T10, X30); it only names the task that follows it. The follow-up is a task of
the same owner, with the same work and the same input. After a redrive it goes on with the same execution, which keeps
its name; after a restart it has an execution of its own.
"""

from enum import Enum

from msgspec.structs import replace

from stepwire.tasks.ids import TaskId, created_at_of
from stepwire.tasks.runs import Attempt, Run, RunState
from stepwire.tasks.task import LONGEST_TTL, Follows, Origin, Task, Terms, Working


class Means(Enum):
    """How an operator continues a task that has ended."""

    REDRIVE = "redrive"
    """Its failed execution goes on from its failed state."""
    RESTART = "restart"
    """A new execution begins with its input."""


def follow_up_of(task: Task, means: Means) -> TaskId | None:
    """Return the id of the task that follows this one; None if there is none."""
    match means:
        case Means.REDRIVE:
            return task.follow_ups.redrive
        case Means.RESTART:
            return task.follow_ups.restart


def with_follow_up(task: Task, means: Means, follow_up: TaskId) -> Task:
    """Return an ended task that names the task which follows it."""
    match means:
        case Means.REDRIVE:
            # Its execution is the follow-up's now: nobody stops it any more because of this task.
            runs = tuple(replace(run, pending=None) for run in task.runs)
            return replace(task, follow_ups=replace(task.follow_ups, redrive=follow_up), runs=runs)
        case Means.RESTART:
            return replace(task, follow_ups=replace(task.follow_ups, restart=follow_up))


def redriven(task: Task, terms: Terms, follow_up: TaskId, redrives: int) -> Task:
    """Return the task that goes on with the execution of an ended task.

    Args:
        task: the task that has ended.
        terms: its terms.
        follow_up: the id of the new task.
        redrives: how often the execution has been redriven then, this time included.
    """
    before = task.runs[0].attempt
    run = _anew(task.runs[0], replace(before, redrives=redrives, begins_at=None, after=""))
    first = task.follows.execution_of if task.follows else None
    new = _new_task(task, terms, follow_up, run)
    follows = Follows(task.task_id, _first_of(task), first or task.task_id)
    return replace(new, follows=follows)


def restarted(task: Task, terms: Terms, follow_up: TaskId) -> Task:
    """Return the task that does the work of an ended task again, with all attempts that its tool allows."""
    return _new_task(task, terms, follow_up, _anew(task.runs[0], Attempt()))


def _anew(run: Run, attempt: Attempt) -> Run:
    return replace(run, attempt=attempt, state=RunState.OPEN, place=0, error="", pending=None)


def _first_of(task: Task) -> TaskId:
    return task.follows.first if task.follows else task.task_id


def _new_task(task: Task, terms: Terms, follow_up: TaskId, run: Run) -> Task:
    begun = created_at_of(follow_up)
    return Task(
        owner=task.owner,
        task_id=follow_up,
        work=replace(task.work, terms=terms),
        status=Working(),
        created_at=begun,
        last_updated_at=begun,
        # The retention of its result may have made it longer than a call can.
        ttl=min(task.ttl, LONGEST_TTL),
        poll_interval=task.poll_interval,
        longest_poll_interval=task.longest_poll_interval,
        checked_at=begun,
        runs=(run,),
        retry=task.retry,
        # The client may be asked as before; nobody waits for the response of a request.
        origin=Origin(task.origin.modes),
        keep_result=task.keep_result,
        follows=Follows(task.task_id, _first_of(task)),
    )


def link_text(task: Task) -> str:
    """Say which task this one follows, and which follow it; empty if there are none."""
    words: list[str] = []
    if task.follows is not None:
        words.append(f"It continues task {task.follows.task_id}, at the operator's request.")
    if task.follow_ups.redrive is not None:
        words.append(f"The operator has let its workflow go on: see task {task.follow_ups.redrive}.")
    if task.follow_ups.restart is not None:
        words.append(f"The operator has started its work again: see task {task.follow_ups.restart}.")
    return " ".join(words)
