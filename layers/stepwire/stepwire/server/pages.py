"""Pages of tools and tasks, and the cursors between them."""

import base64
import binascii
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from stepwire.catalog.tools import NAME_PATTERN, Tool
from stepwire.errors import InvalidCursor
from stepwire.json_text import JsonObject
from stepwire.protocol import params as read
from stepwire.server.kit import Call, Kit
from stepwire.tasks.ids import TaskId, task_id_of

TOOLS_PAGE_SIZE: Final = 100
LARGEST_TOOLS_PAGE: Final = 2_000_000
"""Bytes, nearly, of the tools on a page, unless one tool alone has more. A response of Lambda has room for 6 MB."""

_TOOL: Final = "tool:"  # in a cursor, before the name of the last tool on its page


class ToolsPage(Struct, frozen=True):
    """One page of tools, sorted by name."""

    tools: tuple[Tool, ...]
    next_after: str | None
    """What the cursor of the next page contains; None on the last page."""


def tools_page(kit: Kit, call: Call) -> ToolsPage:
    """Return the page of tools after the name that the cursor holds (M33: in a stable order).

    Tools that the caller may not call are left out.
    """
    after = _name_in(read.cursor(call.params))
    allowed = (tool for tool in kit.catalog.in_order if kit.access.allows(tool, call.caller.scopes))
    tools = [tool for tool in allowed if after is None or tool.name > after]
    page = tuple(_that_fit(tools[:TOOLS_PAGE_SIZE]))
    return ToolsPage(page, _TOOL + page[-1].name if len(tools) > len(page) else None)


def _name_in(cursor: str | None) -> str | None:
    """Read the cursor of a list of tools. The tool that it names may be gone; the list goes on behind it."""
    text = _decoded(cursor)
    if text is not None and not (text.startswith(_TOOL) and NAME_PATTERN.fullmatch(text.removeprefix(_TOOL))):
        raise InvalidCursor
    return text and text.removeprefix(_TOOL)


def _that_fit(tools: list[Tool]) -> Iterator[Tool]:
    """Yield the first tools up to the size of a page, at least one."""
    size = 0
    for number, tool in enumerate(tools):
        size += (
            len(tool.description.encode()) + len(tool.input_schema.encode()) + len((tool.output_schema or "").encode())
        )
        if number and size > LARGEST_TOOLS_PAGE:
            return
        yield tool


def next_cursor(after: str | None) -> JsonObject:
    """Return `nextCursor`, made from the last name or id of a page; an empty object after the last page."""
    return {} if after is None else {"nextCursor": base64.urlsafe_b64encode(after.encode()).decode().rstrip("=")}


def task_cursor(call: Call) -> TaskId | None:
    """Return the task id that a cursor holds. The page after it contains only the caller's own tasks."""
    text = _decoded(read.cursor(call.params))
    after = task_id_of(text)
    if text is not None and after is None:
        raise InvalidCursor
    return after


def _decoded(cursor: str | None) -> str | None:
    if cursor is None:
        return None
    try:
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise InvalidCursor from None
