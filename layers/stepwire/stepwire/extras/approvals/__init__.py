"""Questions of workflows that others than the caller decide: by tools in their own agent, or on a page by a link.

`rules` and `addressing` say whose a question is, `service` takes every decision, whichever way it comes; `tools` and
`page` are the two ways. A further one, such as a chat, is a folder beside `page` that calls `Approvals.vote` with a
`VoteWay` of its own. Only who may decide something is shown the tools, so most requests load nothing of this.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from stepwire.hooks import (
    EventType,
    Extra,
    Ground,
    Items,
    ManifestFields,
    OnChange,
    Router,
    Streams,
    TableGround,
    Tools,
)
from stepwire.json_text import Json, JsonObject

if TYPE_CHECKING:
    from datetime import datetime

    from stepwire.aws.storage.table import Item
    from stepwire.catalog.tools import Tool
    from stepwire.changes import BusEvent, ChangeServices, TaskChange
    from stepwire.engine.assembly import Engine
    from stepwire.extras.approvals.inbox import Askings, Inbox
    from stepwire.extras.approvals.listening import Subscribers
    from stepwire.extras.approvals.rules import Approver, People
    from stepwire.extras.approvals.service import Approvals
    from stepwire.principal import Principal
    from stepwire.protocol.messages import Response
    from stepwire.server.call import Call
    from stepwire.server.services import Services
    from stepwire.server.ways import OwnTool
    from stepwire.tasks.answers import Audience
    from stepwire.tasks.inputs import Asked, Directed
    from stepwire.tasks.task import Task

NAME: Final = "approvals"
ASKED: Final = "approval."
"""What the ids begin with of the requests that put such a question to the user of a legacy client."""
_NONE: Final["Mapping[str, OwnTool]"] = {}


def _tools(services: "Services", call: "Call") -> "Mapping[str, OwnTool]":
    if approver_in(services, call) is None:
        return _NONE
    from stepwire.extras.approvals.tools import TOOLS

    return TOOLS


def _take(services: "Services", call: "Call", response: "Response") -> bool:
    if not str(response.id).startswith(ASKED):
        return False
    result: JsonObject | None = response.result
    if services.access.knows_callers:
        from stepwire.extras.approvals.tools import take

        take(services, call, str(response.id).removeprefix(ASKED), result)
    return True


class _Audiences:
    """Those who may decide questions of some tool, worked out once for the tools as they are."""

    def __init__(self, _ground: Ground) -> None:
        self._of: tuple[object, tuple[People, ...]] = None, ()

    def of(self, tools: "Mapping[str, Tool]") -> "tuple[People, ...]":
        if self._of[0] is not tools:
            from stepwire.extras.approvals.rules import Approvers

            kept = (tool.kept_by(NAME, Approvers) for tool in tools.values() if NAME in tool.extras)
            self._of = tools, tuple(dict.fromkeys(one for policy in kept if policy for one in policy.audiences))
        return self._of[1]


def audiences_in(services: "Services") -> "tuple[People, ...]":
    """Return those who may decide questions of some tool, each once.

    Of one without conditions, each question says who.
    """
    return services.of(_Audiences).of(services.catalog.tools)


def approver_in(services: "Services", call: "Call") -> "Approver | None":
    """Return the caller as an approver; None if they may decide no tool's questions, or nobody signs in."""
    audiences = audiences_in(services) if services.access.knows_callers else ()
    if not audiences:
        return None
    from stepwire.extras.approvals.audiences import approver_of

    approver = approver_of(call.caller, services.access.prefix)
    # An audience without conditions is whatever each question says.
    return approver if any(not one.conditions or approver.fits(one) for one in audiences) else None


def approvals_of(ground: Ground) -> "Approvals":
    """Build the service that finds and decides questions to approvers."""
    from stepwire.extras.approvals.storage import DynamoDbInbox

    return approvals_over(ground.engine, DynamoDbInbox(ground.table))


def approvals_over(engine: "Engine", inbox: "Inbox") -> "Approvals":
    """Return what people other than the caller do with questions."""
    from stepwire.extras.approvals.service import Approvals

    return Approvals(engine.recorder, engine.answers, inbox, engine.ports.report)


def askings_of(ground: Ground) -> "Askings":
    """Build the store for approvers' answers that decide nothing."""
    from stepwire.extras.approvals.storage import DynamoDbAskings

    return DynamoDbAskings(ground.table)


def subscribers_of(ground: TableGround) -> "Subscribers":
    """Build the store of those who hear of questions that they may decide."""
    from stepwire.extras.approvals.storage import DynamoDbSubscribers

    return DynamoDbSubscribers(ground.table)


def _listed(services: "ChangeServices", changes: "Sequence[TaskChange]") -> int:
    from stepwire.extras.approvals.on_change import listed

    return listed(services, changes)


def _tell(services: "ChangeServices", change: "TaskChange") -> "Iterable[BusEvent]":
    from stepwire.extras.approvals.on_change import bus_events

    return bus_events(services, change)


def _types() -> tuple[EventType, ...]:
    from stepwire.extras.approvals.event_type import TYPES

    return TYPES


def _kept(tool: "Tool") -> JsonObject | None:
    if NAME not in tool.extras:
        return None
    return {"policy": tool.extras[NAME], "title": tool.shown_title}


def _directed(task: "Task", key: str, audience: Json, asked: "Asked", at: "datetime") -> "Directed | None":
    if NAME not in task.work.routes and audience is None:
        return None
    from stepwire.extras.approvals.addressing import directed

    return directed(task, key, audience, asked, at)


def _readdressed(task: "Task", at: "datetime") -> "Mapping[int, Audience]":
    if all(one.audience.extra != NAME for one in task.questions):
        return {}
    from stepwire.extras.approvals.addressing import readdressed

    return readdressed(task, at)


def _fields() -> ManifestFields[Any]:
    from stepwire.extras.approvals.manifest import FIELDS

    return FIELDS


def _elsewhere(owner: "Principal", item: "Item") -> "Iterator[Item]":
    """Yield the keys under which an approver is found who subscribes to questions."""
    from stepwire.extras.approvals.storage import APPROVER, found_key, subscriber_in

    if item["sk"]["S"] == APPROVER:
        yield from (found_key(digest, owner) for digest in sorted(subscriber_in(owner, item).digests))


_ITEMS: Final = {"asking#": "question that was shown", "events#approver": "approver"}
EXTRA: Final = Extra(
    name=NAME,
    tools=Tools(_tools),
    streams=Streams(_take),
    on_change=OnChange(_listed, _tell, _types),
    router=Router(_kept, _directed, _readdressed),
    items=Items(_ITEMS, elsewhere=_elsewhere),
    fields=_fields,
)
