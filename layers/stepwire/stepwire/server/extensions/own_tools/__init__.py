"""Tools for the models of clients without tasks: they fetch a result, answer a question, cancel and list tasks."""

from collections.abc import Mapping
from typing import Final

from stepwire.catalog.tools import CARD_TOOLS, OWN_TOOLS
from stepwire.server.extension import Extension, OwnTool
from stepwire.server.extensions.own_tools.tools import TOOLS
from stepwire.server.kit import Call, Kit
from stepwire.server.unfinished import offered_names


def _tools(kit: Kit, call: Call) -> Mapping[str, OwnTool]:
    names = offered_names(kit, call)
    if not names:
        return {}
    return {name: tool for name, tool in TOOLS.items() if name in names}


FETCHING: Final = Extension(tool_names=OWN_TOOLS - CARD_TOOLS, tools=_tools)
