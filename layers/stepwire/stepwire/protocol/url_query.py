"""The query of the endpoint's URL: switches, and a selection of tools. Other fields are others' business.

The rule: a URL is the caller's own, so nothing in it is a permission. `?group=finance` narrows what is listed and
called; whoever may call another tool can write another URL.
"""

from typing import Final
from urllib.parse import parse_qsl

from msgspec import Struct

from stepwire.errors import InvalidParams

LONGEST_QUERY: Final = 8_192  # characters; API Gateway takes no more than 10,240 bytes of headers and URL
MOST_NAMES: Final = 100  # of tools and groups in one selection
PARAMETERS: Final = frozenset({"cards", "discover", "group", "resume", "rounds", "tools"})
"""All that this server reads from a query, and so the names that a path may have instead."""
_MOST_FIELDS: Final = 20
_TOOLS: Final = "tools"
_GROUP: Final = "group"


class Selection(Struct, frozen=True):
    """Which tools of the catalog a URL names: the union of both."""

    tools: frozenset[str]
    groups: frozenset[str]

    def has(self, tool: str, groups: tuple[str, ...]) -> bool:
        """Tell whether a tool of these groups is among them."""
        return tool in self.tools or not self.groups.isdisjoint(groups)


def selection_in(query: str) -> Selection | None:
    """Read `?tools=a,b&group=finance,hr`, each of which may be repeated; None where the URL selects no tools.

    Raises:
        InvalidParams: it names nothing, or too much.
    """
    tools, groups = _names_in(query, _TOOLS), _names_in(query, _GROUP)
    if tools is None and groups is None:
        return None
    selection = Selection(frozenset(tools or ()), frozenset(groups or ()))
    if len(selection.tools) + len(selection.groups) > MOST_NAMES:
        raise InvalidParams(f"The URL names more than {MOST_NAMES} tools and groups: give the tools a group.")
    return selection


def _names_in(query: str, parameter: str) -> list[str] | None:
    values = values_in(query, parameter)
    if not values:
        return None
    names = [name for value in values for one in value.split(",") if (name := one.strip())]
    if not names:
        raise InvalidParams(f"{parameter} in the URL names nothing: write names with commas, or leave it out.")
    return names


def switch_in(query: str, parameter: str) -> bool | None:
    """Read a parameter that is 1 or 0; None if it is not there.

    Raises:
        InvalidParams: it is something else.
    """
    match values_in(query, parameter):
        case []:
            return None
        case ["0" | "1" as value]:
            return value == "1"
        case _:
            raise InvalidParams(f"{parameter} in the URL must be given once, as 1 or 0.")


def values_in(query: str, parameter: str) -> list[str]:
    """Return the values of a parameter.

    Raises:
        InvalidParams: the query is too long, or has too many fields.
    """
    if parameter not in query:
        return []
    if len(query) > LONGEST_QUERY:
        raise InvalidParams(f"The query of the URL is longer than {LONGEST_QUERY} characters.")
    try:
        fields = parse_qsl(query, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise InvalidParams(f"The query of the URL has more than {_MOST_FIELDS} fields.") from None
    return [value for name, value in fields if name == parameter]
