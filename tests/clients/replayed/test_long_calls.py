"""Plain calls that are polled: when they end, their progress, and what is logged about their clients."""

import itertools
from dataclasses import replace
from datetime import timedelta

import pytest

from stepwire.audit import AuditAction, Audited
from stepwire.server.services import Patience
from tests.clients.replayed.behaviours import PYTHON, RESUMING, Behaviour, Expected
from tests.clients.replayed.raw_client import RawClient, Returned
from tests.clients.replayed.timeline import FakeTimeline
from tests.kits import OUTPUT, World
from tests.server.messages import only_task

PATIENT = Behaviour("a client with progress", "mcp", resumption=PYTHON, sends_token=True, expects=Expected.POLLED)
INSPECTOR = next(one for one in RESUMING if one.progress_resets)


def client_of(world: World, behaviour: Behaviour) -> RawClient:
    client = RawClient(behaviour, FakeTimeline(world.clock), itertools.repeat(world.server))
    client.connect()
    return client


def gaps(client: RawClient) -> list[float]:
    moments = [0, *(moment for moment, _ in client.told), client.timeline.seconds]
    return [later - earlier for earlier, later in itertools.pairwise(moments)]


# ------------------------------------------------------------------------------------------------------------- progress


def test_a_client_whose_timer_progress_restarts_gets_a_result_after_half_an_hour() -> None:
    world = World()
    client = client_of(world, INSPECTOR)
    client.timeline.after(1_800, lambda: world.succeed(only_task(world), OUTPUT))

    outcome = client.call()

    assert isinstance(outcome, Returned)
    assert outcome.result["structuredContent"] == OUTPUT
    assert max(gaps(client)) <= 20


def test_progress_only_increases_and_that_of_the_workflow_is_sent_unchanged() -> None:
    world = World()
    client = client_of(world, INSPECTOR)
    client.timeline.after(100, lambda: world.progress(only_task(world), 10))
    client.timeline.after(200, lambda: world.progress(only_task(world), 100))
    client.timeline.after(300, lambda: world.succeed(only_task(world), OUTPUT))

    client.call()

    told = [progress for _, progress in client.told]
    assert told == sorted(set(told))
    assert {10, 100} <= set(told)
    assert max(gaps(client)) <= 20


# ----------------------------------------------------------------------------------------------------------- the bounds


@pytest.mark.parametrize(("sends_token", "seconds"), [(False, 30), (True, 90)])
def test_the_bounds_are_parameters(sends_token: bool, seconds: int) -> None:
    patience = Patience(whole_call=timedelta(seconds=30), whole_call_with_progress=timedelta(seconds=90))
    client = client_of(World(patience=patience), replace(PATIENT, sends_token=sends_token))

    outcome = client.call()

    assert isinstance(outcome, Returned)
    assert "stepwire/task" in outcome.result["_meta"]
    assert client.timeline.seconds == pytest.approx(seconds, abs=1)


def test_a_bound_of_0_ends_a_call_at_once_and_its_task_continues() -> None:
    world = World(patience=Patience(whole_call=timedelta()))
    client = client_of(world, replace(PATIENT, sends_token=False))

    outcome = client.call()

    assert isinstance(outcome, Returned)
    assert client.gets == 0
    assert len(world.workflows.running()) == 1


@pytest.mark.parametrize("part", ["store", "workflows"])
def test_a_call_ends_in_time_although_its_task_cannot_be_read(part: str) -> None:
    world = World()
    client = client_of(world, replace(PATIENT, sends_token=False, timeout=60))

    def lose() -> None:
        getattr(world, part).is_available = False

    client.timeline.after(10, lose)
    outcome = client.call()

    assert isinstance(outcome, Returned)
    assert client.timeline.seconds == pytest.approx(50, abs=1)


# ------------------------------------------------------------------------------------------------- what is written down


def clients_in(world: World, action: Audited) -> list[str | None]:
    return [entry.client for entry in world.audit if entry.action is action]


def test_a_client_that_resumes_is_logged_once_per_stream() -> None:
    world = World()

    client_of(world, replace(PATIENT, version="0.1.0", sends_token=False)).call()

    assert clients_in(world, AuditAction.PRIMED) == ["mcp 0.1.0"]
    assert clients_in(world, AuditAction.RESUMED) == ["mcp 0.1.0"]


def test_a_client_that_never_resumes_is_logged_as_primed_only() -> None:
    world = World()
    hanging = next(one for one in RESUMING if one.name == "rmcp")
    client = client_of(world, replace(hanging, resumption=replace(PYTHON, most_gets=0)))

    client.call()

    assert clients_in(world, AuditAction.PRIMED) == ["rmcp 2.2.0"]
    assert clients_in(world, AuditAction.RESUMED) == []


def test_a_short_call_logs_nothing_about_its_client() -> None:
    world = World()
    client = client_of(world, PATIENT)
    client.timeline.after(1, lambda: world.succeed(only_task(world), OUTPUT))

    client.call()

    assert clients_in(world, AuditAction.PRIMED) == []


def test_a_client_name_is_shortened_and_escaped_in_the_log() -> None:
    world = World()
    forged = replace(PATIENT, name='a\n{"audit":"ended"}\u202e' + "x" * 1_000, version="1" * 1_000, query="resume=1")

    client_of(world, replace(forged, sends_token=False)).call()

    (client,) = clients_in(world, AuditAction.PRIMED)
    assert client is not None
    assert client.isprintable()
    assert len(client) < 150
