"""The template names in EXTRAS each extra that adds something to a function of the core, and no other."""

from pathlib import Path
from typing import Any, Final

import pytest

from stepwire.composition import EXTRAS, switched_on
from stepwire.hooks import Extra
from stepwire_cli.deployment.parts import extras_of, write_stack
from stepwire_local.cloudformation.intrinsics import resolve
from stepwire_local.cloudformation.template import parse
from tests.template.chosen import OFF, ON, stack
from tests.template.document import ROOT

TEMPLATE: Final = ROOT / "stack.yaml"
WITH_HOOKS: Final = [one.name for one in switched_on(EXTRAS) if one != Extra(name=one.name)]
"""Those of the table that add a hook: no other has a part in a function of the core."""


def named_in(path: Path, **given: str) -> list[str]:
    """Return the extras that the functions of such a stack have, by a template."""
    found: dict[str, Any] = resolve(parse(path)["Globals"], stack("none", **given))["Function"]["Environment"]
    return [name for name in found["Variables"]["EXTRAS"].split(",") if name]


def test_functions_have_each_extra_of_the_table_that_adds_a_hook() -> None:
    assert sorted(named_in(TEMPLATE, **ON)) == sorted(WITH_HOOKS)
    assert set(named_in(TEMPLATE, **OFF)) <= set(WITH_HOOKS)


@pytest.mark.parametrize("name", WITH_HOOKS)
def test_an_extra_that_is_not_chosen_is_not_named(name: str, tmp_path: Path) -> None:
    path = tmp_path / "stack.yaml"
    write_stack(ROOT, path, set(extras_of(ROOT)) - {name})

    assert named_in(path, **ON) == [one for one in named_in(TEMPLATE, **ON) if one != name]
