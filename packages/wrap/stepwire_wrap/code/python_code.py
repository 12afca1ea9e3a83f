"""Python, by the syntax tree of the standard library."""

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from stepwire.json_text import write
from stepwire_wrap.code import tree

_NUMBER: Final = frozenset({"number"})
_TYPES: Final = {
    **dict.fromkeys(("str", "EmailStr", "HttpUrl", "UUID", "datetime", "date", "AnyUrl"), frozenset({"string"})),
    "float": _NUMBER,
    "int": frozenset({"integer"}),
    "bool": frozenset({"boolean"}),
    **dict.fromkeys(("dict", "Dict", "Mapping"), frozenset({"object"})),
    **dict.fromkeys(("list", "List", "Sequence", "set", "Set", "tuple", "Tuple"), frozenset({"array"})),
}
_OF_AND_TYPE: Final = 2  # arguments of isinstance
# What instances of a class are in JSON.
_CLASSES: Final[dict[str, frozenset[str]]] = {
    "str": frozenset({"string"}),
    "int": frozenset({"integer"}),
    "float": _NUMBER,
    "bool": frozenset({"boolean"}),
    "dict": frozenset({"object"}),
    "list": frozenset({"array"}),
}
_LISTS: Final = ("list", "List", "Sequence", "Iterable", "set", "Set")
_WRAPPERS: Final = ("Annotated", "Required", "NotRequired", "Final", "ClassVar", "Json")
_MODELS: Final = ("BaseModel", "TypedDict", "RootModel")
_CHECKED: Final = ("BaseModel", "dataclass")
_ARITHMETIC: Final = (ast.Sub, ast.Div, ast.FloorDiv, ast.Pow)
_SCALARS: Final = (str, int, float, bool)


def program_of(text: str) -> tree.Program:
    """Return a file as a program.

    Raises:
        ValueError: it is no Python that this one can parse.
    """
    try:
        parsed = ast.parse(text)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(str(error)) from None
    imports: dict[str, tree.Import] = {}
    methods: dict[str, list[tree.Function]] = {}
    shapes: dict[str, tree.Shape] = {}
    for node in ast.walk(parsed):
        match node:
            case ast.ImportFrom():
                module = "." * node.level + (node.module or "")
                imports |= {one.asname or one.name: tree.Import(module, one.name) for one in node.names}
            case ast.Import():
                imports |= {one.asname or one.name.partition(".")[0]: tree.Import(one.name) for one in node.names}
            case ast.ClassDef():
                shapes[node.name] = _model(node)
                for one in node.body:
                    if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                        methods.setdefault(one.name, []).append(_method(one))
            case _:
                pass
    known = {name: found[0] for name, found in methods.items() if len(found) == 1}
    return tree.Program(_block(parsed.body), imports, shapes, known)


def _method(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tree.Function:
    made = _function(node)
    is_static = any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in node.decorator_list)
    return made if is_static else tree.Function(made.parameters[1:], made.body, made.decorators, made.line)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tree.Function:
    given = [*node.args.posonlyargs, *node.args.args]
    defaults = [None] * (len(given) - len(node.args.defaults)) + [_expression(one) for one in node.args.defaults]
    parameters = [
        tree.Parameter(
            tree.Name(one.arg, one.lineno), None if one.annotation is None else _shape(one.annotation), default
        )
        for one, default in zip(given, defaults, strict=True)
    ]
    more = [tree.Parameter(tree.Name(one.arg, one.lineno)) for one in node.args.kwonlyargs]
    decorators = tuple(_expression(one) for one in node.decorator_list)
    return tree.Function((*parameters, *more), _block(node.body), decorators, node.lineno)


def _block(nodes: Iterable[ast.stmt]) -> tuple[tree.Statement, ...]:
    return tuple(one for node in nodes for one in _statement(node))


