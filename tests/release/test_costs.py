"""What a release says that an idle stack costs: the core, and what each extra adds."""

import pytest

from benchmarks.cost import idle
from release.__main__ import ROOT, idle_with
from stepwire_cli.deployment.parts import extras_of


def test_the_core_and_what_each_extra_adds_is_what_all_cost() -> None:
    core = idle_with().dollars

    added = {name: idle_with(name).dollars - core for name in extras_of(ROOT)}

    assert core + sum(added.values()) == pytest.approx(idle.total())
    assert all(dollars >= 0 for dollars in added.values())
