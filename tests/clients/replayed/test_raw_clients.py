"""Each client that cannot be installed gets its result: it neither hangs, nor times out, nor loses its session.

Two instances of the server take turns. An unfinished result is correct for a client that cannot wait for the end.
"""

import dataclasses
import itertools
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from stepwire.json_text import write
from tests.clients.replayed.behaviours import CLIENTS, Behaviour, Expected
from tests.clients.replayed.raw_client import ANSWER, Dropped, RawClient, Refused, Returned
from tests.clients.replayed.timeline import FakeTimeline, Timeline
from tests.kits import ARGUMENTS, OPTIONAL, OUTPUT, STRUCTURED, TOOLS, World, catalog_of
from tests.server.instances import another_instance
from tests.server.messages import inputs_of, only_task

_LONGEST_WAIT = 50
_LONGEST_WAIT_FOR_JSON = 15.5  # seconds; Java gives up at 20
ASKING = replace(OPTIONAL, name="asking", model_may_answer=True)
GROUPED = replace(STRUCTURED, name="grouped", groups=("few",))
# The quick tests have one client of each way to resume, to offer a version, to keep a session and to ask its user.
WAYS = {(one.resumption, one.expects, one.offers, one.keeps_session, one.asks_user): one for one in reversed(CLIENTS)}
QUICK = frozenset(WAYS.values())
each_client = pytest.mark.parametrize(
    "behaviour",
    [pytest.param(one, id=one.label, marks=() if one in QUICK else pytest.mark.long) for one in CLIENTS],
)


@dataclass(frozen=True)
class Site:
    """A client, and the world that it calls."""

    world: World
    timeline: Timeline
    client: RawClient

    def succeed(self) -> None:
        self.world.succeed(only_task(self.world), OUTPUT)

    def ask(self) -> None:
        self.world.ask(only_task(self.world))
        self.timeline.after(1, self._go_on)

    def _go_on(self) -> None:
        """End the workflow after its waiting state got an answer or an error."""
        if self.world.workflows.resumptions:
            self.succeed()
        else:
            self.timeline.after(1, self._go_on)

    @property
    def is_unharmed(self) -> bool:
        """Tell whether the next call of the same session gets its result."""
        self.timeline.after(0.5, self.succeed)
        outcome = self.client.call()
        return isinstance(outcome, Returned) and outcome.result["structuredContent"] == OUTPUT


def site_of(behaviour: Behaviour) -> Site:
    world = World(catalog=catalog_of(*TOOLS, ASKING, GROUPED))
    timeline = FakeTimeline(world.clock)
    client = RawClient(behaviour, timeline, itertools.cycle([world.server, another_instance(world)]))
    client.connect()
    return Site(world, timeline, client)


def is_unfinished(outcome: object) -> bool:
    """Tell whether it is a result that names the running task, and no error."""
    if not isinstance(outcome, Returned):
        return False
    is_named = outcome.result.get("_meta", {}).get("stepwire/task", {}).get("taskId")
    return bool(is_named) and not outcome.result.get("isError")


@each_client
def test_a_short_call_gets_its_result(behaviour: Behaviour) -> None:
    site = site_of(behaviour)
    site.timeline.after(1, site.succeed)

    outcome = site.client.call()

    assert isinstance(outcome, Returned)
    assert outcome.result["structuredContent"] == OUTPUT
    assert site.client.gets == 0


# CrewAI, on the Python SDK, sends a null for each optional argument that its model left out, also to our own tools.
@each_client
def test_a_model_whose_host_writes_nulls_for_what_is_left_out_gets_its_result(behaviour: Behaviour) -> None:
    site = site_of(behaviour)
    site.client.fills_in = {"structured": {"count": None}, "task_result": {"wait_seconds": None}}
    site.timeline.after(180, site.succeed)

    outcome = site.client.go_on(site.client.call("structured"))

    assert isinstance(outcome, Returned), outcome
    assert outcome.result["structuredContent"] == OUTPUT
    assert inputs_of(site.world) == [ARGUMENTS]