def _statement(node: ast.stmt) -> Iterator[tree.Statement]:  # noqa: C901, PLR0912 - a table of the kinds of statements
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield tree.Define(node.name, _function(node))
        case ast.Return():
            yield tree.Leave(tree.Literal(None) if node.value is None else _expression(node.value))
        case ast.Raise():
            yield tree.Leave(_several([one for one in (node.exc, node.cause) if one is not None]), is_failure=True)
        case ast.Assign():
            value = _expression(node.value)
            yield from (tree.Bind(_pattern(one), value) for one in node.targets)
        case ast.AnnAssign() if node.value is not None:
            yield tree.Bind(_pattern(node.target), _expression(node.value))
        case ast.AugAssign():
            yield tree.Bind(_pattern(node.target), _several([node.target, node.value]))
        case ast.If() | ast.While():
            yield tree.If(_expression(node.test), (_block(node.body), _block(node.orelse)))
        case ast.Assert():
            yield tree.If(_expression(node.test), ((), (tree.Leave(tree.Several(), is_failure=True),)))
        case ast.For() | ast.AsyncFor():
            yield _loop(node)
        case ast.Try() | ast.TryStar():
            handlers = tuple(_block(one.body) for one in node.handlers)
            yield tree.Try((*_block(node.body), *_block(node.orelse)), handlers, _block(node.finalbody))
        case ast.With() | ast.AsyncWith():
            yield from (tree.Evaluate(_expression(one.context_expr)) for one in node.items)
            yield tree.Try(_block(node.body), ((),))  # it may take an error for itself
        case ast.Match():
            subject = tree.Several((_expression(node.subject),), is_text=True)  # its cases are no test of it
            yield tree.If(subject, tuple(_block(one.body) for one in node.cases))
        case ast.ClassDef():
            return
        case _:
            parts = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
            yield from (tree.Evaluate(_expression(one)) for one in parts)


def _loop(node: ast.For | ast.AsyncFor) -> tree.Loop:
    target, of = _iterated(node.target, node.iter)
    return tree.Loop(target, of, (*_block(node.body), *_block(node.orelse)))


def _iterated(target: ast.expr, of: ast.expr) -> tuple[tree.Pattern, tree.Expression]:
    """Return what is bound to each item of what; `enumerate` only counts them."""
    match target, of:
        case ast.Tuple(elts=[_, inner]), ast.Call(func=ast.Name(id="enumerate"), args=[items, *_]):
            return _pattern(inner), _expression(items)
        case _:
            return _pattern(target), _expression(of)


def _pattern(node: ast.expr) -> tree.Pattern:
    match node:
        case ast.Name():
            return tree.Name(node.id, node.lineno)
        case ast.Tuple() | ast.List():
            return tree.Items(tuple(_pattern(one) for one in node.elts))
        case ast.Subscript():
            return tree.Get(_expression(node.value), _expression(node.slice), node.lineno)
        case _:
            return None


def _expression(node: ast.expr) -> tree.Expression:
    found = _KINDS.get(type(node))
    return (
        _several([one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)])
        if found is None
        else (found(node))
    )


def _several(nodes: Iterable[ast.expr], *, is_text: bool = False) -> tree.Several:
    return tree.Several(tuple(_expression(one) for one in nodes), is_text)


def _constant(node: ast.Constant) -> tree.Expression:
    return (
        tree.Literal(node.value, node.lineno)
        if isinstance(node.value, _SCALARS) or node.value is None
        else tree.Several()
    )


def _subscript(node: ast.Subscript) -> tree.Expression:
    if isinstance(node.slice, ast.Slice):
        return tree.Several((_expression(node.value),), is_text=True)
    return tree.Get(_expression(node.value), _expression(node.slice), node.lineno, is_strict=True)


def _call(node: ast.Call) -> tree.Expression:
    if isinstance(node.func, ast.Name) and node.func.id == "isinstance" and len(node.args) == _OF_AND_TYPE:
        return tree.TypeTest(_expression(node.args[0]), _types_of(node.args[1]))
    named = {one.arg: _expression(one.value) for one in node.keywords if one.arg is not None}
    spread = tuple(_expression(one.value) for one in node.keywords if one.arg is None)
    return tree.Call(_expression(node.func), tuple(map(_expression, node.args)), named, spread, node.lineno)


def _types_of(node: ast.expr) -> frozenset[str]:
    """Return the JSON types that are instances of classes; none if another value may be one too."""
    nodes = [node] if not isinstance(node, ast.Tuple) else node.elts
    found = [_CLASSES.get(one.id if isinstance(one, ast.Name) else "", frozenset[str]()) for one in nodes]
    return frozenset[str]().union(*found) if all(found) else frozenset()


