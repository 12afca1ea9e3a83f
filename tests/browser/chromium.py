"""The Chromium of this machine, for tests that look at a page. Nothing here downloads a browser.

A test that needs it has the mark `needs_chromium`; the programs that drive it are beside this file, in `node/`.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from tests.npm import install, node
from tests.waiting import HANG_GUARD

FOLDER: Final = Path(__file__).parent / "node"
NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """Return the program, which the variable CHROMIUM can name; None if there is none."""
    named = os.environ.get("CHROMIUM")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, NAMES)), None)


needs_chromium: Final = pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine: run `make browser`")


def seen_by_chromium(program: str, plan: dict[str, Any]) -> Any:
    """Run a program of `node/`; return what it saw, from its JSON.

    Args:
        program: its file.
        plan: what it shall do; the path of Chromium is added.
    """
    install(FOLDER)
    ended = node(FOLDER, [program], HANG_GUARD, json.dumps({**plan, "chromium": chromium()}))
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)
