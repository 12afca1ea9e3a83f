"""M1: a run has a limited time: what it leaves keeps its predecessor and comes first, and owners take turns."""

import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from stepwire.manifests.manifest import Manifest
from stepwire.manifests.published import Compiled, Endpoint, Registered, earlier_in
from stepwire.manifests.reading import read_manifest
from stepwire.manifests.registration import Compiler
from tests.unit.catalog.registrations import GOOD, PREFIX, Machines, registered

RUN: Final = 90.0  # seconds
WORST: Final = {f"p{number}": {"default": 1} for number in range(390)}


@dataclass
class Registry:
    """What is registered, and the runs that compile it, each of `RUN` seconds by a clock that the test moves."""

    tools: dict[str, Registered] = field(default_factory=dict[str, Registered])
    owners: dict[str, str] = field(default_factory=dict[str, str])
    cost: dict[str, float] = field(default_factory=dict[str, float])
    """Seconds that each tool's manifest takes; the others take 0.01."""
    read: list[str] = field(default_factory=list[str])
    """Names of the manifests that the last run read."""
    published: Compiled = field(default_factory=lambda: Compiled({}))

    def register(self, *names: str, owner: str = "", cost: float = 0.01, **more: Any) -> None:
        for name in names:
            self.tools[name] = registered(tool=name, name=name, **more)
            self.owners[self.tools[name].source] = owner
            self.cost[name] = cost

    def run(self, *, recheck: bool = False) -> Compiled:
        now = 0.0
        self.read.clear()

        def read(text: str, extras: Collection[str]) -> Manifest:
            nonlocal now
            name = json.loads(text)["name"]
            now += self.cost[name]
            self.read.append(name)
            return read_manifest(text, extras)

        compiler = Compiler(
            Endpoint("mine", PREFIX, True),
            Machines(),
            recheck,
            has_time=lambda: now < RUN,
            owners=lambda: self.owners,
            read=read,
        )
        earlier = earlier_in(self.published.refusals_text())
        self.published = compiler.compile(self.tools.values(), self.published.tools, earlier)
        return self.published

    @property
    def titles(self) -> Mapping[str, str]:
        return {name: one.tool.title or "" for name, one in self.published.tools.items()}


def many(count: int, prefix: str = "tool") -> list[str]:
    return [f"{prefix}_{number:03}" for number in range(count)]


def test_every_run_publishes_what_it_has_done_and_the_next_one_begins_with_the_rest() -> None:
    registry = Registry()
    registry.register(*many(500), cost=1.0)

    served = [len(registry.run().tools) for _ in range(6)]

    assert served == [90, 180, 270, 360, 450, 500]
    assert registry.published.waiting == ()
    assert registry.published.refusals == ()


def test_what_is_left_says_so_and_keeps_its_predecessor() -> None:
    registry = Registry()
    registry.register(*many(100), cost=0.01)
    registry.run()
    registry.register(*many(100), cost=1.0, title="New")

    found = registry.run()

    assert sum(title == "New" for title in registry.titles.values()) == 90
    assert len(found.tools) == 100
    assert found.waiting == tuple(many(100)[90:])
    assert {one.reason for one in found.refusals} == {
        "it waits for its turn: this run had no time left for it, and the next one begins with it"
    }
    assert all(one.serves_previous for one in found.refusals)


def test_what_is_changed_in_the_meantime_does_not_come_before_what_waits() -> None:
    registry = Registry()
    registry.register(*many(120), cost=1.0)
    registry.run()
    registry.register(*many(90), cost=1.0, title="Changed again and again")

    registry.run()

    assert registry.read[:30] == many(120)[90:]
    assert set(registry.published.tools) == set(many(120))


def test_one_owner_s_worst_manifests_do_not_keep_another_s_waiting() -> None:
    registry = Registry()
    registry.register(*many(500, "a_hog"), owner="hog", cost=1.0)
    registry.run()
    registry.register(*many(500, "a_hog"), owner="hog", cost=1.0, title="Changed")
    registry.register(*many(20, "z_tool"), owner="team")

    registry.run()

    assert set(many(20, "z_tool")) <= set(registry.published.tools)


def test_a_newcomer_is_served_beside_more_greedy_owners_than_a_run_has_time_for() -> None:
    registry, owners = Registry(), int(RUN) + 2

    def change_all(title: str) -> None:
        for number in range(owners):
            registry.register(*many(5, f"owner_{number:03}"), owner=f"owner {number}", cost=1.0, title=title)

    change_all("First")
    registry.run()
    change_all("Changed")
    registry.register("z_tool", owner="team", cost=1.0)

    for number in range(2):
        registry.run()
        change_all(f"Changed again {number}")

    assert "z_tool" in registry.published.tools, "each owner has one turn before anybody's second"


def test_a_refused_manifest_is_not_read_again_until_it_changes_or_the_schedule_comes() -> None:
    registry = Registry()
    registry.register("tool", task_support="often")
    first = registry.run()

    again = registry.run()
    on_an_event = list(registry.read)
    registry.run(recheck=True)

    assert again == first
    assert on_an_event == []
    assert registry.read == ["tool"]


def test_the_schedule_looks_at_all_tools_in_as_many_runs_as_it_takes() -> None:
    registry = Registry()
    registry.register(*many(200), cost=0.01)
    registry.run()
    registry.cost = dict.fromkeys(many(200), 1.0)

    seen = set[str]()
    for _ in range(3):
        registry.run(recheck=True)
        seen |= set(registry.read)
        registry.run()  # an event in between

    assert seen == set(many(200))
    assert registry.published.refusals == ()


def manifest(number: int) -> Registered:
    schema = {"type": "object", "properties": {**WORST, f"q{number}": {}}}
    return Registered(f"t{number}", f"/{number}", json.dumps({**GOOD, "name": f"t{number}", "input_schema": schema}))


@pytest.mark.parametrize("count", [25, pytest.param(500, marks=pytest.mark.long)])
def test_hundreds_of_defaults_are_checked_by_one_validator(count: int) -> None:
    tools = [manifest(number) for number in range(count)]
    assert len(tools[0].text) > 8_192

    began = time.process_time()
    found = Compiler(Endpoint("mine", PREFIX, True), Machines(), recheck=False).compile(tools, {})
    seconds = time.process_time() - began

    assert len(found.tools) == count
    assert seconds / count < 0.5, "each took 1.65 s where each default was compiled by itself, and takes 0.06 s now"
