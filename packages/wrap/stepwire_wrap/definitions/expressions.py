"""JSONata: what an expression reads of the input, and what it gives as far as that can be followed.

The parser is jsonata-python's; the walk over its tree is ours. What cannot be followed is Unknown, never an error.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, Final, cast

from stepwire.json_text import Json, JsonObject, write
from stepwire_wrap.definitions.conditions import All, AnyOf, Compares, Condition, IsThere, Not, Opaque
from stepwire_wrap.definitions.functions import ARGUMENTS, UNDEFINED_WITHOUT
from stepwire_wrap.definitions.reads import ANY, FLAG, LIST, NUMBER, OBJECT, TEXT, Use
from stepwire_wrap.definitions.scopes import Scope
from stepwire_wrap.definitions.services import Member
from stepwire_wrap.definitions.values import EACH, UNKNOWN, Value, joined, literal, literal_in, merged, part, record

_OPEN: Final = "{%"
_CLOSE: Final = "%}"
Node = Any  # a Symbol of jsonata-python, whose attributes depend on its type
_MOST_DEPTH: Final = 60
_SHOWN: Final = 60  # characters of an expression in a message
_ARITHMETIC: Final = frozenset("+-*/%")
_ORDERS: Final = frozenset({"<", "<=", ">", ">="})


def filled(template: Json, scope: Scope, takes: Member | None = None, *, must: bool = True) -> Value:
    """Return what a JSONata field gives: its expressions evaluated, the rest as it stands.

    `must`: the state fails if an expression gives nothing.
    """
    if isinstance(template, list):
        for one in cast(list[Json], template):
            filled(one, scope, takes and takes.item(), must=must)
        return UNKNOWN
    if isinstance(template, dict):
        members = cast(JsonObject, template)
        return record(
            {name: filled(one, scope, takes and takes.member(name), must=must) for name, one in members.items()}
        )
    text = expression_in(template)
    if text is None:
        return literal(template)
    use = Use(must=must, passed_on=True) if takes is None else replace(takes.use(), must=must)
    return evaluated(text, scope, use)


def expression_in(field: Json) -> str | None:
    """Return the JSONata of a field; None if it has none."""
    if not isinstance(field, str) or not (text := field.strip()).startswith(_OPEN) or not text.endswith(_CLOSE):
        return None
    return text.removeprefix(_OPEN).removesuffix(_CLOSE).strip()


def evaluated(text: str, scope: Scope, use: Use) -> Value:
    """Return what an expression gives, and note what it reads."""
    return _Walk(scope).value(_tree(text, scope), use)


def condition_of(text: str, scope: Scope) -> Condition:
    """Return the condition that an expression is, and note what it reads."""
    tree = _tree(text, scope)
    _Walk(scope).value(tree, Use())
    return Opaque() if tree is None else _condition(tree, scope)


def _tree(text: str, scope: Scope) -> Node:
    tree = _parsed(text)
    if tree is None:
        scope.reads.unreadable.append(f"this is no JSONata: {text[:_SHOWN]}")
    return tree


@cache
def _parsed(text: str) -> Node:
    """Return the tree of an expression; None if it is no JSONata."""
    # Here, because only definitions in JSONata need the parser.
    from jsonata.jexception import JException  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs]
    from jsonata.parser import Parser  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs]

    try:
        return Parser().parse(text)
    except (JException, RecursionError, AttributeError, IndexError, TypeError, ValueError):
        return None


class _Walk:
    """Evaluates the nodes of an expression in a scope."""

    def __init__(self, scope: Scope, depth: int = 0) -> None:
        self._scope = scope
        self._depth = depth

    def value(self, node: Node, use: Use) -> Value:
        """Return what a node gives, and note what it reads."""
        if node is None or self._depth > _MOST_DEPTH:
            return UNKNOWN
        return _KINDS.get(node.type, _Walk._others)(_Walk(self._scope, self._depth + 1), node, use)

    def path(self, node: Node, use: Use) -> Value:
        """Follow the steps of a path; filters and blocks see the value that they stand behind."""
        value = self._first(node.steps[0])
        for number, step in enumerate(node.steps):
            if number and step.type == "name":
                value = part(value, (str(step.value),))
            elif number:
                value = self._computed_step(step, value)
            for stage in [*(step.stages or ()), *(step.predicate or ())]:
                if use.must:  # without the array there is nothing; whether an item has the rest, nobody knows
                    self._scope.note(value, Use(must=True))
                    use = replace(use, must=False)
                value = self._filtered(stage, value)
        self._scope.note(value, use)
        return value

    def _first(self, step: Node) -> Value:
        if step.type == "variable":
            return self._variable(str(step.value or ""))
        if step.type == "name":
            return part(self._scope.context, (str(step.value),)) if self._scope.context else UNKNOWN
        return self.value(step, Use())

    def _variable(self, name: str) -> Value:
        if name == "":
            return self._scope.context or UNKNOWN
        return self._scope.variable(name)

    def _computed_step(self, step: Node, value: Value) -> Value:
        if step.type in ("wildcard", "descendant", "parent"):
            self._scope.note(value, Use(passed_on=True))
            return UNKNOWN
        return _Walk(self._scope.inside(value), self._depth).value(step, Use())

    def _filtered(self, stage: Node, value: Value) -> Value:
        if stage.type != "filter":
            return value
        self._scope.note(value, Use(types=LIST))
        item = part(value, (EACH,))
        _Walk(self._scope.inside(item), self._depth).value(stage.expr, Use())
        return item

    def variable(self, node: Node, use: Use) -> Value:
        """Return what a variable holds."""
        value = self._variable(str(node.value or ""))
        for stage in [*(node.predicate or ()), *(node.stages or ())]:
            value = self._filtered(stage, value)
        self._scope.note(value, use)
        return value

    def literal(self, node: Node, _use: Use) -> Value:
        """Return a value that the expression writes out."""
        return literal(node.value)

    def binary(self, node: Node, use: Use) -> Value:
        """Note what an operator's operands must be."""
        operator = str(node.value)
        if operator in _ARITHMETIC:
            number = replace(use, types=NUMBER, needed=True, passed_on=False)
            return self._both(node, number, number)
        if operator in _ORDERS or operator in ("=", "!=", "in"):
            self._compare(node, operator)
        elif operator == "..":
            self._both(node, Use(types=NUMBER), Use(types=NUMBER))
        else:
            self._both(node, Use(), Use())
        return UNKNOWN

    def _both(self, node: Node, first: Use, second: Use) -> Value:
        self.value(node.lhs, first)
        self.value(node.rhs, second)
        return UNKNOWN

    def _compare(self, node: Node, operator: str) -> None:
        left, right = self.value(node.lhs, Use()), self.value(node.rhs, Use())
        for value, other in ((left, node.rhs), (right, node.lhs)):
            for one in _constants(other):
                self._scope.note(
                    value, Use(types=_type_of(one), compared=write(one) if operator in ("=", "in") else None)
                )

    def condition(self, node: Node, use: Use) -> Value:
        """Evaluate the branches of a condition, of which only one runs."""
        self.value(node.condition, Use())
        branch = replace(use, must=False)
        other = getattr(node, "_else", None)
        first = self.value(node.then, branch)
        return joined(first, self.value(other, branch)) if other is not None else joined(first, UNKNOWN)

    def unary(self, node: Node, use: Use) -> Value:
        """Return the object, list or negative number that is put together."""
        if node.value == "{":
            members = {str(name.value): self.value(one, Use(passed_on=True)) for name, one in node.lhs_object}
            return record(members)
        if node.value == "[":
            for one in node.expressions:
                self.value(one, Use(passed_on=True))
            return UNKNOWN
        if getattr(node, "expression", None) is not None:
            self.value(node.expression, replace(use, types=NUMBER, needed=True, passed_on=False))
        return UNKNOWN

    def block(self, node: Node, use: Use) -> Value:
        """Evaluate the expressions of a block in their order; the last one is its value."""
        walk, last = self, UNKNOWN
        for number, one in enumerate(node.expressions):
            is_last = number == len(node.expressions) - 1
            if one.type == "bind":
                last = walk.value(one.rhs, Use())
                name = str(one.lhs.value)
                scope = walk._scope
                walk = _Walk(replace(scope, local={**scope.local, name: last}), self._depth)
            else:
                last = walk.value(one, use if is_last else Use())
        return last

    def bind(self, node: Node, use: Use) -> Value:
        """Evaluate what is bound."""
        return self.value(node.rhs, use)

    def function(self, node: Node, use: Use, first: Node = None) -> Value:
        """Note what a function's arguments must be."""
        given = cast(list[Node], node.arguments or [])
        arguments = given if first is None else [first, *given]
        name = str(getattr(node.procedure, "value", ""))
        if name == "merge" and len(arguments) == 1 and getattr(arguments[0], "expressions", None):
            return self._merge(arguments[0].expressions)
        wanted = ARGUMENTS.get(name, (ANY,))
        values: list[Value] = []
        for number, one in enumerate(arguments):
            types = wanted[min(number, len(wanted) - 1)]
            must = use.must and not number and name in UNDEFINED_WITHOUT
            passed_on = name not in ("exists", "count", "type", "boolean", "not")
            needed = types in (TEXT, NUMBER)
            inner = Use(must=must, types=types, needed=needed, passed_on=passed_on, tested=name == "exists")
            inner = replace(inner, loose=types == LIST)
            values.append(self._argument(one, inner, values))
        if name == "lookup" and len(values) > 1 and isinstance(key := literal_in(values[1]), str):
            found = part(values[0], (key,))
            self._scope.note(found, replace(use, must=False))
            return found
        return part(values[0], (EACH,)) if name == "single" and values else UNKNOWN

    def _argument(self, node: Node, use: Use, before: list[Value]) -> Value:
        if node.type != "lambda" or not before:
            return self.value(node, use)
        item = part(before[0], (EACH,))
        names = [str(one.value) for one in node.arguments]
        local = dict(zip(names, [item, UNKNOWN, before[0]], strict=False))
        scope = replace(self._scope, local={**self._scope.local, **local})
        return _Walk(scope, self._depth).value(node.body, Use())

    def _merge(self, parts: list[Node]) -> Value:
        merging: Value | None = None
        for one in parts:
            value = self.value(one, Use(types=OBJECT, passed_on=True))
            merging = value if merging is None else merged(merging, value)
        return merging or UNKNOWN

    def apply(self, node: Node, use: Use) -> Value:
        """Evaluate `value ~> $function(...)`."""
        if node.rhs.type == "function":
            return self.function(node.rhs, use, node.lhs)
        self._both(node, Use(passed_on=True), Use())
        return UNKNOWN

    def lambda_(self, node: Node, _use: Use) -> Value:
        """Evaluate the body of a function, whose arguments nobody knows."""
        self.value(node.body, Use())
        return UNKNOWN

    def _others(self, node: Node, _use: Use) -> Value:
        for name in ("lhs", "rhs", "expression", "body", "condition", "then"):
            inner = getattr(node, name, None)
            if inner is not None and hasattr(inner, "type"):
                self.value(inner, Use())
        return UNKNOWN