def _dictionary(node: ast.Dict) -> tree.Expression:
    members: dict[str, tree.Expression] = {}
    spread: list[tree.Expression] = []
    parts: list[tree.Expression] = []
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            spread.append(_expression(value))
        elif isinstance(key, ast.Constant) and isinstance(key.value, str):
            members[key.value] = _expression(value)
        else:
            parts += [_expression(key), _expression(value)]
    return tree.Made(members, tuple(spread), tuple(parts))


def _comparison(node: ast.Compare) -> tree.Expression:
    operator, right = node.ops[0], node.comparators[0]
    is_one = len(node.ops) == 1
    if is_one and isinstance(operator, ast.IsNot | ast.NotEq | ast.NotIn):
        opposite = {ast.IsNot: ast.Is, ast.NotEq: ast.Eq, ast.NotIn: ast.In}[type(operator)]()
        made = ast.copy_location(ast.Compare(node.left, [opposite], node.comparators), node)
        return tree.Not(_comparison(made))
    literals = _literals(right)
    if is_one and isinstance(operator, ast.Is | ast.Eq) and isinstance(right, ast.Constant) and right.value is None:
        return tree.Lacks(_expression(node.left))
    if is_one and isinstance(operator, ast.In) and not literals:
        return tree.Holds(_expression(right), _expression(node.left), node.lineno)
    if is_one and literals and isinstance(operator, ast.Eq | ast.In):
        return tree.Compares(_expression(node.left), literals)
    if isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE) and _is_number(right):
        return tree.Needs(_expression(node.left), _NUMBER)
    return _several([node.left, *node.comparators], is_text=True)


def _literals(node: ast.expr) -> tuple[tree.Literal, ...]:
    nodes = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    found = [one for node in nodes if isinstance(one := _expression(node), tree.Literal)]
    return tuple(found) if len(found) == len(nodes) else ()


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _operation(node: ast.BinOp) -> tree.Expression:
    left, right = _expression(node.left), _expression(node.right)
    if isinstance(node.op, _ARITHMETIC):
        return tree.Several((tree.Needs(left, _NUMBER), tree.Needs(right, _NUMBER)))
    if isinstance(node.op, ast.Add | ast.Mult) and (_is_number(node.left) or _is_number(node.right)):
        kinds = _NUMBER if isinstance(node.op, ast.Add) else frozenset[str]()
        return tree.Several((tree.Needs(left, kinds), tree.Needs(right, kinds)))
    return tree.Several((left, right), is_text=True)


def _choice(node: ast.IfExp) -> tree.Expression:
    return tree.Branch(_expression(node.test), (_expression(node.body), _expression(node.orelse)))


def _either(node: ast.BoolOp) -> tree.Expression:
    first, *rest = map(_expression, node.values)
    is_or = isinstance(node.op, ast.Or)
    return tree.Branch(first, tuple(rest), is_value=is_or, is_both=not is_or)


def _comprehension(node: Any) -> tree.Expression:
    parts = [node.elt] if hasattr(node, "elt") else [node.key, node.value]
    body: tuple[tree.Expression, ...] = tuple(map(_expression, parts))
    for one in reversed(node.generators):
        target, of = _iterated(one.target, one.iter)
        body = (tree.Each(target, of, (*map(_expression, one.ifs), *body)),)
    return body[0]


def _lambda(node: ast.Lambda) -> tree.Expression:
    parameters = tuple(tree.Parameter(tree.Name(one.arg)) for one in node.args.args)
    return tree.Function(parameters, (tree.Leave(_expression(node.body)),), (), node.lineno)


_KINDS: Final[dict[type[ast.expr], Callable[[Any], tree.Expression]]] = {
    ast.Constant: _constant,
    ast.Name: lambda node: tree.Name(node.id, node.lineno),
    ast.Attribute: lambda node: tree.Attribute(_expression(node.value), node.attr, node.lineno),
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.Dict: _dictionary,
    ast.Compare: _comparison,
    ast.BinOp: _operation,
    ast.UnaryOp: lambda node: (
        tree.Not(_expression(node.operand)) if isinstance(node.op, ast.Not) else _several([node.operand])
    ),
    ast.IfExp: _choice,
    ast.BoolOp: _either,
    ast.JoinedStr: lambda node: tree.Several(tuple(map(_expression, node.values)), is_text=True),
    ast.FormattedValue: lambda node: tree.Several((_expression(node.value),), is_text=True),
    ast.Await: lambda node: _expression(node.value),
    ast.NamedExpr: lambda node: _expression(node.value),
    ast.Lambda: _lambda,
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), _comprehension),
}


