"""A client that is connected and does nothing: what the server claims, and when its hints make a client come back."""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, Final, cast

import pytest
from msgspec.structs import replace

from stepwire.catalog.access import Access
from stepwire.catalog.tools import LiveCatalog, Published
from stepwire.protocol.messages import CLIENT_CREDENTIALS_EXTENSION
from stepwire.rendering import CARD_URI
from tests.kits import World
from tests.server.answers import Json
from tests.server.cards import begun, client_of, seen
from tests.server.clients import CARD_CAPABILITY, TASKS_EXTENSION, LegacyClient, ModernClient
from tests.server.test_events import STATUS_CHANGED, ended, names, poll, tell
from tests.unit.catalog.test_live import Source, shard
from tests.wire_oracle.apps import UI_EXTENSION
from tests.wire_oracle.events import EVENTS_EXTENSION
from tests.wire_oracle.skills import SKILLS_EXTENSION

Client = LegacyClient | ModernClient
IDLE: Final = timedelta(minutes=10)
AT_MOST: Final = 10
"""Requests in ten idle minutes; the same as in docs/clients.md."""
OWN_SKILL: Final = "skill://workflows/run-a-workflow"


# ------------------------------------------------------------------------------------------------------ what is claimed


def claims_in(capabilities: Any, prefix: str = "") -> Iterator[str]:
    """Yield each capability and setting that is claimed, as a path; a setting that is false claims nothing."""
    if isinstance(capabilities, dict):
        for name, value in cast(Json, capabilities).items():
            if value is not False:
                yield prefix + name
            yield from claims_in(value, f"{prefix}{name}.")


def gets_a_task(client: Client) -> bool:
    """Tell whether a call can be a task, which can be polled."""
    task_id = client.start()
    return client.task("get", task_id).result["taskId"] == task_id


def can_cancel(client: Client) -> bool:
    """Tell whether a task can be cancelled."""
    return client.task("cancel", client.start()).status == 200


def can(method: str, **params: Any) -> Callable[[Client], bool]:
    """Return a proof that a method is answered with a result."""
    return lambda client: bool(client.ask(method, params).result)


def shows_a_card(client: Client) -> bool:
    """Tell whether a host that shows cards gets a card, and what it shows."""
    era = "legacy" if isinstance(client, LegacyClient) else "modern"
    host = client_of(era, client.endpoint, CARD_CAPABILITY)
    assert host.ask("resources/read", {"uri": CARD_URI}).result["contents"]
    return seen(host, begun(host))["status"] == "working"


PROOFS: Final[Mapping[str, Callable[[Client], bool]]] = {
    "tools": can("tools/list"),
    "resources": can("resources/list"),
    "tasks": gets_a_task,
    "tasks.list": can("tasks/list"),
    "tasks.cancel": can_cancel,
    "tasks.requests": gets_a_task,
    "tasks.requests.tools": gets_a_task,
    "tasks.requests.tools.call": gets_a_task,
    "events": can("events/poll", name=STATUS_CHANGED),
    "extensions": lambda _: True,
    f"extensions.{TASKS_EXTENSION}": gets_a_task,
    f"extensions.{EVENTS_EXTENSION}": can("events/list"),
    f"extensions.{UI_EXTENSION}": shows_a_card,
    f"extensions.{SKILLS_EXTENSION}": can("skills/list"),
    f"extensions.{SKILLS_EXTENSION}.directoryRead": can("resources/directory/read", uri=OWN_SKILL),
    # The issuer keeps this one: it gives programs tokens. tests/sign_in has its own.
    f"extensions.{CLIENT_CREDENTIALS_EXTENSION}": lambda _: True,
}
"""What proves each capability: a client that relies on it gets what it promises, from one finite response each time."""


@pytest.fixture
def whole(world: World) -> World:
    """An endpoint with all that it can claim: owners register tools, and programs sign in."""
    catalog = LiveCatalog(
        world.catalog, Source(Published("1", (shard("one"),))), world.clock.now, world.troubles.append
    )
    services = replace(world.services, catalog=catalog, access=Access(takes_programs=True))
    world.server = replace(world.server, services=services)
    return world


def claimed(whole: World, era: str) -> tuple[Client, set[str]]:
    """Return a client of an era, and what the server claims to it."""
    if era == "modern":
        modern = ModernClient(whole)
        return modern, set(claims_in(modern.ask("server/discover").result["capabilities"]))
    declared: Json = {"extensions": {EVENTS_EXTENSION: {}}}
    told = LegacyClient(whole).initialize(capabilities=declared).result["capabilities"]
    shown = LegacyClient(whole).initialize(capabilities=CARD_CAPABILITY).result["capabilities"]
    return LegacyClient.opened(whole, capabilities=declared), {*claims_in(told), *claims_in(shown)}


# M30, M54, T1
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_each_capability_that_is_claimed_is_kept(whole: World, era: str) -> None:
    client, claims = claimed(whole, era)

    assert claims <= set(PROOFS), "a capability needs a proof that a finite response keeps it"
    assert [claim for claim in sorted(claims) if not PROOFS[claim](client)] == []


def test_no_proof_is_left_without_its_capability(whole: World) -> None:
    assert claimed(whole, "modern")[1] | claimed(whole, "legacy")[1] == set(PROOFS)


# ------------------------------------------------------------------------------------------------ hints to come back


# M31: some clients read a list again as soon as its time has passed
def test_a_client_that_reads_each_list_whenever_it_is_stale_makes_few_requests(modern: ModernClient) -> None:
    lists = ("server/discover", "tools/list", "resources/list", "resources/templates/list", "skills/list")

    pauses = [timedelta(milliseconds=modern.ask(method).result["ttlMs"]) for method in lists]

    assert sum(IDLE // pause for pause in pauses) <= AT_MOST


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
