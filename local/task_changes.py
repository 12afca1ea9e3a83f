"""How the tasks of a table change, as its stream tells it: for those who watch a stack, not for the stack itself."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from local.functions import Outcome, Returned
from stepwire.aws.items import TASK_PREFIX


@dataclass(frozen=True)
class TaskChange:
    """A task has another status than before."""

    task_id: str
    tool: str
    status: str  # as items have it, or "expired"


def change_of(record: Mapping[str, Any]) -> TaskChange | None:
    """Read a record of the stream; None where no task changes its status."""
    images = record["dynamodb"]
    key = str(images["Keys"].get("sk", {}).get("S", ""))
    old, new = images.get("OldImage", {}), images.get("NewImage", {})
    before, after = _text(old, "status"), _text(new, "status") if new else "expired"
    if not key.startswith(TASK_PREFIX) or before == after:
        return None
    return TaskChange(key.removeprefix(TASK_PREFIX), _text(new or old, "tool"), after)


def _text(image: Mapping[str, Any], name: str) -> str:
    return str(image.get(name, {}).get("S", ""))


@dataclass(frozen=True)
class TaskWatch:
    """Tells of each change; gets the records as a function would."""

    tell: Callable[[TaskChange], None]
    arn: str = "a watch of the tasks"

    def invoke(self, event: str) -> Outcome:
        """Take a batch."""
        for record in json.loads(event)["Records"]:
            if change := change_of(record):
                self.tell(change)
        return Returned("null")
