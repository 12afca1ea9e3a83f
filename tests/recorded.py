"""The sample events in `events/`, in the shapes that AWS sends."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "events"


def recorded(name: str) -> dict[str, Any]:
    """Read a sample event into a new object, which the test may change.

    The name of one that only an extra has begins with its folder, `extras/NAME/`.
    """
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
