"""The hooks: a page of data that loads nothing, and a table whose lines are what the extras say themselves."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from stepwire.composition import EXTRAS, switched_on
from stepwire.hooks import Extra
from tests.template.document import sources

ROOT = Path(__file__).parents[2]
HOOKS = [name for name in Extra.__struct_fields__ if name != "name"]


def loaded_by(code: str) -> set[str]:
    """Return the modules of ours that a new interpreter has after this code."""
    show = "import sys; print(*(name for name in sys.modules if name.startswith('stepwire')))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{show}"], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def has_functions_of_its_own(name: str) -> bool:
    return any(re.search(rf"\bextras[./]{name}\b", text) for text in sources())


def test_the_hooks_load_nothing_of_ours() -> None:
    assert loaded_by("import stepwire.hooks") == {"stepwire", "stepwire.hooks"}


def test_there_are_few_hooks() -> None:
    assert len(HOOKS) <= 12


@pytest.mark.parametrize("name", EXTRAS)
def test_an_extra_is_imported_alone_and_uses_a_hook(name: str) -> None:
    loaded = loaded_by(f"from stepwire.composition import switched_on; switched_on([{name!r}])")
    extras = {module.split(".")[2] for module in loaded if module.startswith("stepwire.extras.")}

    (extra,) = switched_on([name])

    assert extras == {name}
    assert extra.name == name
    assert any(getattr(extra, hook) for hook in HOOKS) or has_functions_of_its_own(name)
