"""The sample events in `events/`, in the shapes that AWS sends."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from stepwire.aws.storage.items import item_of, task_of
from stepwire.tasks.inputs import Mode
from stepwire.tasks.task import Origin

FOLDER = Path(__file__).parents[1] / "events"


def recorded(name: str) -> dict[str, Any]:
    """Read a sample event into a new object, which the test may change.

    The name of one that only an extra has begins with its folder, `extras/NAME/`.
    """
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def task_of_the_events() -> dict[str, Any]:
    """Return the item of the sample events' task before those events; its times are those of today."""
    (record,) = recorded("task_expired")["Records"]
    now, origin = datetime.fromtimestamp(int(time.time()), UTC), Origin(frozenset({Mode.FORM}))
    task = task_of(record["dynamodb"]["OldImage"])
    return item_of(replace(task, created_at=now, last_updated_at=now, checked_at=now, origin=origin))
