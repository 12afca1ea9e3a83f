"""Each scene of the game day is played, and the page has what was typed and seen."""

from pathlib import Path

import pytest

from tools.game_day.__main__ import PAGE, played, shown_in
from tools.game_day.scenes import SCENES


@pytest.mark.parametrize(
    "names", [pytest.param([name], marks=pytest.mark.long if number else []) for number, name in enumerate(SCENES)]
)
def test_a_scene_is_played_as_the_page_tells_it(names: list[str], tmp_path: Path) -> None:
    (scene,) = played(names, tmp_path)

    (shown,) = [row for row in shown_in(PAGE.read_text(encoding="utf-8")) if row.startswith(f"| {scene.name} |")]
    assert scene.row().rpartition("|")[0].rpartition("|")[0] == shown.rpartition("|")[0].rpartition("|")[0]
