"""The released TypeScript clients, run with the Node.js that comes as a Python package."""

import json
from pathlib import Path
from typing import Any, Final

from tests.npm import node

FOLDER: Final = Path(__file__).parent / "node"
_RUN_SECONDS: Final = 120


def seen_by(url: str, plan: dict[str, Any]) -> dict[str, Any]:
    """Run driver.mjs; return what the client of the plan saw."""
    ended = node(FOLDER, ["driver.mjs", url], _RUN_SECONDS, json.dumps(plan))
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)
