"""Approvals in an approver's own agent: tools that list the questions that others' tasks ask, and have them decided.

Only who may decide something is shown them, so most requests load nothing of this.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from stepwire.hooks import EventType, Extra, Ground, Items, ManifestFields, OnChange, Streams, TableGround, Tools
from stepwire.json_text import JsonObject
from stepwire.principal import Principal
from stepwire.protocol.messages import Response
from stepwire.server.call import Call, approver_in
from stepwire.server.services import Services

if TYPE_CHECKING:
    from stepwire.aws.storage.table import Item
    from stepwire.changes import BusEvent, ChangeServices, TaskChange
    from stepwire.engine.approvals import Approvals
    from stepwire.engine.ports import Askings
    from stepwire.server.ways import OwnTool
    from stepwire.subscriptions.listening import Subscribers

ASKED: Final = "approval."
"""What the ids begin with of the requests that put such a question to the user of a legacy client."""
_NONE: Final["Mapping[str, OwnTool]"] = {}


def _tools(services: Services, call: Call) -> "Mapping[str, OwnTool]":
    if approver_in(services, call) is None:
        return _NONE
    from stepwire.extras.approvals.tools import TOOLS

    return TOOLS


def _take(services: Services, call: Call, response: Response) -> bool:
    if not str(response.id).startswith(ASKED):
        return False
    result: JsonObject | None = response.result
    if services.access.knows_callers:
        from stepwire.extras.approvals.tools import take

        take(services, call, str(response.id).removeprefix(ASKED), result)
    return True


def approvals_of(ground: Ground) -> "Approvals":
    """Build the service that finds and decides questions to approvers."""
    from stepwire.aws.storage.approvals import DynamoDbInbox

    return ground.engine.approvals(DynamoDbInbox(ground.table))


def askings_of(ground: Ground) -> "Askings":
    """Build the store for approvers' answers that decide nothing."""
    from stepwire.aws.storage.approvals import DynamoDbAskings

    return DynamoDbAskings(ground.table)


def subscribers_of(ground: TableGround) -> "Subscribers":
    """Build the store of those who hear of questions that they may decide."""
    from stepwire.aws.storage.approvals import DynamoDbSubscribers

    return DynamoDbSubscribers(ground.table)


def _listed(services: "ChangeServices", changes: "Sequence[TaskChange]") -> int:
    from stepwire.extras.approvals.changes import listed

    return listed(services, changes)


def _tell(services: "ChangeServices", change: "TaskChange") -> "Iterable[BusEvent]":
    from stepwire.extras.approvals.changes import bus_events

    return bus_events(services, change)


def _types() -> tuple[EventType, ...]:
    from stepwire.extras.approvals.event_type import TYPES

    return TYPES


def _fields() -> ManifestFields[Any]:
    from stepwire.extras.approvals.manifest import FIELDS

    return FIELDS


def _elsewhere(owner: Principal, item: "Item") -> "Iterator[Item]":
    """Yield the keys under which an approver is found who subscribes to questions."""
    from stepwire.aws.storage.approvals import APPROVER, found_key, subscriber_in

    if item["sk"]["S"] == APPROVER:
        yield from (found_key(digest, owner) for digest in sorted(subscriber_in(owner, item).digests))


_ITEMS: Final = {"asking#": "question that was shown", "events#approver": "approver"}
EXTRA: Final = Extra(
    name="approvals",
    tools=Tools(_tools),
    streams=Streams(_take),
    on_change=OnChange(_listed, _tell, _types),
    items=Items(_ITEMS, elsewhere=_elsewhere),
    fields=_fields,
)
