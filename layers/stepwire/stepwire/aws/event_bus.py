"""An event bus of EventBridge, told how the status of tasks changes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from stepwire.json_text import write
from stepwire.status_changes import TaskStatusChange

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_events.type_defs import PutEventsRequestEntryTypeDef

SOURCE: Final = "stepwire"
STATUS_CHANGE: Final = "Stepwire Task Status Change"
_MOST_ENTRIES: Final = 10  # of PutEvents


@dataclass(frozen=True)
class EventBus:
    """An event bus, by its name or its ARN. The client is built when the first event needs it."""

    name: str
    build_client: "Callable[[], EventBridgeClient]"

    @cached_property
    def _client(self) -> "EventBridgeClient":
        return self.build_client()

    def put(self, changes: Sequence[TaskStatusChange]) -> int:
        """Put an event for each change, and give the number of those that were taken, from the first on.

        Behind the first that was not taken, some may have been.
        """
        for start in range(0, len(changes), _MOST_ENTRIES):
            entries = [self._entry(change) for change in changes[start : start + _MOST_ENTRIES]]
            answers = self._client.put_events(Entries=entries)["Entries"]
            for number, answer in enumerate(answers):
                if "ErrorCode" in answer:
                    return start + number
        return len(changes)

    def _entry(self, change: TaskStatusChange) -> "PutEventsRequestEntryTypeDef":
        return {
            "EventBusName": self.name,
            "Source": SOURCE,
            "DetailType": STATUS_CHANGE,
            "Time": change.at,
            "Detail": write(change.detail()),
        }
