"""A client that polls events and does nothing else: when the hints make it come back."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.extras.events.test_polls import ended, names, poll, tell
from tests.kits import World
from tests.server.clients import LegacyClient, ModernClient
from tests.server.proofs import Client
from tests.server.test_idle import AT_MOST, IDLE


def pauses_of(client: Client, cursor: str | None, world: World) -> Iterator[timedelta]:
    """Poll events as the server asks, until ten minutes have passed, and yield each pause."""
    end = world.clock.now() + IDLE
    while world.clock.now() < end:
        result = poll(client, cursor=cursor).result
        cursor = result["cursor"]
        yield timedelta(milliseconds=result["nextPollMs"])
        world.clock.advance(milliseconds=result["nextPollMs"])


# E3
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_client_that_polls_events_makes_few_requests_while_nothing_happens(world: World, era: str) -> None:
    client = ModernClient(world) if era == "modern" else LegacyClient.opened(world)
    first = poll(client).result["cursor"]
    tell(world, ended(world))

    after_an_event = list(pauses_of(client, first, world))

    assert [pause.total_seconds() for pause in after_an_event] == [15, 15, 30, 60, 120, 120, 120, 120]
    assert len(after_an_event) <= AT_MOST


# E3
def test_an_event_makes_the_pauses_between_polls_short_again(modern: ModernClient, world: World) -> None:
    quiet = poll(modern).result
    world.clock.advance(hours=1)
    quiet = poll(modern, cursor=quiet["cursor"]).result
    tell(world, ended(world))

    answer = poll(modern, cursor=quiet["cursor"])

    assert names(answer) == ["cancelled"]
    assert (quiet["nextPollMs"], answer.result["nextPollMs"]) == (120_000, 15_000)
