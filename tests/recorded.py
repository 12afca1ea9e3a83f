"""The sample events in `events/`, one a case, in the shapes that AWS sends."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "events"


def recorded(name: str) -> dict[str, Any]:
    """Read a sample event anew; what a test changes in it is its own."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
