"""A limit that tools of several owners share: one of the release, the others registered from other stacks."""

from collections.abc import Sequence
from typing import Any, Final

import pytest

from stepwire.catalog.live import LiveCatalog, Published
from stepwire.extras.lines.limits import line_key
from stepwire.manifests.published import Compiled, Registered
from stepwire.manifests.reading import read_manifest
from stepwire.principal import Principal
from stepwire.tasks.ids import task_key_from_execution
from tests.fakes import FixedClock
from tests.kits import ALICE, BOB, OUTPUT, World, catalog_of
from tests.server.clients import ModernClient
from tests.unit.catalog.registrations import compiled, reason, registered

OWNER: Final = "settle"
"""The tool of the release whose limit it is."""
SCHEMA: Final = {
    "type": "object",
    "properties": {"customer": {"type": "string"}},
    "required": ["customer"],
    "additionalProperties": False,
}
ARGUMENTS: Final = {"customer": "C-7"}
CAROL: Final = Principal("0" * 31 + "c")


def manifest(name: str, **concurrency: Any) -> Registered:
    """Return the manifest of a tool with a limit, as its owner registers it."""
    return registered(tool=name, name=name, input_schema=SCHEMA, concurrency=concurrency)


class Registry:
    """What function catalog has published of what owners have registered."""

    def __init__(self, found: Compiled) -> None:
        self._shards = found.shards()

    def read(self, known: str | None) -> Published | None:
        return None if known else Published("1", self._shards)


def serving(owner: Registered, *others: Registered) -> World:
    """Return a server whose release has the tool of the owner, and where others have registered theirs."""
    clock, release = FixedClock(), catalog_of(read_manifest(owner.text).tool())
    found = compiled(*others)
    assert found.refusals == ()
    return World(catalog=LiveCatalog(release, Registry(found), clock.now, lambda _: None), clock=clock)


def start(world: World, tool: str, caller: Principal = ALICE) -> str:
    return ModernClient(world, caller).call(tool, ARGUMENTS).id_in()


def running(world: World) -> Sequence[str]:
    """Return the ids of the tasks whose executions run."""
    keys = (task_key_from_execution(one.name) for one in world.workflows.running())
    return [key.task_id for key in keys if key]


def test_tools_of_two_owners_share_one_limit_with_the_numbers_of_the_one_whose_it_is() -> None:
    world = serving(manifest(OWNER, most=2, queue={"most": 1}, shared_with=["ship"]), manifest("ship", pool=OWNER))

    begun = [start(world, "ship"), start(world, OWNER, BOB)]
    waiting = ModernClient(world, CAROL).call("ship", ARGUMENTS).result
    refused = ModernClient(world).call(OWNER, ARGUMENTS)

    assert running(world) == begun
    assert waiting["statusMessage"] == "Next in line."
    assert (refused.code, refused.error["data"]["limit"]) == (-31002, "waiting calls")
    world.succeed(begun[1], OUTPUT)
    assert running(world) == [begun[0], waiting["taskId"]], "the end of the one lets the other begin"


def test_callers_of_both_tools_take_turns_in_one_order() -> None:
    world = serving(manifest(OWNER, most=1, shared_with=["ship-*"]), manifest("ship-fast", pool=OWNER))
    first = start(world, "ship-fast")
    flood = [start(world, "ship-fast") for _ in range(3)]
    others = [start(world, OWNER, BOB), start(world, OWNER, CAROL)]

    order = list[str]()
    for _ in (first, *flood, *others):
        order += running(world)
        world.succeed(order[-1], OUTPUT)

    assert order == [first, flood[0], *others, *flood[1:]]


@pytest.mark.parametrize(("own", "per"), [("customer", "customer"), ("caller", "caller")])
def test_what_is_counted_is_the_same_in_both_tools(own: str, per: str) -> None:
    world = serving(manifest(OWNER, most=1, per=own, shared_with=["*"]), manifest("ship", pool=OWNER, per=per))

    begun = start(world, OWNER)
    start(world, "ship")

    assert running(world) == [begun]


@pytest.mark.parametrize(
    ("owner", "stranger", "fault"),
    [
        ({"most": 1}, {}, "settle does not share its limit with it (concurrency.shared_with of settle)"),
        ({"most": 1, "shared_with": ["shi", "shipper", "other-*"]}, {}, "settle does not share its limit with it"),
        ({"most": 1, "shared_with": ["*"]}, {"pool": "nobody"}, "there is no tool nobody with a limit of its own"),
        ({"pool": "other"}, {}, "there is no tool settle with a limit of its own"),
        ({"most": 1, "shared_with": ["*"]}, {"per": "customer"}, "per is not what settle counts for: leave it out"),
        ({"most": 1, "per": "caller", "shared_with": ["*"]}, {}, "per is not what settle counts for: write caller"),
        ({"most": 1, "per": "customer", "shared_with": ["*"]}, {}, "counts for: name an argument"),
    ],
)
def test_a_tool_that_does_not_fit_the_limit_starts_nothing_and_is_in_no_line(
    owner: dict[str, Any], stranger: dict[str, Any], fault: str
) -> None:
    world = serving(manifest(OWNER, **owner), manifest("ship", **{"pool": OWNER, **stranger}))

    refused = ModernClient(world, BOB).call("ship", ARGUMENTS)

    assert refused.error["message"].startswith("The workflow of ship cannot run here: ")
    assert fault in refused.error["message"]
    assert (running(world), world.store.tasks, world.lines.states) == ([], {}, {})


@pytest.mark.parametrize(
    ("theirs", "left_out"),
    [
        ({"most": 1_000}, "most"),
        ({"start": {"most": 1, "every": "P1D"}, "queue": {"most": 0}}, "queue, start"),
        ({"shared_with": ["friend"]}, "shared_with"),
    ],
)
def test_nobody_changes_the_limit_of_another_owner(theirs: dict[str, Any], left_out: str) -> None:
    refused = compiled(manifest("ship", pool=OWNER, **theirs))

    assert refused.tools == {}
    assert reason(refused).endswith(f"the numbers, the order and the sharing are of settle: leave out {left_out}")


def test_a_limit_of_the_same_numbers_is_another_one() -> None:
    world = serving(manifest(OWNER, most=1), manifest("ship", most=1))

    begun = [start(world, OWNER), start(world, "ship")]

    assert running(world) == begun
    assert set(world.lines.states) == {line_key(OWNER), line_key("ship")}
