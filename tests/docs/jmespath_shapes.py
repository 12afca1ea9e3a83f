"""What an expression of JMESPath finds in an answer of AWS, by the shapes of botocore's models.

A name that an answer never has is an error here, and the empty text `None` in a terminal.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

Node = dict[str, Any]
_KEEPS: Final = frozenset({"sort_by", "reverse"})
"""Functions that return the list that they get."""


@dataclass(frozen=True)
class Many:
    """A list that an expression makes."""

    member: Any
    type_name: str = "list"


def check(node: Node, shape: Any) -> Any:
    """Return the shape of what an expression finds; None where it is not known.

    Raises:
        LookupError: it looks for a name that is never there.
    """
    return _KINDS.get(node["type"], _of_parts)(node, shape)


def _of_a_field(node: Node, shape: Any) -> Any:
    name = node["value"]
    if shape is None:
        return None
    if shape.type_name == "map":
        return shape.value
    if shape.type_name != "structure" or name not in shape.members:
        raise LookupError(f"{getattr(shape, 'name', 'a list')} has no {name}")
    return shape.members[name]


def _in_turn(node: Node, shape: Any) -> Any:
    for one in node["children"]:
        shape = check(one, shape)
    return shape


def _of_a_list(node: Node, shape: Any) -> Any:
    element = _element(check(node["children"][0], shape))
    if node["type"] == "flatten":
        return element if getattr(element, "type_name", "") == "list" else Many(element)
    for condition in node["children"][2:]:
        check(condition, element)
    return Many(check(node["children"][1], element))


def _of_a_function(node: Node, shape: Any) -> Any:
    first, *others = node["children"]
    found = check(first, shape)
    for one in others:
        is_of_each = one["type"] == "expref"
        check(one["children"][0] if is_of_each else one, _element(found) if is_of_each else shape)
    return found if node["value"] in _KEEPS else None


def _of_parts(node: Node, shape: Any) -> None:
    """Check the parts of a literal, a list of several, a comparison."""
    for one in node.get("children", []):
        if isinstance(one, dict):
            check(cast(Node, one), shape)


def _element(shape: Any) -> Any:
    if shape is None:
        return None
    if shape.type_name != "list":
        raise LookupError(f"{shape.name} is no list")
    return shape.member


_KINDS: Final[Mapping[str, Callable[[Node, Any], Any]]] = {
    "field": _of_a_field,
    **dict.fromkeys(("subexpression", "pipe", "index_expression"), _in_turn),
    "index": lambda _, shape: _element(shape),
    **dict.fromkeys(("flatten", "projection", "filter_projection"), _of_a_list),
    **dict.fromkeys(("current", "identity", "slice"), lambda _, shape: shape),
    "function_expression": _of_a_function,
}
