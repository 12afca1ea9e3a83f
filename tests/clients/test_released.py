"""The table of released clients has the versions that are installed, and no row that is tried with nothing."""

import json
import tomllib
from typing import Any, Final

from tests.clients.programs import FOLDER
from tests.clients.released import RELEASED
from tests.docs.pages import ROOT

NAMES_OF_PYTHON: Final = ("mcp", "fastmcp")


def pinned() -> set[tuple[str, str]]:
    """Return the pins of what the tests install, as the table names them."""
    groups: dict[str, list[Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
    parts = [one.partition("==") for name in ("dev", "legacy-client", "fastmcp") for one in groups[name]]
    node: dict[str, str] = json.loads((FOLDER / "package.json").read_text("utf-8"))["dependencies"]
    return {
        *((name, version) for name, _, version in parts if name in NAMES_OF_PYTHON),
        *((name.rpartition("/")[2], version) for name, version in node.items()),
    }


def test_the_table_has_each_client_at_the_version_that_is_installed() -> None:
    assert {(one.library.name, one.library.version) for one in RELEASED} == pinned()


def test_each_row_of_the_table_has_a_trial_and_a_label_of_its_own() -> None:
    assert [one.label for one in RELEASED if not (one.quick or one.long)] == []
    assert len({one.label for one in RELEASED}) == len(RELEASED)
