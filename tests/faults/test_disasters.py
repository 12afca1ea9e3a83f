"""Outages of a whole service or permission: what a client sees meanwhile, and that nothing is lost afterwards."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest

from stepwire.aws.clients import is_weather
from stepwire.background.execution_events import ExecutionStatusChange
from stepwire.errors import LargeResultsDenied
from stepwire.tasks.outcomes import Succeeded
from stepwire.tasks.task import Task, Working
from tests.faults.boundary import Fault
from tests.faults.cases import settle, wrongs
from tests.faults.seen import ANSWER, LARGEST, Seen, modern, seen_in, taken
from tests.faults.site import INTERVALS, Account, Site
from tests.faults.tasks_at_hand import asked, created
from tests.kits import OUTPUT
from tests.server.clients import FORM_CAPABILITY, ModernClient

DYNAMODB, STEP_FUNCTIONS, SECRETS, S3 = "dynamodb", "sfn", "secrets-manager", "s3"
EVERYTHING = (DYNAMODB, STEP_FUNCTIONS, SECRETS)
KINDS = (Fault.INTERNAL, Fault.TIMEOUT_BEFORE, Fault.TIMEOUT_AFTER, Fault.THROTTLED)


@pytest.fixture
def site(account: Account) -> Iterator[Site]:
    site = Site(account)
    yield site
    account.boundary.outages.clear()
    site.close()


@contextmanager
def out(site: Site, fault: Fault, *services: str) -> Generator[None]:
    """Let every call to these services fail."""
    site.account.boundary.outages |= dict.fromkeys(services, fault)
    yield
    site.account.boundary.outages.clear()


def stored(site: Site, task: Task) -> Task:
    (found,) = (one for one in site.tasks().values() if one.key == task.key)
    return found


def test_after_a_lost_region_service_resumes_and_missed_ends_are_found(site: Site) -> None:
    task = created(site)
    client = modern(site)

    with out(site, Fault.TIMEOUT_BEFORE, *EVERYTHING):
        seen = [seen_in(client.task("get", task.task_id)), seen_in(client.call("optional"))]
        site.restart()
    site.succeed(OUTPUT)  # no event is delivered
    site.clock.time += INTERVALS.repair
    found = client.task("get", task.task_id).result

    assert seen == [Seen.ERROR, Seen.ERROR]
    assert (found["status"], found["result"]["structuredContent"]) == ("completed", OUTPUT)


def test_a_throttled_account_recovers(site: Site) -> None:
    task = created(site)
    client = modern(site)

    with out(site, Fault.THROTTLED, *EVERYTHING):
        seen = [seen_in(client.task(method, task.task_id)) for method in ("get", "cancel")]
        seen.append(seen_in(client.call("optional")))

    assert seen == [Seen.ERROR] * 3
    assert client.task("get", task.task_id).result["status"] == "working"
    assert wrongs(site) == []
    assert settle(site, client_returns=True) == ()


def test_ends_lost_by_eventbridge_are_found_by_the_sweep(site: Site) -> None:
    tasks = [created_again(site) for _ in range(3)]
    site.succeed(OUTPUT)

    site.sweep()

    assert all(stored(site, task).has_ended for task in tasks)
    assert site.slots() == frozenset()
    assert settle(site, client_returns=False) == ()


def test_an_end_event_that_is_hours_late_changes_nothing(site: Site) -> None:
    task = created(site)
    site.succeed(OUTPUT)
    site.sweep()
    found = stored(site, task)

    site.process.events.record(ExecutionStatusChange(task.execution, Succeeded('{"answer": 43}')))

    assert stored(site, task) == found


@pytest.mark.parametrize("fault", KINDS, ids=lambda fault: fault.value)
def test_without_step_functions_calls_are_accepted_and_start_later(site: Site, fault: Fault) -> None:
    client = modern(site)

    with out(site, fault, STEP_FUNCTIONS):
        task_id = client.start()
        site.handles.add(task_id)
        meanwhile = client.task("get", task_id).result["status"]
    site.sweep()

    assert meanwhile == "working"
    assert list(site.executions().values()) == ["RUNNING"]
    assert wrongs(site) == []
    assert settle(site, client_returns=False) == ()


def test_without_step_functions_answers_are_accepted_and_delivered_later(site: Site) -> None:
    task = asked(site)

    with out(site, Fault.INTERNAL, STEP_FUNCTIONS):
        seen = seen_in(modern(site).update(task.task_id, {"approval": ANSWER}))
        undelivered = stored(site, task).inputs.undelivered
    site.sweep()
    site.outputs[task.execution] = ANSWER

    assert (seen, len(undelivered)) == (Seen.RESULT, 1)
    assert wrongs(site) == []
    assert settle(site, client_returns=False) == ()


def test_without_step_functions_a_cancellation_is_refused_and_the_task_continues(site: Site) -> None:
    task = created(site)

    with out(site, Fault.INTERNAL, STEP_FUNCTIONS):
        seen = seen_in(modern(site).task("cancel", task.task_id))
        meanwhile = stored(site, task).status
    modern(site).task("cancel", task.task_id)

    assert (seen, meanwhile) == (Seen.ERROR, Working())
    assert modern(site).task("get", task.task_id).result["status"] == "cancelled"
    assert site.is_quiet()


@pytest.mark.parametrize("fault", KINDS, ids=lambda fault: fault.value)
def test_without_dynamodb_calls_are_refused_and_nothing_starts(site: Site, fault: Fault) -> None:
    with out(site, fault, DYNAMODB):
        seen = seen_in(modern(site).call("optional"))
        begun = site.executions()

    assert (seen, begun) == (Seen.ERROR, {})


@pytest.mark.parametrize("fault", KINDS, ids=lambda fault: fault.value)
@pytest.mark.parametrize("service", [DYNAMODB, SECRETS])
def test_a_service_that_is_out_is_answered_with_a_time_to_retry_after_and_counts_as_no_fault(
    site: Site, service: str, fault: Fault
) -> None:
    client, site.repeats = ModernClient(site, capabilities=FORM_CAPABILITY), True

    with out(site, fault, service):
        site.restart()
        answer = client.call("confirmed" if service == SECRETS else "optional")

    assert (answer.status, answer.error["data"]) == (429, {"retryAfterMs": 2000})
    assert site.troubles
    assert all(map(is_weather, site.troubles))


def test_without_dynamodb_an_end_event_is_delivered_again(site: Site) -> None:
    task = created(site)
    site.succeed(OUTPUT)
    bring = taken(
        lambda: site.process.events.record(ExecutionStatusChange(task.execution, Succeeded('{"answer": 42}')))
    )

    with out(site, Fault.INTERNAL, DYNAMODB):
        seen = [bring()]
    seen.append(bring())

    assert seen == [Seen.ERROR, Seen.RESULT]
    assert stored(site, task).has_ended
    assert settle(site, client_returns=True) == ()


@pytest.mark.parametrize("fault", [*KINDS, Fault.DENIED], ids=lambda fault: fault.value)
def test_without_s3_a_task_with_a_large_result_goes_on_until_its_end_can_be_recorded(site: Site, fault: Fault) -> None:
    task = created(site)
    site.succeed(LARGEST)
    site.clock.time += INTERVALS.repair

    with out(site, fault, S3):
        bring = taken(lambda: site.process.events.record(ExecutionStatusChange(task.execution, Succeeded(None))))
        seen = bring()
        meanwhile = modern(site).task("get", task.task_id).result["status"]
    site.sweep()

    assert (seen, meanwhile) == (Seen.ERROR, "working")
    assert isinstance(site.troubles[0], LargeResultsDenied) is (fault is Fault.DENIED)
    assert modern(site).task("get", task.task_id).result["result"]["structuredContent"] == LARGEST
    assert settle(site, client_returns=False) == ()


@pytest.mark.parametrize("fault", KINDS, ids=lambda fault: fault.value)
def test_without_s3_a_large_result_is_a_retryable_error_and_everything_else_works(site: Site, fault: Fault) -> None:
    task = created(site)
    site.succeed(LARGEST)
    site.deliver()
    client = modern(site)

    with out(site, fault, S3):
        seen = seen_in(client.task("get", task.task_id))
        site.handles.add(other := client.start())
        site.succeed(OUTPUT)
        site.deliver()
        small = client.task("get", other).result["result"]["structuredContent"]

    assert (seen, small) == (Seen.ERROR, OUTPUT)
    assert client.task("get", task.task_id).result["result"]["structuredContent"] == LARGEST


def test_a_broken_deployment_is_rolled_back_and_its_tasks_continue(site: Site) -> None:
    """A missing permission stands for a broken deployment, because that is the usual form."""
    task = created(site)

    with out(site, Fault.DENIED, STEP_FUNCTIONS):
        site.restart()
        refused = modern(site).call("optional").error["message"]
        begun = len(site.executions())
        meanwhile = modern(site).task("get", task.task_id).result["status"]
    site.restart()

    assert refused == "The workflow of optional could not be started: this server may not start its state machine"
    assert (begun, len(site.tasks()), meanwhile) == (1, 1, "working")
    assert settle(site, client_returns=True) == ()


def test_after_expired_credentials_are_replaced_work_continues(site: Site) -> None:
    task = asked(site)

    with out(site, Fault.EXPIRED, *EVERYTHING):
        seen = [
            seen_in(modern(site).task("get", task.task_id)),
            seen_in(modern(site).update(task.task_id, {"approval": ANSWER})),
            seen_in(modern(site).call("optional")),
        ]
    again = seen_in(modern(site).update(task.task_id, {"approval": ANSWER}))
    site.outputs[task.execution] = ANSWER

    assert seen == [Seen.ERROR] * 3
    assert again is Seen.RESULT
    assert settle(site, client_returns=True) == ()


def created_again(site: Site) -> Task:
    """Create one more task."""
    task_id = modern(site).start()
    site.handles.add(task_id)
    return next(one for one in site.tasks().values() if one.task_id == task_id)
