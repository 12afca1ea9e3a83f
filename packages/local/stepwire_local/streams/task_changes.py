"""Changes of tasks, read from the stream of their table: for observers of a stack, not for the stack itself."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stepwire.aws.storage.items import TASK_PREFIX
from stepwire_local.lambdas.functions import Outcome, Returned


@dataclass(frozen=True)
class TaskChange:
    """A change of a task's status."""

    task_id: str
    tool: str
    status: str  # as items have it, or "expired"


def change_of(record: Mapping[str, Any]) -> TaskChange | None:
    """Return the change that a stream record describes; None if no task's status changed."""
    images = record["dynamodb"]
    key = str(images["Keys"].get("sk", {}).get("S", ""))
    old, new = images.get("OldImage", {}), images.get("NewImage", {})
    before, after = _text(old, "status"), _text(new, "status") if new else "expired"
    if not key.startswith(TASK_PREFIX) or before == after:
        return None
    known = json.loads(_text(new or old, "task"))
    return TaskChange(key.removeprefix(TASK_PREFIX), known["work"]["tool"], after)


def _text(image: Mapping[str, Any], name: str) -> str:
    return str(image.get(name, {}).get("S", ""))


@dataclass(frozen=True)
class TaskWatch:
    """Reports each change; receives stream records as a function does."""

    tell: Callable[[TaskChange], None]
    arn: str = "a watch of the tasks"

    def invoke(self, event: str) -> Outcome:
        """Process a batch."""
        for record in json.loads(event)["Records"]:
            if change := change_of(record):
                self.tell(change)
        return Returned("null")
