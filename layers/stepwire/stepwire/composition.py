"""The table of extras: the one place that names them, and it imports none.

To add an extra: its folder `stepwire/extras/NAME`, its part of the stack `extras/NAME/template.yaml`, and its line
here. To remove one with all that belongs to it: `python -m tests.template.extras NAME`.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from stepwire.hooks import Extra


class Reserved(NamedTuple):
    """The names that an extra keeps for itself, on or off, so that it can be switched on later."""

    tools: tuple[str, ...] = ()
    """Of its tools: no manifest may take one."""
    parameters: tuple[str, ...] = ()
    """Of what it reads from the endpoint's URL: a path may have one."""


EXTRAS: Final[Mapping[str, Reserved]] = MappingProxyType(
    {
        "search": Reserved(("find_tools", "call_tool"), ("discover",)),
        "cards": Reserved(("card_answer", "card_cancel", "card_task"), ("cards",)),
        "events": Reserved(),
        "approvals": Reserved(("approvals_list", "approval_answer")),
        "client_tasks": Reserved(),
        "skills": Reserved(),
        "lines": Reserved(),
        "door": Reserved(),
        "operations": Reserved(),
        "callers": Reserved(),
    }
)
"""The extras of this release in order of precedence.

The first extra that wants a client's response has it; ways of calls are changed, and tools listed, in this order.
"""
RESERVED_TOOLS: Final = frozenset(name for one in EXTRAS.values() for name in one.tools)
RESERVED_PARAMETERS: Final = frozenset(name for one in EXTRAS.values() for name in one.parameters)


def switched_on(names: Collection[str]) -> "tuple[Extra, ...]":
    """Import the extras of these names, and nothing of the others; return them in order of precedence."""
    return tuple(
        __import__(f"stepwire.extras.{name}", globals(), None, ["EXTRA"]).EXTRA for name in EXTRAS if name in names
    )
