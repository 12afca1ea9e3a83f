"""Arrange what AWS delivers: each function prepares a site and returns the act that delivers the event."""

from stepwire.aws.step_functions import execution_arn_of
from stepwire.aws.storage.items import item_of
from stepwire.background.execution_events import ExecutionProgress, ExecutionStatusChange
from stepwire.tasks.outcomes import ExecutionFailed, Succeeded
from stepwire.tasks.task import Progress
from tests.faults.boundary import Fault, Injection, ProcessDied
from tests.faults.seen import LARGE, LARGE_ARGUMENTS, LARGEST, Act, Seen, modern, seen_in, taken
from tests.faults.site import DELAY, SWEEP, Site
from tests.faults.tasks_at_hand import (
    created,
    expired,
    failed,
    left,
    never_begun,
    question_of,
    raced,
    retried,
    started_task,
)
from tests.kits import OUTPUT
from tests.races import execution_of, open_executions
from tests.server.answers import Json
from tests.server.clients import ModernClient

# ------------------------------------------------------------------------------------------------- what workflows say


def arrange_ask(site: Site) -> Act:
    question = question_of(site, started_task(site))
    return taken(lambda: site.process.requests.record(question))


def question_is_asked(site: Site) -> list[str]:
    return [] if site.task().input_requests or site.task().has_ended else ["a question that nobody is asked"]


def arrange_ask_nobody(site: Site) -> Act:
    """The client has not declared that it can be asked."""
    site.handles.add(ModernClient(site).start())
    question = question_of(site, site.task())
    return taken(lambda: site.process.requests.record(question))


def state_has_failed(site: Site) -> list[str]:
    return [] if site.is_quiet() else ["a state that waits for an answer which cannot come"]


def arrange_progress(site: Site) -> Act:
    made = ExecutionProgress(created(site).execution, Progress(1, 2), "Half")
    return taken(lambda: site.process.events.record_progress(made))


def arrange_end(site: Site) -> Act:
    task = created(site)
    site.succeed(OUTPUT)
    change = ExecutionStatusChange(task.execution, Succeeded('{"answer": 42}'))
    return taken(lambda: site.process.events.record(change))


def arrange_failure(site: Site) -> Act:
    """The next attempt begins later."""
    return _told_failure(site, "restarted")


def arrange_failure_at_once(site: Site) -> Act:
    """The next attempt begins at once."""
    return _told_failure(site, "at_once")


def _told_failure(site: Site, tool: str) -> Act:
    task = failed(site, tool)
    change = ExecutionStatusChange(task.execution, site.state(execution_arn_of(task.execution)))
    return taken(lambda: site.process.events.record(change))


def arrange_win(site: Site) -> Act:
    """An arm of a race succeeds while the other one runs."""
    task = raced(site)
    site.end(execution_of(task, "a"), "SUCCEEDED", {"output": '{"answer": 42}'})
    change = ExecutionStatusChange(execution_of(task, "a"), Succeeded('{"answer": 42}'))
    return taken(lambda: site.process.events.record(change))


def arrange_arm_failure(site: Site) -> Act:
    """The first arm of a race fails, and the second one, which waits, starts at once."""
    task = raced(site, "delayed")
    site.end(execution_of(task, "a"), "FAILED", {"error": "Busy", "cause": "on purpose"})
    change = ExecutionStatusChange(execution_of(task, "a"), ExecutionFailed("Busy", "on purpose"))
    return taken(lambda: site.process.events.record(change))


def arrange_arm_start(site: Site) -> Act:
    """A message starts the second arm in its time."""
    raced(site, "delayed")
    site.clock.time += DELAY
    return taken(site.wake)


def arrange_sweep_losers(site: Site) -> Act:
    """The process that recorded the winner died before it stopped the other arm."""
    act = arrange_win(site)
    with site.account.boundary.watch(Injection(2, Fault.DEATH_AFTER, lasts=True)):
        try:
            act()
        except ProcessDied:
            site.restart()
    site.clock.time += SWEEP
    return arrange_sweep(site)


def arms_are_stopped(site: Site) -> list[str]:
    """Return the arms that run although their race is decided."""
    tasks = [task for task in site.tasks().values() if len(task.runs) > 1 and task.has_ended]
    running = set(site.step_functions.running())
    of_tasks = {execution_arn_of(one) for task in tasks for one in open_executions(task)}
    return ["an arm that runs on" for _ in running & of_tasks]


def arrange_restart(site: Site) -> Act:
    """A message wakes a task, and leaves the queue once it was processed."""
    retried(site, "restarted")
    return taken(site.wake)


