"""Follow a stack while CloudFormation changes it, by its events.

The rule: whoever stops following stops nothing. The cause of a failure is its first event: the others follow from it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeAlias

from stepwire_cli.account.calls import Calls
from stepwire_cli.account.errors import AccountError
from stepwire_cli.deployment.stack import Readiness, Stack, described

PAUSE: Final = 2.0  # seconds between two looks at AWS
_FAILED: Final = "_FAILED"
_IN_PROGRESS: Final = "_IN_PROGRESS"


Sleep: TypeAlias = Callable[[float], None]
"""Waits for so many seconds."""


@dataclass(frozen=True)
class Event:
    """Something that happened to a resource of a stack."""

    event_id: str
    at: datetime
    name: str
    kind: str
    status: str
    why: str

    @property
    def words(self) -> str:
        """The status, in words."""
        return self.status.lower().replace("_", " ")

    @property
    def is_beginning(self) -> bool:
        """Tell whether it only says that something began."""
        return self.status.endswith(_IN_PROGRESS)

    @property
    def is_failure(self) -> bool:
        """Tell whether the resource could not be made, changed or deleted."""
        return self.status.endswith(_FAILED)


@dataclass(frozen=True)
class Ending:
    """How a change of a stack ended."""

    stack: Stack
    failures: tuple[Event, ...] = ()
    """The failures of the change, the earliest first."""


@dataclass
class Follower:
    """Follows one change of a stack."""

    calls: Calls
    stack_id: str
    sleep: Sleep
    watch: Callable[[Event], object]
    """Gets each event."""
    _seen: set[str] = field(default_factory=set[str])
    _failures: list[Event] = field(default_factory=list[Event])

    def through(self, act: Callable[[], object], leave: Callable[[], object]) -> Ending:
        """Begin a change, and follow it to its end; what has happened before is passed over.

        `leave` is called where an interrupt or an error ends that early, before it goes on.
        """
        newest = next(self._newest(), None)
        if newest is not None:
            self._seen.add(newest.event_id)
        act()
        try:
            return self.follow()
        except (KeyboardInterrupt, AccountError):
            leave()
            raise

    def follow(self) -> Ending:
        """Wait until the change has ended."""
        while True:
            stack = described(self.calls, self.stack_id)
            for event in list(self._newest())[::-1]:
                self._seen.add(event.event_id)
                self.watch(event)
                if event.is_failure:
                    self._failures.append(event)
            if stack.readiness is not Readiness.BUSY:
                return Ending(stack, tuple(self._failures))
            self.sleep(PAUSE)

    def _newest(self) -> Iterator[Event]:
        for page in self.calls.pages("cloudformation", "DescribeStackEvents", "NextToken", StackName=self.stack_id):
            for one in page["StackEvents"]:
                event = _event(one)
                if event.event_id in self._seen:  # all after it were seen too
                    return
                yield event


def last_failures(calls: Calls, stack: Stack) -> list[Event]:
    """Return the failures of the last change of a stack, the earliest first."""
    found = list[Event]()
    for page in calls.pages("cloudformation", "DescribeStackEvents", "NextToken", StackName=stack.stack_id):
        for event in map(_event, page["StackEvents"]):
            is_of_the_stack = event.name == stack.name
            if is_of_the_stack and event.status in {"CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "DELETE_IN_PROGRESS"}:
                return found[::-1]
            if event.is_failure and not is_of_the_stack:
                found.append(event)
    return found[::-1]


def _event(found: Any) -> Event:
    return Event(
        found["EventId"],
        found["Timestamp"],
        found["LogicalResourceId"],
        found["ResourceType"],
        found["ResourceStatus"],
        " ".join(str(found.get("ResourceStatusReason", "")).split()),
    )
