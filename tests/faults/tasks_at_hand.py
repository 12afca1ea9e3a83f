"""Tasks from which an operation starts: running, asking, expired, or left behind by a process that died."""

from datetime import timedelta

from stepwire.aws.step_functions import execution_arn_of
from stepwire.background.execution_events import ExecutionStatusChange
from stepwire.background.input_requests import Question
from stepwire.tasks.task import Task
from tests.faults.boundary import Fault, Injection, ProcessDied
from tests.faults.seen import legacy, modern
from tests.faults.site import DELAY, INTERVALS, Site
from tests.kits import ARGUMENTS, FORM
from tests.server.answers import Json

# --------------------------------------------------------------------------------------------------------------- read


def created(site: Site) -> Task:
    """Create a running task whose client has its id."""
    site.handles.add(modern(site).start())
    return site.task()


def left(site: Site) -> Task:
    """Create a task whose workflow has left its output in S3, and ended; the end is not recorded."""
    site.handles.add(modern(site).start("leaving"))
    task = site.task()
    site.leave_and_succeed(task)
    return task


def never_begun(site: Site, large: Json | None = None) -> Task:
    """Create a task whose process died before it started the execution; the next check of it is due."""
    start = 2 if large is None else 3
    with site.account.boundary.watch(Injection(start, Fault.DEATH_BEFORE, lasts=True)):
        try:
            modern(site).call("optional", large or ARGUMENTS)
        except ProcessDied:
            site.restart()
    site.clock.time += INTERVALS.repair
    return site.task()


def asked(site: Site) -> Task:
    """Create a task whose workflow asks a question."""
    task = started_task(site)
    site.process.requests.record(question_of(site, task))
    return site.task()


def started_task(site: Site) -> Task:
    client = legacy(site)
    site.handles.add(client.call("optional", task={}).id_in("task"))
    return site.task()


def question_of(site: Site, task: Task, elicitation: Json = FORM) -> Question:
    return Question(task.execution, site.token(), "approval", elicitation)


def failed(site: Site, tool: str) -> Task:
    """Create a task whose first attempt has failed; its end is not recorded."""
    site.handles.add(modern(site).start(tool))
    site.fail("OutOfStock")
    return site.task()


def raced(site: Site, tool: str = "racing") -> Task:
    """Create a task whose machines race."""
    site.handles.add(modern(site).start(tool))
    return site.task()


def retried(site: Site, tool: str) -> Task:
    """Create a task whose next attempt is due."""
    task = failed(site, tool)
    site.process.events.record(ExecutionStatusChange(task.execution, site.state(execution_arn_of(task.execution))))
    site.clock.time += DELAY
    return site.task()


def over(site: Site) -> Task:
    """Create a task that has failed, and whose end is recorded."""
    task = created(site)
    site.fail("Broken")
    site.process.events.record(ExecutionStatusChange(task.execution, site.state(execution_arn_of(task.execution))))
    return site.task()


# --------------------------------------------------------------------------------------------------- what nobody reads


def expired(site: Site) -> Task:
    """Create a task that expired while it ran."""
    task = created(site)
    site.clock.time = task.expires_at + timedelta(seconds=1)
    site.handles.clear()
    return task
