"""Patches of DynamoDB's expressions: a text is parsed once, and a tree is walked without asking each node what it is.

They change no result. Expressions take most of the time of a call, and each task is some ten calls.
"""

import copy
import json
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, Final

from moto.dynamodb.comparisons import ConditionExpressionParser
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.parsing import validators
from moto.dynamodb.parsing.ast_nodes import DepthFirstTraverser, Expression, Node, UpdateExpressionFunction
from moto.dynamodb.parsing.expressions import UpdateExpressionParser

_Replace = Callable[[object, str, object], None]

_LATEST: Final = 500
"""How many expressions are kept."""
_NODE: Final[Any] = Node
_HAVE_CLAUSES: Final[Any] = (Expression, UpdateExpressionFunction)


@cache
def _is_a(kind: Any, wanted: Any) -> bool:
    """Return what isinstance finds anew for each object, by an abstract class's own slow way."""
    return issubclass(kind, wanted)


def expressions_are_walked_quickly(replace: _Replace) -> None:
    """Patch: Ask a processor once for each walk which nodes it wants, and copy trees as trees.

    Defect: An update walks through the tree of its expression ten times, asks for each node anew what the processor
    wants, and copies the tree member by member: half of the time of a call.
    """

    def traverse(self: Any, node: Any) -> Any:
        return _walk(self, node, -1, self.nodes_to_be_processed())

    def find_clauses(self: Any, clause_types: Sequence[type]) -> list[Any]:
        found = list[Any]()
        for child in self.children or ():
            if child.__class__ in clause_types:
                found.append(child)
            elif _is_a(child.__class__, _HAVE_CLAUSES):
                found.extend(child.find_clauses(clause_types))
        return found

    replace(DepthFirstTraverser, "traverse", traverse)
    replace(Node, "find_clauses", find_clauses)
    replace(validators, "deepcopy", _copied)  # this module copies trees only


def _walk(processor: Any, node: Any, place: int, wanted: tuple[type, ...]) -> Any:
    """Process what is wanted of a tree, from the leaves up; return what takes the place of its root."""
    if not _is_a(node.__class__, _NODE):
        return node
    parent = node.parent
    for number, child in enumerate(node.children or ()):
        processor.pre_processing_of_child(node, number)
        _walk(processor, child, number, wanted)
    if _is_a(node.__class__, wanted):
        node = processor.process(node)
        node.parent = parent
        if parent:
            parent.children[place] = node
    return node


def _copied(node: Any) -> Any:
    """Return a copy of a tree, whose root has no parent."""
    if not _is_a(node.__class__, _NODE):
        return copy.deepcopy(node)
    made: Any = object.__new__(node.__class__)
    made.__dict__.update(node.__dict__)
    if node.children is not None:
        made.children = [_copied(child) for child in node.children]
        for child in made.children:
            if _is_a(child.__class__, _NODE):
                child.parent = made
    return made


def trees_are_checked_from_their_root(replace: _Replace) -> None:
    """Patch: Check once, at the root of a tree, that no clause is there twice and no paths overlap.

    Defect: Each node of the tree is checked in the same way, with all nodes below it: the time grows with the square.
    """

    def traverse(self: Any, node: Any) -> Any:
        return self.process(node)

    replace(validators.ActionCountValidator, "traverse", traverse)
    replace(validators.OverlappingPathsValidator, "traverse", traverse)


def texts_are_compared_as_they_are(replace: _Replace) -> None:
    """Patch: Return the value of a text before asking for each other type.

    Defect: Each lookup of a key and each comparison of an item asks of a text whether it is a number, a set, a list, a
    map or null, several times.
    """
    original: Any = DynamoType.cast_value

    def cast_value(self: Any) -> Any:
        return self.value if self.type == "S" else original.fget(self)

    replace(DynamoType, "cast_value", property(cast_value))


def conditions_are_parsed_once(replace: _Replace) -> None:
    """Patch: Keep what a condition means, with its names and values, for the next time that it is given.

    Defect: Each call parses its condition twice, and compiles six patterns for each of its words.
    """
    original: Any = ConditionExpressionParser.parse

    @lru_cache(_LATEST)
    def parsed(condition: str, names: str, values: str) -> tuple[Any, list[str], list[str]]:
        parser: Any = ConditionExpressionParser(condition, json.loads(names), json.loads(values))
        return original(parser), parser.expr_attr_names_found, parser.expr_attr_values_found

    def parse(self: Any) -> Any:
        if not self.condition_expression:
            return original(self)
        given = (json.dumps(one) for one in (self.expression_attribute_names, self.expression_attribute_values))
        meaning, names, values = parsed(self.condition_expression, *given)
        self.expr_attr_names_found.extend(names)
        self.expr_attr_values_found.extend(values)
        return meaning

    replace(ConditionExpressionParser, "parse", parse)


def updates_are_parsed_once(replace: _Replace) -> None:
    """Patch: Keep the tree of an update's text; what changes a tree changes a copy of it.

    Defect: Each update parses its text twice.
    """
    parser: Any = UpdateExpressionParser
    replace(parser, "make", lru_cache(_LATEST)(parser.make))


PATCHES = (
    expressions_are_walked_quickly,
    trees_are_checked_from_their_root,
    texts_are_compared_as_they_are,
    conditions_are_parsed_once,
    updates_are_parsed_once,
)
