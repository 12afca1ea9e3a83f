"""Changes of tasks, read from the stream of their table: for observers of a stack, and for what extras say of them."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from stepwire.aws.storage.items import TASK_PREFIX
from stepwire.principal import Principal
from stepwire_local.lambdas.invocations import Outcome, Returned

Record = Mapping[str, Any]
"""A record of a stream."""


@dataclass(frozen=True)
class TaskChange:
    """A change of a task's status."""

    owner: Principal
    task_id: str
    tool: str
    status: str  # as items have it, or "expired"


def change_of(record: Record) -> TaskChange | None:
    """Return the change that a stream record describes; None if no task's status changed."""
    images = record["dynamodb"]
    key = _key_in(record)
    old, new = images.get("OldImage", {}), images.get("NewImage", {})
    before, after = _text(old, "status"), _text(new, "status") if new else "expired"
    if not key.startswith(TASK_PREFIX) or before == after:
        return None
    known = json.loads(_text(new or old, "task"))
    owner = Principal(images["Keys"]["pk"]["S"])
    return TaskChange(owner, key.removeprefix(TASK_PREFIX), known["work"]["tool"], after)


def _text(image: Mapping[str, Any], name: str) -> str:
    return str(image.get(name, {}).get("S", ""))


@dataclass(frozen=True)
class Told:
    """What an extra says on the terminal of a change of a task."""

    event: str
    """Its kind, for programs."""
    about: str
    lines: Sequence[str]
    facts: Mapping[str, Any]
    """The same for programs."""
    page: str = ""
    """The fragment of the console's page where somebody is to do something; empty: nobody is."""


class Observer(Protocol):
    """Receives the changes."""

    def task_changed(self, change: TaskChange) -> None:
        """Receive a change of a task's status."""
        ...


@dataclass(frozen=True)
class TaskWatch:
    """Reports each change; receives stream records as a function does."""

    observer: Observer
    readers: Iterable[Callable[[Record], Iterable[Told]]] = ()
    """Of extras: they receive each write of a task's item."""
    tell: Callable[[Told], None] = lambda _: None
    arn: str = "a watch of the tasks"

    def invoke(self, event: str) -> Outcome:
        """Process a batch."""
        for record in json.loads(event)["Records"]:
            if change := change_of(record):
                self.observer.task_changed(change)
            if _key_in(record).startswith(TASK_PREFIX):
                for told in (one for read in self.readers for one in read(record)):
                    self.tell(told)
        return Returned("null")


def _key_in(record: Record) -> str:
    return str(record["dynamodb"]["Keys"].get("sk", {}).get("S", ""))
