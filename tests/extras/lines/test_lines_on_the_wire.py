"""Calls above a tool's limit as clients meet them, in both eras."""

from datetime import timedelta
from typing import Final

import pytest
from msgspec.structs import replace

from stepwire.catalog.tools import Tool
from stepwire.extras.lines.limits import Concurrency, Rules
from stepwire.rendering import timestamp
from stepwire.tasks.task import Working
from tests.kits import ALICE, ARGUMENTS, BOB, CONFIRMED, OPTIONAL, OUTPUT, TOOLS, World, catalog_of, keeping
from tests.server.clients import (
    ASKING_CAPABILITY,
    CARD_CAPABILITY,
    TASKS_CAPABILITY,
    LegacyClient,
    ModernClient,
)
from tests.server.messages import of, plain_call

RULES: Final = Rules(most=1)


def limited(name: str = "limited", rules: Rules = RULES, base: Tool = OPTIONAL, per: str = "") -> Tool:
    """Return a tool with a limit of its own."""
    return keeping(replace(base, name=name), lines=Concurrency(name, rules, per))


@pytest.fixture
def world() -> World:
    return serving(limited())


def serving(*tools: Tool) -> World:
    return World(catalog=catalog_of(*TOOLS, *tools))


def test_a_call_above_the_limit_is_a_working_task_that_says_where_it_is_in_line(world: World) -> None:
    client = ModernClient(world)
    first = client.start("limited")
    world.clock.advance(minutes=4)
    world.succeed(first, OUTPUT)
    client.start("limited")

    waiting = client.call("limited", ARGUMENTS).result

    assert (waiting["status"], waiting["statusMessage"]) == ("working", "Next in line; about 4 minutes.")
    assert client.task("get", waiting["taskId"]).result["statusMessage"] == "Next in line; about 4 minutes."


def test_its_place_and_the_estimate_are_data_too(world: World) -> None:
    modern, legacy = ModernClient(world), LegacyClient.opened(world)
    first = modern.start("limited")
    world.clock.advance(minutes=4)
    world.succeed(first, OUTPUT)
    modern.start("limited")
    at = timestamp(world.clock.now() + timedelta(minutes=4))

    waits = [modern.start("limited"), legacy.call("limited", task={}).id_in("task")]
    meta = [modern.task("get", waits[0]).result["_meta"], legacy.task("get", waits[1]).result["_meta"]]

    assert meta[0]["stepwire/line"] == {"position": 1, "beginsAt": at}
    assert meta[1]["stepwire/line"]["position"] == 2
    world.succeed(world.workflows.running()[0].name.split("-")[-1], OUTPUT)
    assert "stepwire/line" not in modern.task("get", waits[0]).result["_meta"]


def test_a_task_that_ends_in_line_is_in_no_line_any_more(world: World) -> None:
    client = ModernClient(world)
    client.start("limited")
    waiting = client.start("limited")

    client.task("cancel", waiting)

    assert "stepwire/line" not in client.task("get", waiting).result["_meta"]


def test_the_older_era_hears_of_its_place_as_progress(world: World) -> None:
    client = LegacyClient.opened(world, capabilities=ASKING_CAPABILITY)
    running = client.call("limited", task={}).id_in("task")
    client.call("limited", task={})
    first, _ = plain_call(client, "limited", progress_token="t")

    world.succeed(running, OUTPUT)
    world.clock.time += world.intervals.repair
    second = client.resume(first.last_event_id, opened_by=first.request)
    third = client.resume(second.last_event_id, opened_by=first.request)

    told = [of(one.messages, "notifications/progress") for one in (first, second, third)]
    assert [len(one) for one in told] == [1, 1, 0], "each place once"
    assert [told[0][0]["message"], told[1][0]["message"]] == ["2nd in line.", "Next in line; about 60 seconds."]
    assert [one[0]["_meta"]["stepwire/line"]["position"] for one in told[:2]] == [2, 1]
    assert told[0][0]["progress"] < told[1][0]["progress"]


def test_a_call_in_rounds_hears_of_its_place_as_progress(world: World) -> None:
    client = ModernClient(world, capabilities=ASKING_CAPABILITY)
    ModernClient(world).start("limited")

    answer = client.call("limited", ARGUMENTS, progress_token="t")

    (told,) = of(answer.messages, "notifications/progress")
    assert told == {
        "progressToken": "t",
        "progress": 0,
        "message": "Next in line.",
        "_meta": {"stepwire/line": {"position": 1}},
    }


def test_a_card_has_its_place(world: World) -> None:
    client = ModernClient(world, capabilities=CARD_CAPABILITY)
    ModernClient(world).start("limited")
    task_id = client.call("limited", ARGUMENTS).result["_meta"]["stepwire/card"]["taskId"]

    shown = client.call("card_task", {"task_id": task_id}).result["structuredContent"]

    assert shown["line"] == {"position": 1}


def test_the_older_era_has_the_same(world: World) -> None:
    client = LegacyClient.opened(world)
    client.call("limited", task={})

    waiting = client.call("limited", task={}).result["task"]

    assert (waiting["status"], waiting["statusMessage"]) == ("working", "Next in line.")


def test_a_full_line_is_an_error_that_says_when_to_call_again() -> None:
    client = ModernClient(serving(limited(rules=Rules(most=1, waiting=1))))
    client.start("limited")
    client.start("limited")

    refused = client.call("limited", ARGUMENTS)

    assert (refused.status, refused.code) == (429, -31002)
    assert refused.error["data"] == {"limit": "waiting calls", "retryAfterMs": 10_000}
    assert refused.response.headers["retry-after"] == "10"


def test_each_value_of_an_argument_has_a_line_of_its_own() -> None:
    world = serving(limited(per="text"))
    client = ModernClient(world)

    for text in ("a", "b", "a"):
        client.call("limited", {"text": text})

    assert len(world.workflows.running()) == 2


def test_a_confirmed_call_asks_for_its_turn_when_it_is_confirmed() -> None:
    owner = keeping(replace(OPTIONAL, name="limited"), lines=Concurrency("limited", RULES, shared_with=("sure",)))
    world = serving(owner, keeping(replace(CONFIRMED, name="sure"), lines=Concurrency("limited")))
    client = LegacyClient.opened(world, capabilities=ASKING_CAPABILITY)
    client.call("sure", task={})
    (unconfirmed,) = world.store.tasks.values()

    before = dict(world.lines.states)
    client.call("limited", task={})
    world.answers.respond(ALICE, unconfirmed.task_id, {"confirm": {"action": "accept", "content": {}}})

    assert before == {}
    assert world.stored(unconfirmed).status == Working("Next in line.")


def test_a_plain_call_waits_in_line_and_says_so(world: World) -> None:
    client = ModernClient(world, capabilities={})
    ModernClient(world).start("limited")

    text = client.call("limited", ARGUMENTS).result["content"][0]["text"]

    assert "Next in line" in text


def test_nobody_reads_in_whose_line_they_stand(world: World) -> None:
    alice, bob = ModernClient(world, ALICE, TASKS_CAPABILITY), ModernClient(world, BOB, TASKS_CAPABILITY)
    alice.start("limited")

    waiting = bob.call("limited", ARGUMENTS)

    assert ALICE not in waiting.response.body
    assert waiting.result["statusMessage"] == "Next in line."


def test_a_tool_without_a_limit_asks_no_line(world: World) -> None:
    task_id = ModernClient(world).start("optional")
    world.succeed(task_id, OUTPUT)
    world.clock.advance(seconds=timedelta(minutes=2).total_seconds())
    ModernClient(world).task("get", task_id)

    assert world.lines.calls == []
