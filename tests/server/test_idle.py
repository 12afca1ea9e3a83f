"""A client that is connected and does nothing: what the server claims, and when its hints make a client come back."""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, Final, cast

import pytest
from msgspec.structs import replace

from stepwire.catalog.access import Access
from stepwire.catalog.live import LiveCatalog, Published
from stepwire.protocol.messages import CLIENT_CREDENTIALS_EXTENSION
from tests.extras import parts
from tests.kits import World
from tests.server.answers import Json
from tests.server.clients import TASKS_EXTENSION, LegacyClient, ModernClient
from tests.server.proofs import Client, can_ask
from tests.unit.catalog.test_live import Source, shard

IDLE: Final = timedelta(minutes=10)
OF_EXTRAS: Final = parts("idle")
AT_MOST: Final = 10
"""Requests in ten idle minutes; the same as in docs/clients.md."""


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


PROOFS: Final[Mapping[str, Callable[[Client], bool]]] = {
    "tools": can_ask("tools/list"),
    "tasks": gets_a_task,
    "tasks.list": can_ask("tasks/list"),
    "tasks.cancel": can_cancel,
    "tasks.requests": gets_a_task,
    "tasks.requests.tools": gets_a_task,
    "tasks.requests.tools.call": gets_a_task,
    "extensions": lambda _: True,
    f"extensions.{TASKS_EXTENSION}": gets_a_task,
    # The issuer keeps this one: it gives programs tokens. tests/sign_in has its own.
    f"extensions.{CLIENT_CREDENTIALS_EXTENSION}": lambda _: True,
    **{claim: proof for part in OF_EXTRAS for claim, proof in part.PROOFS.items()},
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
    declared = {name: one for part in OF_EXTRAS for name, one in part.DECLARED.items()}
    shown = LegacyClient(whole).initialize(capabilities={"extensions": declared}).result["capabilities"]
    return LegacyClient.opened(whole, capabilities={"extensions": declared}), set(claims_in(shown))


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
    lists = {"server/discover", "tools/list", *(name for part in OF_EXTRAS for name in part.LISTS)}

    pauses = [timedelta(milliseconds=modern.ask(method).result["ttlMs"]) for method in lists]

    assert sum(IDLE // pause for pause in pauses) <= AT_MOST
