"""The live catalog: read when tools are needed, and at most once in 30 seconds."""

from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from msgspec.structs import replace

from stepwire.catalog.live import REREAD_AFTER, LiveCatalog, Published
from stepwire.catalog.tools import FORMAT, CompiledTool, catalog_text
from stepwire.errors import CatalogError, StoreBusy, UnknownTool
from tests.fakes import FixedClock
from tests.kits import OPTIONAL, catalog_of, keeping, plan_of, state_machine_arn

REGISTERED = replace(OPTIONAL, plan=plan_of(state_machine_arn("Registered")))


def shard(*names: str) -> str:
    return catalog_text(CompiledTool(replace(REGISTERED, name=name), "a parameter") for name in names)


@dataclass
class Source:
    """A source that counts how often it is read."""

    published: Published | None = None
    reads: list[str | None] = field(default_factory=list[str | None])
    is_silent: bool = False

    def read(self, known: str | None) -> Published | None:
        self.reads.append(known)
        if self.is_silent:
            raise StoreBusy
        is_new = self.published is not None and self.published.version != known
        return self.published if is_new else None


@dataclass
class Live:
    """A live catalog with the release's tool `optional`."""

    source: Source = field(default_factory=Source)
    clock: FixedClock = field(default_factory=FixedClock)
    troubles: list[Exception] = field(default_factory=list[Exception])

    extras: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        release, now = catalog_of(OPTIONAL), self.clock.now
        self.catalog = LiveCatalog(release, self.source, now, self.troubles.append, self.extras)

    def names(self) -> list[str]:
        return [tool.name for tool in self.catalog.in_order]


def test_registered_tools_are_sorted_among_those_of_the_release() -> None:
    live = Live(Source(Published("1", (shard("a", "z"), shard("zz")))))

    assert live.names() == ["a", "optional", "z", "zz"]
    assert live.catalog.find("zz").plan == plan_of(state_machine_arn("Registered"))
    assert set(live.catalog.tools) == set(live.names())


def test_a_tool_of_the_release_hides_a_registered_one_of_its_name() -> None:
    live = Live(Source(Published("1", (shard("optional"),))))

    assert live.catalog.find("optional").plan == OPTIONAL.plan


@pytest.mark.parametrize(
    ("extras", "served"), [((), ["optional", "plain"]), (("no_such_extra",), ["optional", "plain", "red"])]
)
def test_a_tool_is_not_served_without_the_extras_that_have_a_part_in_it(
    extras: tuple[str, ...], served: list[str]
) -> None:
    tools = (
        keeping(replace(REGISTERED, name="red"), no_such_extra=Published("", ())),
        replace(REGISTERED, name="plain"),
    )
    text = catalog_text(CompiledTool(tool, "a parameter") for tool in tools)

    live = Live(Source(Published("1", (text,))), extras=extras)

    assert live.names() == served
    assert [str(one) for one in live.troubles] == ["red is not served without the extras no_such_extra"] * (not extras)


def test_the_catalog_is_read_when_tools_are_needed_and_once_in_30_seconds() -> None:
    live = Live()
    assert live.source.reads == []

    for _ in range(3):
        live.names()
    live.clock.advance(seconds=(REREAD_AFTER - timedelta(seconds=1)).total_seconds())
    live.names()
    assert live.source.reads == [None]

    live.clock.advance(seconds=1)
    live.names()
    assert live.source.reads == [None, None]


def test_a_change_is_seen_after_30_seconds() -> None:
    live = Live(Source(Published("1", (shard("a"),))))
    assert live.names() == ["a", "optional"]

    live.source.published = Published("2", ())
    assert live.names() == ["a", "optional"]
    live.clock.advance(seconds=30)

    assert live.names() == ["optional"]
    with pytest.raises(UnknownTool):
        live.catalog.find("a")
    assert live.source.reads == [None, "1"]


def test_tools_are_unchanged_while_the_table_is_unavailable() -> None:
    live = Live(Source(Published("1", (shard("a"),))))
    live.names()

    live.source.is_silent = True
    live.clock.advance(seconds=30)

    assert live.names() == ["a", "optional"]
    assert [type(trouble) for trouble in live.troubles] == [StoreBusy]


def test_an_instance_that_could_not_read_the_catalog_fails_instead_of_denying_a_tool() -> None:
    live = Live(Source(is_silent=True))

    with pytest.raises(StoreBusy):
        live.catalog.find("a")
    live.source.is_silent, live.source.published = False, Published("1", (shard("a"),))

    assert live.catalog.find("a").name == "a"


def test_a_catalog_of_another_version_is_ignored() -> None:
    live = Live(Source(Published("1", (shard("a").replace(f'"format":{FORMAT}', '"format":0'), shard("b")))))

    assert live.names() == ["b", "optional"]
    assert [type(trouble) for trouble in live.troubles] == [CatalogError]