def _model(node: ast.ClassDef) -> tree.Shape:
    """Return what a class says of the values that it is made of; its base classes by name are added later."""
    bases = [_last_name(one) for one in node.bases]
    marks = {*bases, *(_last_name(one.func if isinstance(one, ast.Call) else one) for one in node.decorator_list)}
    if "Enum" in marks or "StrEnum" in marks:
        values = [_text(one.value) for one in node.body if isinstance(one, ast.Assign)]
        return tree.Shape(frozenset({"string"}), values=tuple(values)) if all(values) else tree.Shape()
    members: dict[str, tree.Declared] = {}
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and not one.target.id.startswith("_"):
            name, declared = _member(one, one.target.id)
            members[name] = declared
    is_total = not any(one.arg == "total" and not getattr(one.value, "value", True) for one in node.keywords)
    if not is_total:
        members = {name: replace(one, is_required=False) for name, one in members.items()}
    parent = next((one for one in bases if one and one not in (*_MODELS, "Enum", "str", "object")), "")
    return tree.Shape(frozenset({"object"}), members, name=parent, is_checked=bool(marks & set(_CHECKED)))


def _member(node: ast.AnnAssign, name: str) -> tuple[str, tree.Declared]:
    shape, said, default = _shape(node.annotation), "", ""
    is_required = node.value is None and _last_name(_outer(node.annotation)) != "NotRequired"
    if isinstance(node.value, ast.Call) and _last_name(node.value.func) in ("Field", "field"):
        given = {one.arg: one.value for one in node.value.keywords}
        first = node.value.args[0] if node.value.args else given.get("default")
        is_required = "default_factory" not in given and (
            first is None or (isinstance(first, ast.Constant) and first.value is Ellipsis)
        )
        said, alias = _text(given.get("description")), _text(given.get("alias", given.get("validation_alias")))
        name = alias or name
    elif isinstance(node.value, ast.Constant) and isinstance(node.value.value, _SCALARS):
        default = write(node.value.value)
    return name, tree.Declared(shape, node.lineno, is_required, said, default)


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _outer(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Subscript) else node


def _last_name(node: ast.expr) -> str:
    node = _outer(node)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _shape(node: ast.expr) -> tree.Shape:
    """Return what an annotation says."""
    match node:
        case ast.Constant(value=str(text)):
            try:
                return _shape(ast.parse(text, mode="eval").body)
            except SyntaxError:
                return tree.Shape()
        case ast.BinOp(op=ast.BitOr()):
            return _either_shape([node.left, node.right])
        case ast.Subscript():
            return _generic(node)
        case _:
            name = _last_name(node)
            return tree.Shape(_TYPES[name]) if name in _TYPES else tree.Shape(name=name)


def _generic(node: ast.Subscript) -> tree.Shape:
    name = _last_name(node.value)
    inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name in ("Optional", "Union"):
        return _either_shape([*inner, *([ast.Constant(None)] if name == "Optional" else [])])
    if name == "Literal":
        values = tuple(one.value for one in inner if isinstance(one, ast.Constant) and isinstance(one.value, _SCALARS))
        is_texts = bool(values) and all(isinstance(one, str) for one in values)
        return tree.Shape(frozenset({"string"}) if is_texts else frozenset(), values=values if is_texts else ())
    if name in _WRAPPERS:
        return _shape(inner[0])
    if name in _LISTS:
        return tree.Shape(frozenset({"array"}), items=_shape(inner[0]))
    return tree.Shape(_TYPES.get(name, frozenset()))


def _either_shape(nodes: Iterable[ast.expr]) -> tree.Shape:
    """Return what a union says; null beside a type leaves only its name, because the member may be missing too."""
    kinds = [one for one in nodes if not (isinstance(one, ast.Constant) and one.value is None)]
    shapes = [_shape(one) for one in kinds]
    if len(shapes) == 1:
        one = shapes[0]
        return tree.Shape(
            one.types | {"null"} if one.types else one.types, one.members, one.items, one.values, one.name
        )
    types = frozenset[str]().union(*(one.types for one in shapes))
    return tree.Shape(types if all(one.types for one in shapes) else frozenset())
