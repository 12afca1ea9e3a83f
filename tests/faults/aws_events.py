"""Arrange what AWS delivers: each function prepares a site and returns the act that delivers the event."""

from stepwire.aws.storage.items import item_of
from stepwire.background.execution_events import ExecutionProgress, ExecutionStatusChange
from stepwire.tasks.outcomes import Succeeded
from stepwire.tasks.task import Progress
from tests.faults.seen import LARGE, LARGE_ARGUMENTS, Act, Seen, modern, taken
from tests.faults.site import SWEEP, Site
from tests.faults.tasks_at_hand import created, expired, never_begun, question_of, started_task
from tests.kits import OUTPUT
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


def ends_are_recorded(site: Site) -> list[str]:
    """Return the ends of executions that their tasks do not show."""
    states, tasks = site.executions(), site.tasks()
    return [
        "an end that its task does not know of"
        for arn, task in tasks.items()
        if states.get(arn, "RUNNING") != "RUNNING" and not task.has_ended
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
