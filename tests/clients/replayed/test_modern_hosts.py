"""Each host of 2026-07-28 gets its result, whether or not its library takes rounds, and nothing is started twice."""

from dataclasses import replace

import pytest
from msgspec import structs

from tests.clients.replayed.modern_hosts import HOSTS, OPENAI_AGENTS, ModernHost, Replayed
from tests.clients.replayed.raw_client import Refused, Returned
from tests.clients.replayed.timeline import FakeTimeline
from tests.kits import ARGUMENTS, OPTIONAL, OUTPUT, TOOLS, World, catalog_of
from tests.server.messages import only_task

MAY_ANSWER = structs.replace(OPTIONAL, name="asking", model_may_answer=True)
each_host = pytest.mark.parametrize("host", HOSTS, ids=lambda one: one.label)


def replayed(host: ModernHost, reads: str = "text") -> Replayed:
    world = World(catalog=catalog_of(*TOOLS, MAY_ANSWER))
    return Replayed(host, world, FakeTimeline(world.clock), reads)


def succeed(site: Replayed) -> None:
    site.world.succeed(only_task(site.world), OUTPUT)


@each_host
@pytest.mark.parametrize("reads", ["text", "structured"])
def test_a_call_of_35_seconds_ends_with_the_tools_own_result(host: ModernHost, reads: str) -> None:
    site = replayed(host, reads)
    site.timeline.after(35, lambda: succeed(site))

    result = site.run("optional", ARGUMENTS)

    assert result["structuredContent"] == OUTPUT
    assert len(site.world.workflows.starts) == 1
    assert site.calls.count("optional") == 1


@each_host
def test_only_a_host_that_is_known_to_take_rounds_gets_any(host: ModernHost) -> None:
    site = replayed(host)
    site.timeline.after(35, lambda: succeed(site))

    site.run("optional", ARGUMENTS)

    is_known = bool(host.capabilities) or host.name == "fastmcp"
    assert (site.rounds > 0) == {"rounds=1": True, "rounds=0": False}.get(host.query, is_known)


@each_host
def test_the_answer_of_a_question_comes_from_the_user_or_the_model_that_may_give_it(host: ModernHost) -> None:
    site = replayed(host)

    def ask() -> None:
        site.world.ask(only_task(site.world))
        site.timeline.after(1, go_on)

    def go_on() -> None:
        if site.world.workflows.resumptions:
            succeed(site)
        else:
            site.timeline.after(1, go_on)

    site.timeline.after(3, ask)

    outcome = site.call("asking", ARGUMENTS)

    assert isinstance(outcome, Returned)
    is_asked = bool(host.capabilities) and host.takes_rounds
    assert bool(site.world.workflows.resumptions) == is_asked
    if not is_asked:
        assert "Next: call task_answer with" in outcome.result["content"][0]["text"]


def test_a_host_that_may_give_up_after_5_seconds_is_told_the_task_before() -> None:
    site = replayed(OPENAI_AGENTS)

    outcome = site.call("optional", ARGUMENTS)

    assert isinstance(outcome, Returned)
    assert site.timeline.seconds == 4


def test_a_host_of_another_name_is_waited_for_as_long_as_any() -> None:
    site = replayed(replace(OPENAI_AGENTS, name="an-app", timeout=None))

    assert isinstance(site.call("optional", ARGUMENTS), Returned)
    assert site.timeline.seconds == 15


def test_an_unclear_word_in_the_url_is_an_error() -> None:
    site = replayed(replace(OPENAI_AGENTS, query="rounds=2"))

    outcome = site.call("optional", ARGUMENTS)

    assert isinstance(outcome, Refused)
    assert "rounds" in outcome.why
