"""Arrange what operators do with tasks that have ended: by a command, or in the console, whose events arrive."""

from stepwire.aws.step_functions import execution_arn_of
from stepwire.background.commands import BUSY, COMMANDS, TASKS, UNAVAILABLE, obeyed
from stepwire.background.execution_events import ExecutionStatusChange
from stepwire.tasks.task import Task
from tests.faults.seen import Act, Seen, taken
from tests.faults.site import Site
from tests.faults.tasks_at_hand import over
from tests.kits import OUTPUT


def arrange_redrive_command(site: Site) -> Act:
    task = over(site)
    event = {"command": "redrive", "owner": task.owner, "task_id": task.task_id}

    def act() -> Seen:
        try:
            answer = obeyed(event, TASKS, COMMANDS, site.process.events.engine)
        except Exception:  # noqa: BLE001 - whatever it is, the operator reads that the function failed
            return Seen.ERROR
        if "refused" in answer:
            return Seen.ERROR if answer["refused"] in (UNAVAILABLE, BUSY) else Seen.REFUSAL
        return Seen.RESULT

    return act


def arrange_redrive_in_the_console(site: Site) -> Act:
    """The event says that the execution runs again."""
    task = _redriven(site)
    return _told(site, task)


def arrange_end_after_a_redrive(site: Site) -> Act:
    """The event of the redrive was lost."""
    task = _redriven(site)
    site.succeed(OUTPUT)
    return _told(site, task)


def redrive_has_its_task(site: Site) -> list[str]:
    """Return what is missing if no task follows the one whose execution was redriven."""
    return [] if len(site.all_tasks()) > 1 else ["a redriven execution that no task follows"]


def _redriven(site: Site) -> Task:
    task = over(site)
    site.step_functions.redrive(execution_arn_of(task.execution))
    return task


def _told(site: Site, task: Task) -> Act:
    change = ExecutionStatusChange(task.execution, site.state(execution_arn_of(task.execution)))
    return taken(lambda: site.process.events.record(change))
