"""The page that a browser gets at the endpoint's URL, in each theme and size."""

import os
from pathlib import Path
from typing import Any, Final

import pytest

from tests.browser.chromium import needs_chromium, seen_by_chromium
from tests.clients.endpoint import serving
from tests.kits import World

pytestmark = [pytest.mark.long, needs_chromium]
PICTURES: Final = os.environ.get("BROWSER_PICTURES", "")
"""A folder for pictures of what the tests see."""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_cut_and_each_client_has_a_button_that_copies(theme: str, width: int) -> None:
    picture = [["picture", str(Path(PICTURES) / f"mcp-{theme}-{width}.png")]] if PICTURES else []

    with serving(World().server.handle) as url:
        steps: list[list[Any]] = [["open", url], ["overflows"], ["cut"], ["axe"], *picture, ["copies"]]
        plan = {"theme": theme, "width": width, "height": 800, "script": True, "steps": steps}
        seen = seen_by_chromium("endpoint.mjs", plan)

    status, overflows, cut, violations, *_, copied = seen["results"]
    assert (status, overflows, cut, violations) == (405, False, [], [])
    commands = [one["text"] for one in copied]
    assert len(commands) == len({one["name"] for one in copied}) == 5
    assert all(url.removeprefix("http") in one for one in commands)
    assert {one["said"] for one in copied} == {"Copied"}
