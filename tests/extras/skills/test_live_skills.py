"""The live skills: read when skills are asked for, and at most once in 30 seconds."""

from collections.abc import Sequence

import pytest

from stepwire.catalog.live import REREAD_AFTER, Published
from stepwire.catalog.tools import FORMAT, catalog_text
from stepwire.errors import CatalogError, StoreBusy
from stepwire.extras.skills.skill import LiveSkills, Skill, skills_in
from tests.fakes import FixedClock


def skill(tool: str) -> Skill:
    return Skill(tool, f"skill://tools/{tool}/x", {"name": "x", "description": "X."}, {"SKILL.md": "x"})


class Source:
    """A source that counts how often it is read."""

    def __init__(self, *shards: str) -> None:
        self.published, self.reads, self.is_silent = Published("1", shards), 0, False

    def read(self, known: str | None) -> Published | None:
        self.reads += 1
        if self.is_silent:
            raise StoreBusy
        return None if known == self.published.version else self.published


class Live:
    """Skills of the release's tool `own`, and what is published."""

    def __init__(self, *shards: str) -> None:
        self.source, self.clock, self.troubles = Source(*shards), FixedClock(), list[Exception]()
        report = self.troubles.append
        self.skills = LiveSkills((skill("own"),), {"own"}, self.source.read, self.clock.now, report)

    def tools(self) -> Sequence[str]:
        return [one.tool for one in self.skills()]


def shard(*tools: str) -> str:
    return catalog_text((), {"skills": [skill(tool) for tool in tools]})


def test_skills_of_the_release_and_of_owners_are_served_together() -> None:
    live = Live(shard("a", "b"), shard("c"))

    assert live.tools() == ["own", "a", "b", "c"]


def test_a_registered_skill_is_not_served_with_a_tool_of_the_release() -> None:
    assert Live(shard("own", "a")).tools() == ["own", "a"]


def test_the_source_is_asked_once_in_half_a_minute() -> None:
    live = Live(shard("a"))
    live.tools()
    live.source.published = Published("2", (shard("b"),))

    before = live.tools()
    live.clock.advance(seconds=REREAD_AFTER.total_seconds())

    assert (before, live.tools(), live.source.reads) == (["own", "a"], ["own", "b"], 2)


def test_a_source_that_fails_later_leaves_what_was_read() -> None:
    live = Live(shard("a"))
    live.tools()
    live.source.is_silent = True
    live.clock.advance(seconds=REREAD_AFTER.total_seconds())

    assert live.tools() == ["own", "a"]
    assert [type(one) for one in live.troubles] == [StoreBusy]


def test_a_source_that_never_answered_is_weather() -> None:
    live = Live()
    live.source.is_silent = True

    with pytest.raises(StoreBusy):
        live.tools()


@pytest.mark.parametrize(
    "text", ['{"format": 999, "tools": []}', '{"format": 1, "extras": {"skills": [{"tool": 7}]}}', "[]"]
)
def test_what_another_version_compiled_is_reported_and_not_served(text: str) -> None:
    live = Live(text, shard("a"))

    assert live.tools() == ["own", "a"]
    assert [type(one) for one in live.troubles] == [CatalogError]


def test_a_catalog_without_skills_has_none() -> None:
    assert skills_in(catalog_text(())) == ()
    assert f'"format":{FORMAT}' in catalog_text(())
