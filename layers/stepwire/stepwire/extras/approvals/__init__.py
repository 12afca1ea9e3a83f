"""Approvals in an approver's own agent: tools that list the questions that others' tasks ask, and have them decided.

Only who may decide something is shown them, so most requests load nothing of this.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from stepwire.hooks import Extra, Ground, ManifestFields, Streams, Tools
from stepwire.json_text import JsonObject
from stepwire.protocol.messages import Response
from stepwire.server.call import Call, approver_in
from stepwire.server.services import Services

if TYPE_CHECKING:
    from stepwire.engine.approvals import Approvals
    from stepwire.engine.ports import Askings
    from stepwire.server.ways import OwnTool

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


def _fields() -> ManifestFields[Any]:
    from stepwire.extras.approvals.manifest import FIELDS

    return FIELDS


EXTRA: Final = Extra(name="approvals", tools=Tools(_tools), streams=Streams(_take), fields=_fields)
