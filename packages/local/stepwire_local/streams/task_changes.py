"""Changes of tasks and of their questions, read from the stream of their table: for observers of a stack."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from stepwire.aws.status_changes_function import change_in
from stepwire.aws.storage.items import TASK_PREFIX
from stepwire.principal import Principal
from stepwire.subscriptions.approvals import ApprovalChange, approval_changes
from stepwire_local.lambdas.functions import Outcome, Returned


@dataclass(frozen=True)
class TaskChange:
    """A change of a task's status."""

    owner: Principal
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
    owner = Principal(images["Keys"]["pk"]["S"])
    return TaskChange(owner, key.removeprefix(TASK_PREFIX), known["work"]["tool"], after)


def _text(image: Mapping[str, Any], name: str) -> str:
    return str(image.get(name, {}).get("S", ""))


def questions_in(record: Mapping[str, Any]) -> Sequence[ApprovalChange]:
    """Return what a stream record says of the questions of a task to others than its caller."""
    key = str(record["dynamodb"]["Keys"].get("sk", {}).get("S", ""))
    return tuple(approval_changes(change_in(dict(record)))) if key.startswith(TASK_PREFIX) else ()


class Observer(Protocol):
    """Receives the changes."""

    def task_changed(self, change: TaskChange) -> None:
        """Receive a change of a task's status."""
        ...

    def question_changed(self, change: ApprovalChange) -> None:
        """Receive what happened to a question that somebody other than the caller answers."""
        ...


@dataclass(frozen=True)
class TaskWatch:
    """Reports each change; receives stream records as a function does."""

    observer: Observer
    arn: str = "a watch of the tasks"

    def invoke(self, event: str) -> Outcome:
        """Process a batch."""
        for record in json.loads(event)["Records"]:
            if change := change_of(record):
                self.observer.task_changed(change)
            for question in questions_in(record):
                self.observer.question_changed(question)
        return Returned("null")
