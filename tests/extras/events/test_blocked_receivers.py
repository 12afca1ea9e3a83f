"""Nothing is delivered to a caller whom an operator has blocked, and nothing is lost."""

from typing import Final

import pytest

from stepwire.extras.events.delivering import WHEN_BLOCKED, Outcome
from stepwire.principal import principal_of
from tests.extras.events.built import fakes_of
from tests.extras.events.test_polls import ended, tell
from tests.extras.events.test_webhooks import subscribe
from tests.kits import ALICE, World
from tests.server.clients import SignedIn
from tests.server.test_isolation import modern_of

PERSON: Final = principal_of(("jwt", "iss", "https://issuer.example", "sub", "alice"), "a stack")


def test_no_event_is_delivered_until_the_caller_is_unblocked() -> None:
    world = World()
    client = modern_of(world, ALICE)
    subscribe(client)
    tell(world, ended(world))
    sent = len(fakes_of(world).endpoints.posts)
    world.blocked.add(ALICE)

    (bell,) = fakes_of(world).queue.take()
    first = fakes_of(world).delivering.deliver(*bell, "a message")
    world.clock.advance(seconds=WHEN_BLOCKED.total_seconds())
    second = fakes_of(world).delivering.deliver(*bell, "a message")
    held = len(fakes_of(world).endpoints.posts)
    world.blocked.clear()
    world.clock.advance(seconds=WHEN_BLOCKED.total_seconds())
    third = fakes_of(world).delivering.deliver(*bell, "a message")

    assert [first.outcome, second.outcome, third.outcome] == [Outcome.BLOCKED, Outcome.BLOCKED, Outcome.DELIVERED]
    assert first.again_after == second.again_after == WHEN_BLOCKED
    assert (held, len(fakes_of(world).endpoints.posts)) == (sent, sent + 1)


@pytest.mark.parametrize("times", [1, 2], ids=["begun", "refreshed"])
def test_a_block_of_a_person_holds_back_the_events_of_each_of_their_principals(times: int) -> None:
    world = World()
    for person in ("", PERSON)[-times:]:
        subscribe(modern_of(SignedIn(world, person=person), ALICE))
    tell(world, ended(world))
    sent = len(fakes_of(world).endpoints.posts)
    world.blocked.add(PERSON)

    (bell,) = fakes_of(world).queue.take()
    outcome = fakes_of(world).delivering.deliver(*bell, "a message").outcome

    assert (outcome, len(fakes_of(world).endpoints.posts)) == (Outcome.BLOCKED, sent)


def test_news_of_a_blocked_caller_send_no_second_message() -> None:
    world = World()
    client = modern_of(world, ALICE)
    subscribe(client)
    tell(world, ended(world))
    world.blocked.add(ALICE)
    (bell,) = fakes_of(world).queue.take()
    fakes_of(world).delivering.deliver(*bell, "a message")

    for _ in range(2):
        tell(world, ended(world))

    assert fakes_of(world).queue.take() == []
