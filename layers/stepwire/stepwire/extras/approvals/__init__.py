"""Approvals in an approver's own agent: tools that list the questions that others' tasks ask, and have them decided.

Only who may decide something is shown them, so most requests load nothing of this.
"""

from collections.abc import Mapping
from typing import Final

from stepwire.catalog.tools import APPROVAL_TOOLS
from stepwire.json_text import JsonObject
from stepwire.protocol.messages import Response
from stepwire.server.call import Call, approver_in
from stepwire.server.extension import Extension, OwnTool
from stepwire.server.services import Services

ASKED: Final = "approval."
"""What the ids begin with of the requests that put such a question to the user of a legacy client."""
_NONE: Final[Mapping[str, OwnTool]] = {}


def _tools(services: Services, call: Call) -> Mapping[str, OwnTool]:
    if approver_in(services, call) is None:
        return _NONE
    from stepwire.server.extensions.approvals.tools import TOOLS

    return TOOLS


def _take(services: Services, call: Call, response: Response) -> bool:
    if not str(response.id).startswith(ASKED):
        return False
    result: JsonObject | None = response.result
    if services.approvals is not None and services.access.knows_callers:
        from stepwire.server.extensions.approvals.tools import take

        take(services, call, str(response.id).removeprefix(ASKED), result)
    return True


APPROVALS: Final = Extension(tool_names=APPROVAL_TOOLS, tools=_tools, take=_take)