_KINDS: Final[dict[str, Callable[[_Walk, Node, Use], Value]]] = {
    "path": _Walk.path,
    "variable": _Walk.variable,
    "string": _Walk.literal,
    "number": _Walk.literal,
    "value": _Walk.literal,
    "binary": _Walk.binary,
    "condition": _Walk.condition,
    "unary": _Walk.unary,
    "block": _Walk.block,
    "bind": _Walk.bind,
    "function": _Walk.function,
    "apply": _Walk.apply,
    "lambda": _Walk.lambda_,
}


def _constants(node: Node) -> list[Json]:
    if node.type in ("string", "number", "value") and node.value is not None:
        return [node.value]
    if node.type == "unary" and node.value == "[":
        return [value for one in node.expressions for value in _constants(one)]
    return []


def _type_of(value: Json) -> frozenset[str]:
    if isinstance(value, bool):
        return FLAG
    return TEXT if isinstance(value, str) else NUMBER


def _condition(node: Node, scope: Scope) -> Condition:
    match node.type, str(node.value):
        case "binary", "and" | "or" as word:
            parts = (_condition(node.lhs, scope), _condition(node.rhs, scope))
            return All(parts) if word == "and" else AnyOf(parts)
        case "binary", "=" | "<" | "<=" | ">" | ">=" | "!=" | "in" as operator:
            return _comparison(node, operator, scope)
        case "function", _:
            return _test(node, scope)
        case "block", _ if len(node.expressions) == 1:
            return _condition(node.expressions[0], scope)
        case _:
            return Opaque()


def _comparison(node: Node, operator: str, scope: Scope) -> Condition:
    swapped = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
    for side, other, word in ((node.lhs, node.rhs, operator), (node.rhs, node.lhs, swapped.get(operator, operator))):
        constants = _constants(other)
        if not constants or (operator == "in" and side is node.rhs):
            continue
        value = _quietly(side, scope)
        if word == "in":
            return AnyOf(tuple(Compares(value, "=", write(one)) for one in constants))
        compares = Compares(value, "=" if word == "!=" else word, write(constants[0]))
        return Not(compares) if word == "!=" else compares
    return Opaque()


def _test(node: Node, scope: Scope) -> Condition:
    name = str(getattr(node.procedure, "value", ""))
    if not node.arguments:
        return Opaque()
    if name == "exists":
        return IsThere(_quietly(node.arguments[0], scope))
    return Not(_condition(node.arguments[0], scope)) if name == "not" else Opaque()


def _quietly(node: Node, scope: Scope) -> Value:
    reads = replace(scope.reads, found=[])
    return _Walk(replace(scope, reads=reads)).value(node, Use())
