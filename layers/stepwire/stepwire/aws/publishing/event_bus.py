"""Put status change events of tasks on an EventBridge event bus."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from stepwire.background.status_changes import TaskStatusChange
from stepwire.json_text import write

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_events.type_defs import PutEventsRequestEntryTypeDef

SOURCE: Final = "stepwire"
STATUS_CHANGE: Final = "Stepwire Task Status Change"
_MOST_ENTRIES: Final = 10  # of PutEvents


class EventBus(Struct, frozen=True, dict=True):
    """An event bus, by name or ARN. The client is built with the first event."""

    name: str
    build_client: "Callable[[], EventBridgeClient]"

    @cached_property
    def _client(self) -> "EventBridgeClient":
        return self.build_client()

    def put(self, changes: Sequence[TaskStatusChange]) -> int:
        """Put an event for each change, and return how many were accepted before the first failure.

        Entries after the first failure may have been accepted too.
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