def arrange_redrive(site: Site) -> Act:
    retried(site, "redriven")
    return taken(site.wake)


def arrange_redrive_refused(site: Site) -> Act:
    retried(site, "redriven")
    site.step_functions.is_old = True
    return taken(site.wake)


def arrange_sweep_restart(site: Site) -> Act:
    """The message is lost."""
    retried(site, "restarted")
    site.messages.clear()
    site.clock.time += SWEEP
    return arrange_sweep(site)


def arrange_sweep_redrive(site: Site) -> Act:
    retried(site, "redriven")
    site.messages.clear()
    site.clock.time += SWEEP
    return arrange_sweep(site)


def arrange_cancel_between(site: Site) -> Act:
    """The next attempt waits for its time."""
    task = failed(site, "redriven")
    site.process.events.record(ExecutionStatusChange(task.execution, site.state(execution_arn_of(task.execution))))

    def act() -> Seen:
        return seen_in(modern(site).task("cancel", task.task_id))

    return act


def arrange_end_of_large_terms(site: Site) -> Act:
    answer = modern(site).call("optional", LARGE_ARGUMENTS)
    site.handles.add(answer.id_in())
    site.succeed(OUTPUT)
    change = ExecutionStatusChange(site.task().execution, Succeeded('{"answer": 42}'))
    return taken(lambda: site.process.events.record(change))


def arrange_end_without_output(site: Site) -> Act:
    task = created(site)
    site.succeed(LARGE)
    return taken(lambda: site.process.events.record(ExecutionStatusChange(task.execution, Succeeded(None))))


def arrange_end_too_large_for_an_item(site: Site) -> Act:
    task = created(site)
    site.succeed(LARGEST)
    return taken(lambda: site.process.events.record(ExecutionStatusChange(task.execution, Succeeded(None))))


def arrange_end_in_s3(site: Site) -> Act:
    """The workflow has left its output in S3."""
    task = left(site)
    end = site.state(execution_arn_of(task.execution))
    return taken(lambda: site.process.events.record(ExecutionStatusChange(task.execution, end)))


def ends_are_recorded(site: Site) -> list[str]:
    """Return the ends of executions that their tasks do not show."""
    states, tasks = site.executions(), site.tasks()
    return [
        "an end that its task does not know of"
        for arn, task in tasks.items()
        if states.get(arn, "RUNNING") != "RUNNING"
        and not task.has_ended
        and site.has_begun(task)
        and len(task.runs) == 1
    ] + [
        "an arm that has won and whose task does not know of it"
        for task in tasks.values()
        if not task.has_ended
        for execution in open_executions(task)
        if states.get(execution_arn_of(execution)) == "SUCCEEDED"
    ]


def arrange_expire(site: Site) -> Act:
    task = expired(site)
    site.remove(task)
    return taken(lambda: site.process.expirations.record(task))


def arrange_sweep(site: Site) -> Act:
    def do() -> None:
        before = len(site.troubles)
        site.process.sweep.run()
        if len(site.troubles) > before:
            raise site.troubles[-1]

    return taken(do)


def arrange_sweep_end(site: Site) -> Act:
    created(site)
    site.succeed(OUTPUT)
    site.clock.time += SWEEP
    return arrange_sweep(site)


def arrange_sweep_end_too_large_for_an_item(site: Site) -> Act:
    created(site)
    site.succeed(LARGEST)
    site.clock.time += SWEEP
    return arrange_sweep(site)


def arrange_sweep_end_in_s3(site: Site) -> Act:
    left(site)
    site.clock.time += SWEEP
    return arrange_sweep(site)


def arrange_sweep_never_begun(site: Site) -> Act:
    never_begun(site)
    site.clock.time += SWEEP
    return arrange_sweep(site)


def arrange_sweep_expired(site: Site) -> Act:
    expired(site)
    return arrange_sweep(site)


# ----------------------------------------------------------------------------------------------------- what others hear


def arrange_status_change(site: Site) -> Act:
    task = created(site)
    images = {"NewImage": item_of(task), "ApproximateCreationDateTime": site.clock.now().timestamp()}
    record = {"eventName": "INSERT", "dynamodb": {"SequenceNumber": "1", **images}}

    def act() -> Seen:
        told: list[Json] = []
        seen = taken(lambda: told.extend(site.process.outbox({"Records": [record]}, None)["batchItemFailures"]))()
        return Seen.ERROR if told else seen

    return act


def change_is_published(site: Site) -> list[str]:
    return [] if site.task().task_id in site.heard else ["a change of status that nobody hears of"]
