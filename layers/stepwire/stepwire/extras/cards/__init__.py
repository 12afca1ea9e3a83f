"""Cards (MCP Apps): a host shows a task beside the conversation, on a page that is a resource of this server.

Most clients show none, so all but this is loaded with the first request of one that does.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final, cast

from msgspec.structs import replace

from stepwire.catalog.tools import TaskSupport, Tool
from stepwire.engine.calls import Begun
from stepwire.hooks import Extra, ManifestFields, Protocol, Resources, Tools, View
from stepwire.json_text import Json, JsonObject, as_object
from stepwire.protocol.http import switch_in
from stepwire.rendering import mark_repeated, with_meta
from stepwire.server.call import Call, Reply
from stepwire.server.results import written
from stepwire.server.services import Services
from stepwire.server.ways import OwnTool, Way
from stepwire.tasks.inputs import Mode
from stepwire.tasks.task import Task

NAME: Final = "cards"
UI_EXTENSION: Final = "io.modelcontextprotocol/ui"
CARD_MIME_TYPE: Final = "text/html;profile=mcp-app"
CARD_URI: Final = "ui://stepwire/task"
CARD: Final = "stepwire/card"
"""The server's own member of `_meta`: which task a card shows, and what lets it answer that task's questions."""
TOOL_WITH_CARD: Final[JsonObject] = {
    "ui": {"resourceUri": CARD_URI, "visibility": ["model", "app"]},
    "ui/resourceUri": CARD_URI,  # where older hosts look for it
}
_SWITCH: Final = "cards"
_PLACE: Final = "your user can give it on the card of the task, if this client shows one"
_NOT_ON_CARDS: Final = frozenset({Mode.SAMPLING.value, Mode.ROOTS.value})


def shows_cards(call: Call) -> bool:
    """Tell whether a client's host shows cards (MCP Apps), as this request declares (modern) or its session (legacy).

    `cards=1` in the query of the URL says so for a host that declares nothing, and `cards=0` that it does not.

    Raises:
        InvalidParams: the query says something else.
    """
    asked = switch_in(call.query, _SWITCH) if call.query else None
    if asked is not None:
        return asked
    if "extensions" not in call.client_capabilities:
        return False  # most clients
    extensions = as_object(call.client_capabilities.get("extensions"))
    declared: Json = as_object(extensions.get(UI_EXTENSION)).get("mimeTypes")
    return isinstance(declared, list | dict) and CARD_MIME_TYPE in cast(list[Json] | JsonObject, declared)


def has_card(tool: Tool) -> bool:
    """Tell whether a host may show a card of a tool's tasks.

    A tool that never is a task has none to show. A card asks its user, and has no model and no roots, so a tool that
    needs those has none either.
    """
    may_be_task = tool.task_support is not TaskSupport.FORBIDDEN and not tool.is_express
    return may_be_task and NAME not in tool.extras and _NOT_ON_CARDS.isdisjoint(tool.client_capabilities)


def naming_card(result: JsonObject, task_id: str, *, has_ended: bool = False) -> JsonObject:
    """Return a result that names the task whose card a host shows; an ended one, so that the card need not tell it."""
    return with_meta(result, {CARD: {"taskId": task_id, **({"ended": True} if has_ended else {})}})


def _capabilities(_services: Services, call: Call) -> JsonObject:
    """Tell every modern client; of the older ones, only those whose hosts show cards."""
    return {"resources": {}, "extensions": {UI_EXTENSION: {}}} if call.is_modern or shows_cards(call) else {}


def _tools(_services: Services, call: Call) -> Mapping[str, OwnTool]:
    if not shows_cards(call):
        return {}
    from stepwire.extras.cards.tools import TOOLS

    return TOOLS


def _way(services: Services, call: Call, tool: Tool, way: Way) -> Way | None:
    """Show the task on a card, which asks for the confirmation, too; a plain call is then answered soon.

    A client with tasks that can ask its user does so itself, though its host shows cards.
    """
    if not (shows_cards(call) and has_card(tool)):
        return None
    if not way.is_task:
        return Way(partial(_on_card, services, call), resume=way.resume, is_cancellable=False, is_shown=True)
    asks_on_card = tool.confirmation is not None and Mode.FORM not in call.modes
    return replace(way, answer=partial(_named, way), confirm=None if asks_on_card else way.confirm, is_shown=True)


def _on_card(services: Services, call: Call, begun: Begun) -> JsonObject:
    from stepwire.extras.cards.tools import first_result

    return mark_repeated(written(call, first_result(services, call, begun)), is_repeat=begun.is_repeat)


def _named(way: Way, begun: Begun) -> Reply:
    reply = way.answer(begun)
    return naming_card(reply, begun.task.task_id) if isinstance(reply, dict) else reply


def _is_shown(_services: Services, call: Call) -> bool:
    return shows_cards(call)


def _of_tool(tool: Tool) -> JsonObject:
    return TOOL_WITH_CARD if has_card(tool) else {}


def _of_result(task: Task) -> JsonObject:
    return {CARD: {"taskId": task.task_id, "ended": True}}


def _listed(services: Services, call: Call) -> Iterable[JsonObject]:
    from stepwire.extras.cards.resources import listed

    return listed(services, call)


def _read(services: Services, call: Call, uri: str) -> JsonObject | None:
    from stepwire.extras.cards.resources import read

    return read(services, call, uri)


def _fields() -> ManifestFields[Any]:
    from stepwire.extras.cards.manifest import FIELDS

    return FIELDS


EXTRA: Final = Extra(
    name=NAME,
    protocol=Protocol(capabilities=_capabilities),
    tools=Tools(_tools),
    way=_way,
    resources=Resources("ui://", _listed, _read, is_public=True, view=View(_is_shown, _of_tool, _of_result, _PLACE)),
    fields=_fields,
)
