"""The types of TypeScript, and the small words of a syntax tree of tree-sitter."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import tree_sitter

from stepwire_wrap.code.tree import Declared, Shape

Node = tree_sitter.Node
_TYPES: Final = {
    "string": frozenset({"string"}),
    "number": frozenset({"number"}),
    "boolean": frozenset({"boolean"}),
    "object": frozenset({"object"}),
    "Date": frozenset({"string"}),
}
_LISTS: Final = frozenset({"Array", "ReadonlyArray", "Set"})
_SAME_TYPE: Final = frozenset({"Readonly", "Required", "NonNullable", "DeepReadonly"})
_OPTIONAL_TYPE: Final = frozenset({"Partial", "DeepPartial"})
_DEEPEST: Final = 20


def text_of(node: Node | None) -> str:
    """Return the text of a node; empty if there is none."""
    return "" if node is None or node.text is None else node.text.decode(errors="replace")


def line_of(node: Node) -> int:
    """Return the line that a node begins in."""
    return node.start_point[0] + 1


def string_of(node: Node) -> str:
    """Return the value of a text in quotes."""
    text = text_of(node)
    try:
        return str(ast.literal_eval(text))
    except (SyntaxError, ValueError):
        return text[1:-1]


def inner_of(node: Node) -> list[Node]:
    """Return the parts of a node, without comments."""
    return [one for one in node.named_children if one.type != "comment"]


def shape_of(node: Node, depth: int = 0) -> Shape:
    """Return what a type says."""
    kind = _SHAPES.get(node.type)
    return Shape() if kind is None or depth > _DEEPEST else kind(node, depth)


def _named(node: Node, _depth: int) -> Shape:
    name = text_of(node)
    return Shape(_TYPES[name]) if name in _TYPES else Shape(name="" if name in ("any", "unknown") else name)


def _object(node: Node, _depth: int) -> Shape:
    return Shape(frozenset({"object"}), dict(_members(node)))


def _array(node: Node, depth: int) -> Shape:
    return Shape(frozenset({"array"}), items=shape_of(inner_of(node)[0], depth + 1))


def _literal(node: Node, _depth: int) -> Shape:
    inner = inner_of(node)
    is_text = bool(inner) and inner[0].type == "string"
    return Shape(frozenset({"string"}), values=(string_of(inner[0]),)) if is_text else Shape()


def _last(node: Node, depth: int) -> Shape:
    return shape_of(inner_of(node)[-1], depth + 1)


def _members(node: Node) -> Iterator[tuple[str, Declared]]:
    said = ""
    for one in node.named_children:
        if one.type == "comment":
            said = " ".join(text_of(one).strip("/* \n").replace("*", " ").split())
            continue
        name, annotation = one.child_by_field_name("name"), one.child_by_field_name("type")
        if one.type == "property_signature" and name is not None:
            is_optional = any(inner.type == "?" for inner in one.children)
            shape = Shape() if annotation is None else shape_of(inner_of(annotation)[0])
            text = string_of(name) if name.type == "string" else text_of(name)
            yield text, Declared(shape, line_of(one), not is_optional, said)
        said = ""


def _union(node: Node, depth: int) -> Shape:
    nodes = inner_of(node)
    shapes = [shape_of(one, depth + 1) for one in nodes if text_of(one) not in ("null", "undefined")]
    if len(shapes) == 1:
        one = shapes[0]
        is_nullable = bool(one.types) and any(text_of(other) == "null" for other in nodes)
        return Shape(one.types | {"null"} if is_nullable else one.types, one.members, one.items, one.values, one.name)
    types = frozenset[str]().union(*(one.types for one in shapes))
    values = tuple(value for one in shapes for value in one.values)
    is_closed = all(one.values for one in shapes)
    return Shape(types if all(one.types for one in shapes) else frozenset(), values=values if is_closed else ())


def _intersection(node: Node, depth: int) -> Shape:
    shapes = [shape_of(one, depth + 1) for one in inner_of(node)]
    members = {name: one for shape in shapes for name, one in shape.members.items()}
    name = next((one.name for one in shapes if one.name), "")
    return Shape(frozenset({"object"}), members, name=name)


def _generic(node: Node, depth: int) -> Shape:
    name, arguments = text_of(node.child_by_field_name("name")), node.child_by_field_name("type_arguments")
    first = shape_of(inner_of(arguments)[0], depth + 1) if arguments is not None and inner_of(arguments) else Shape()
    if name in _LISTS:
        return Shape(frozenset({"array"}), items=first)
    if name in _SAME_TYPE:
        return first
    if name in _OPTIONAL_TYPE:
        members = {one: replace(found, is_required=False) for one, found in first.members.items()}
        return Shape(first.types, members, name=first.name)
    return Shape(frozenset({"object"})) if name in ("Record", "Map") else Shape()


_SHAPES: Final[dict[str, Callable[[Node, int], Shape]]] = {
    **dict.fromkeys(("predefined_type", "type_identifier"), _named),
    **dict.fromkeys(("object_type", "interface_body"), _object),
    "array_type": _array,
    "literal_type": _literal,
    **dict.fromkeys(("parenthesized_type", "readonly_type"), _last),
    "union_type": _union,
    "intersection_type": _intersection,
    "generic_type": _generic,
}
