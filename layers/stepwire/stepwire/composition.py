"""The table of extras: the one place that names them, and it imports none.

To add an extra: its folder `stepwire/extras/NAME` and its line here. To remove one: the same two.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from stepwire.hooks import Extra

EXTRAS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "search": ("find_tools", "call_tool"),
        "cards": ("card_answer", "card_cancel", "card_task"),
        "events": (),
        "approvals": ("approvals_list", "approval_answer"),
        "client_tasks": (),
        "skills": (),
        "lines": (),
        "door": (),
        "operations": (),
        "callers": (),
    }
)
"""The extras of this release in order of precedence, each with the names of its tools.

The first extra that wants a call or a client's response has it, and tools are listed in this order. No manifest may
take the name of a tool, whether its extra is on or off: so an extra can be switched on later.
"""
RESERVED_TOOLS: Final = frozenset(name for names in EXTRAS.values() for name in names)


def switched_on(names: Collection[str]) -> "tuple[Extra, ...]":
    """Import the extras of these names, and nothing of the others; return them in order of precedence."""
    return tuple(
        __import__(f"stepwire.extras.{name}", globals(), None, ["EXTRA"]).EXTRA for name in EXTRAS if name in names
    )
