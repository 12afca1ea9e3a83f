"""The event `approval.requested`, in both eras: who is told of questions to others, by poll and by webhook."""

import json
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from stepwire.extras.approvals.listening import REQUESTED
from stepwire.extras.approvals.rules import Escalation, HasClaim, People
from tests.extras.approvals.approving import CAROL, GROUP, POLICY, Decider, refunds, started
from tests.extras.approvals.built import fakes_in
from tests.extras.events.built import fakes_of
from tests.extras.events.event_types import EVENT_NAMES
from tests.extras.events.test_webhooks import wish
from tests.kits import ALICE, BOB, World
from tests.server.answers import Answer, Json
from tests.server.messages import ACCEPT


def poll(someone: Decider, cursor: str | None = None, **arguments: str) -> Answer:
    return someone.client.ask("events/poll", {"name": REQUESTED, "arguments": arguments, "cursor": cursor})


def listening(someone: Decider, **arguments: str) -> str:
    """Let somebody ask for events from now on; return the cursor."""
    return poll(someone, **arguments).result["cursor"]


def heard(someone: Decider, cursor: str) -> list[str]:
    """Return what somebody has heard of since a cursor."""
    return [one["data"]["happened"] for one in poll(someone, cursor).result["events"]]


def names(someone: Decider) -> list[str]:
    return [one["name"] for one in someone.client.ask("events/list").result["events"]]


def test_the_type_is_listed_for_those_who_may_decide_something(world: World, era: str, bob: Decider) -> None:
    outsider = Decider.of(world, era, groups="[staff]")

    assert names(bob) == [*EVENT_NAMES, REQUESTED]
    assert names(outsider) == list(EVENT_NAMES)
    assert poll(outsider).error["message"].startswith("Unknown event 'approval.requested'")


def test_a_question_is_an_event_for_those_who_may_decide_it_and_says_nothing_of_the_arguments(
    world: World, bob: Decider
) -> None:
    cursor = listening(bob)
    task_id = started(world, count=900)

    (event,) = poll(bob, cursor).result["events"]

    assert event["data"] == {
        "approvalId": bob.listed()[0]["approvalId"],
        "tool": "refund",
        "question": "approval",
        "happened": "asked",
        "audience": "finance",
        "approvals": 1,
        "askedAt": "2026-08-01T12:00:00.000Z",
        "expiresAt": "2026-08-01T13:00:00.000Z",
    }
    assert event["timestamp"] == "2026-08-01T12:00:00.000Z"
    written = json.dumps(event)
    assert task_id not in written
    assert not any(word in written for word in ("hello", "900", "May it go on?"))


def test_reminders_and_the_second_audience_are_told_of_and_a_decision_is_not(era: str) -> None:
    second = Escalation(timedelta(minutes=30), People((HasClaim("groups", ("leads",)),)))
    world = refunds(replace(POLICY, remind=timedelta(minutes=20), escalation=second))
    bob, carol = Decider.of(world, era), Decider.of(world, era, CAROL, "[leads]")
    of_bob, of_carol = listening(bob), listening(carol)
    task = started(world)

    for minutes in (20, 10):
        world.clock.advance(minutes=minutes)
        world.operations.get(ALICE, task)
    seen = heard(bob, of_bob)
    bob.decide(bob.listed()[0]["approvalId"], ACCEPT)

    assert seen == heard(bob, of_bob) == ["asked", "reminded", "escalated"]
    assert heard(carol, of_carol) == ["escalated"]


@pytest.mark.parametrize(
    ("owner", "groups", "person"),
    [
        pytest.param(ALICE, GROUP, "", id="the caller"),
        pytest.param(CAROL, GROUP, ALICE, id="the caller by another client"),
    ],
)
def test_the_caller_is_not_told_of_their_own_question(
    world: World, era: str, owner: Any, groups: str, person: str
) -> None:
    caller = Decider.of(world, era, owner, groups, person=person)
    cursor = listening(caller)

    started(world)

    assert heard(caller, cursor) == []


def test_who_is_only_of_a_part_of_the_audience_is_not_told(era: str) -> None:
    world = refunds(replace(POLICY, audience=People(())))
    bob, carol = Decider.of(world, era), Decider.of(world, era, CAROL, "[finance leads]")
    of_bob, of_carol = listening(bob), listening(carol)

    started(world, audience={"role": "arn:aws:iam::123456789012:role/never", "claim": "groups", "has": "finance"})
    started(world, audience={"claim": "groups", "has": "leads"})

    assert (heard(bob, of_bob), heard(carol, of_carol)) == ([], ["asked"])


def test_who_has_lost_the_group_is_told_no_more_once_the_time_is_over(world: World, bob: Decider) -> None:
    cursor = listening(bob)

    started(world, key="first")
    world.clock.time += timedelta(hours=1, seconds=1)
    started(world, key="second")

    assert heard(bob, cursor) == ["asked"]


def test_most_polls_write_nothing(world: World, bob: Decider) -> None:
    cursor = listening(bob)
    for _ in range(3):
        cursor = poll(bob, cursor).result["cursor"]
    assert fakes_in(world).subscribers.writes == 1

    world.clock.time += timedelta(minutes=31)
    poll(bob, cursor)

    assert fakes_in(world).subscribers.writes == 2


def test_a_refreshed_subscription_hears_until_it_ends(world: World, bob: Decider) -> None:
    bob.client.ask("events/subscribe", wish(REQUESTED, ttlMs=7_200_000))
    world.clock.time += timedelta(minutes=10)
    bob.client.ask("events/subscribe", wish(REQUESTED, ttlMs=7_200_000))
    world.clock.time += timedelta(minutes=119)

    started(world)

    assert len(fakes_of(world).queue.take()) == 1


def test_the_event_can_be_narrowed_to_a_tool(bob: Decider, world: World) -> None:
    cursor = listening(bob)
    started(world)

    assert len(poll(bob, cursor, tool="refund").result["events"]) == 1
    assert poll(bob, cursor, tool="optional").result["events"] == []
    assert "tool" in poll(bob, tool="unknown").error["message"]
    assert "takes tool." in poll(bob, taskId="x").error["message"]


def test_a_webhook_gets_it_signed_and_without_arguments(world: World, bob: Decider) -> None:
    subscribed = bob.client.ask("events/subscribe", wish(REQUESTED))
    assert subscribed.status == 200
    fakes_of(world).endpoints.posts.clear()

    started(world)
    for bell in fakes_of(world).queue.take():
        fakes_of(world).delivering.deliver(*bell, "a message")

    (post,) = fakes_of(world).endpoints.posts
    told: Json = post.body
    assert (told["name"], told["data"]["tool"], told["data"]["happened"]) == (REQUESTED, "refund", "asked")


def test_a_subscription_can_be_ended_without_the_group(world: World, bob: Decider, era: str) -> None:
    bob.client.ask("events/subscribe", wish(REQUESTED))
    lost = Decider.of(world, era, BOB, "[staff]")
    unwanted = {name: value for name, value in wish(REQUESTED).items() if name != "delivery"}

    ended = lost.client.ask("events/unsubscribe", {**unwanted, "delivery": wish(REQUESTED)["delivery"]})

    assert ended.status == 200
    assert lost.client.ask("events/subscribe", wish(REQUESTED)).error["code"] == -32011