@each_client
def test_a_call_of_a_minute_ends_in_time_for_its_client(behaviour: Behaviour) -> None:
    site = site_of(behaviour)
    site.timeline.after(60, site.succeed)

    outcome = site.client.call()

    if behaviour.progress_resets:
        assert isinstance(outcome, Returned)
        assert outcome.result["structuredContent"] == OUTPUT
    else:
        assert is_unfinished(outcome), outcome
        longest = _LONGEST_WAIT_FOR_JSON if behaviour.expects is Expected.JSON else _LONGEST_WAIT + 5
        assert site.timeline.seconds < longest
    assert (site.client.gets > 0) == (behaviour.expects is Expected.POLLED)
    site.timeline.wait(60)
    assert site.is_unharmed


@each_client
def test_clients_that_resume_are_asked_questions(behaviour: Behaviour) -> None:
    site = site_of(behaviour)
    site.timeline.after(5, site.ask)

    outcome = site.client.call()

    assert isinstance(outcome, Returned)
    assert outcome.result["structuredContent"] == OUTPUT
    assert site.client.answered == (1 if behaviour.expects is Expected.POLLED else 0)
    assert site.is_unharmed


@each_client
def test_the_model_of_a_client_gets_a_result_after_three_minutes_and_starts_nothing_twice(behaviour: Behaviour) -> None:
    site = site_of(behaviour)
    site.timeline.after(180, site.succeed)

    outcome = site.client.go_on(site.client.call("structured"))

    assert isinstance(outcome, Returned), outcome
    assert outcome.result["structuredContent"] == OUTPUT
    assert not outcome.result.get("isError")
    assert site.timeline.seconds < 200
    assert len(site.world.workflows.starts) == 1
    assert site.is_unharmed


def site_at(behaviour: Behaviour, query: str) -> Site:
    """Return the site of a client whose user appended a selection to the URL."""
    return site_of(dataclasses.replace(behaviour, query="&".join(filter(None, (behaviour.query, query)))))


@each_client
def test_a_client_gets_the_result_of_a_tool_of_its_group_and_can_call_no_other(behaviour: Behaviour) -> None:
    site = site_at(behaviour, "group=few")
    site.timeline.after(60, site.succeed)

    outcome = site.client.go_on(site.client.call("grouped"))

    assert isinstance(outcome, Returned), outcome
    assert outcome.result["structuredContent"] == OUTPUT
    assert isinstance(site.client.call("structured"), Refused)
    assert len(site.world.workflows.starts) == 1


@each_client
def test_a_question_is_answered_by_the_user_or_by_a_model_that_may_answer(behaviour: Behaviour) -> None:
    site = site_of(behaviour)
    site.timeline.after(20, site.ask)

    outcome = site.client.go_on(site.client.call("asking"))

    assert isinstance(outcome, Returned), outcome
    assert outcome.result["structuredContent"] == OUTPUT
    assert site.client.answered == (1 if behaviour.expects is Expected.POLLED else 0)
    assert [one.output for one in site.world.workflows.resumptions] == [write(ANSWER)]
    assert len(site.world.workflows.starts) == 1


@each_client
def test_only_a_person_can_confirm(behaviour: Behaviour) -> None:
    site = site_of(behaviour)

    outcome = site.client.call("confirmed")

    if behaviour.expects is Expected.POLLED:
        assert site.client.answered == 1
    else:
        assert isinstance(outcome, Refused)
        assert "no question reaches" in outcome.why or "elicitation" in outcome.why
        assert site.world.workflows.starts == []


@each_client
def test_cancelling_a_call_that_was_answered_does_not_stop_its_task(behaviour: Behaviour) -> None:
    site = site_of(behaviour)
    site.client.call()
    site.timeline.wait(1)

    site.client.cancel()

    assert len(site.world.workflows.running()) == 1


@each_client
def test_cancelling_a_call_stops_its_task_and_keeps_the_session(behaviour: Behaviour) -> None:
    site = site_of(behaviour)
    site.timeline.after(5, site.client.cancel)

    outcome = site.client.call()

    assert isinstance(outcome, Dropped)
    # Without a session, a cancellation does not identify the request.
    assert len(site.world.workflows.running()) == (0 if behaviour.keeps_session else 1)
    if behaviour.keeps_session:
        assert site.is_unharmed
