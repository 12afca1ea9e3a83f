"""A release is installed, deployed and used in an empty home, without a clone."""

import os
from pathlib import Path

import pytest

from tests.deployed.fresh_home import DIST, lived


def test_what_is_released_is_enough_for_a_tool_that_a_released_client_calls(tmp_path: Path) -> None:
    if os.environ.get("WITH"):
        pytest.skip("WITH is set: a release has all extras")
    if not list(DIST.glob("*.whl")):
        pytest.skip("dist/ has no wheels: run `make release`")

    home = lived(tmp_path / "home")

    shown = dict(home.steps)
    assert shown["stepwire --help"] < 1, "docs/e2e.md says how long it took on a machine without other work"
