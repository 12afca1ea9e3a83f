"""An endpoint without events: its functions load nothing of them."""

from pathlib import Path

import pytest

from stepwire.composition import EXTRAS
from tests.unit.aws.test_imports import after, catalog_in

OTHERS = ",".join(EXTRAS.keys() - {"events"})
CODE = {
    "mcp": "import app; app.handler.warm()",
    "status_changes": "import app; app.handler.services; [one.on_change.types() for one in app.handler.services.extras"
    " if one.on_change]",
}


def loaded(function: str, folder: Path, extras: str) -> set[str]:
    """Return the extras of which a function has loaded something, once it knows its settings."""
    environment = {**catalog_in(folder), "TABLE_NAME": "tasks", "EXTRAS": extras}
    modules = after(CODE[function], function, environment)["modules"]
    return {module.split(".")[2] for module in modules if module.startswith("stepwire.extras.")}


@pytest.mark.parametrize("function", CODE)
def test_a_function_loads_nothing_of_events_that_are_off(function: str, tmp_path: Path) -> None:
    assert "events" in loaded(function, tmp_path, ",".join(EXTRAS))
    assert "events" not in loaded(function, tmp_path, OTHERS)
    assert loaded(function, tmp_path, "") == set()
