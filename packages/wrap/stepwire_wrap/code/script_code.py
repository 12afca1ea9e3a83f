"""JavaScript and TypeScript, by the grammars of tree-sitter (the extra `javascript`)."""

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Final

import tree_sitter
import tree_sitter_javascript
import tree_sitter_typescript

from stepwire_wrap.code import tree
from stepwire_wrap.code.script_types import Node, inner_of, line_of, shape_of, string_of, text_of

_FUNCTIONS: Final = frozenset(
    {"arrow_function", "function_expression", "function_declaration", "generator_function_declaration", "function",
     "method_definition", "generator_function"}
)  # fmt: skip
_TRANSPARENT: Final = frozenset(
    {"await_expression", "parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression",
     "type_assertion"}
)  # fmt: skip
_EQUALITIES: Final = frozenset({"==", "===", "!=", "!=="})
_ORDERS: Final = frozenset({"<", "<=", ">", ">="})
_NUMERIC: Final = frozenset({"number", "string"})  # these operators make numbers of texts
_TYPEOF: Final = {
    "string": frozenset({"string"}),
    "number": frozenset({"number"}),
    "boolean": frozenset({"boolean"}),
    "object": frozenset({"object", "array", "null"}),
}
_HANDLER_TYPES: Final = frozenset({"Handler"})


@cache
def _parser(suffix: str) -> tree_sitter.Parser:
    if suffix in (".js", ".mjs", ".cjs", ".jsx"):
        language = tree_sitter_javascript.language()
    elif suffix == ".tsx":
        language = tree_sitter_typescript.language_tsx()
    else:
        language = tree_sitter_typescript.language_typescript()
    return tree_sitter.Parser(tree_sitter.Language(language))


def program_of(text: str, suffix: str) -> tree.Program:
    """Return a file as a program; what the grammar does not know is left out.

    Raises:
        ValueError: it is nested too deeply.
    """
    root = _parser(suffix).parse(text.encode()).root_node
    reader = _Reader()
    try:
        body = reader.block(root.named_children)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    methods = {name: found[0] for name, found in reader.methods.items() if len(found) == 1}
    return tree.Program(body, reader.imports, reader.shapes, methods, reader.exports)


class _Reader:
    """Reads one file."""

    def __init__(self) -> None:
        self.imports: dict[str, tree.Import] = {}
        self.shapes: dict[str, tree.Shape] = {}
        self.exports: dict[str, tree.Expression] = {}
        self.methods: dict[str, list[tree.Function]] = {}

    # --- statements

    def block(self, nodes: Iterable[Node]) -> tuple[tree.Statement, ...]:
        """Return statements; functions come first, because they are known before they stand there."""
        made = [one for node in nodes for one in self._statement(node)]
        return (
            *(one for one in made if isinstance(one, tree.Define)),
            *(one for one in made if not isinstance(one, tree.Define)),
        )

    def _body(self, node: Node | None) -> tuple[tree.Statement, ...]:
        if node is None:
            return ()
        return self.block(inner_of(node)) if node.type in ("statement_block", "else_clause") else self.block([node])

    def _statement(self, node: Node) -> Iterator[tree.Statement]:
        kind = _STATEMENTS.get(node.type)
        if kind is not None:
            yield from kind(self, node)
        elif node.type not in ("comment", "empty_statement"):
            yield tree.Evaluate(self.expression(node))

    def variables(self, node: Node) -> Iterator[tree.Statement]:
        for one in inner_of(node):
            target, value = one.child_by_field_name("name"), one.child_by_field_name("value")
            if one.type != "variable_declarator" or target is None or value is None:
                continue
            if (module := _required(value)) is not None:
                self._imported(target, module)
                continue
            made = self.expression(value)
            if isinstance(made, tree.Function):
                made = self._with_type(made, one.child_by_field_name("type"))
            yield tree.Bind(self.pattern(target), made)

    def _with_type(self, made: tree.Function, annotation: Node | None) -> tree.Function:
        """Return a function with the event's type of `const handler: Handler<Event> = ...`."""
        named = None if annotation is None else next((one for one in inner_of(annotation)), None)
        if named is None or named.type != "generic_type" or not made.parameters:
            return made
        name, arguments = named.child_by_field_name("name"), named.child_by_field_name("type_arguments")
        if text_of(name) not in _HANDLER_TYPES or arguments is None or made.parameters[0].declared is not None:
            return made
        first = tree.Parameter(made.parameters[0].target, shape_of(inner_of(arguments)[0]), made.parameters[0].default)
        return tree.Function((first, *made.parameters[1:]), made.body, made.decorators, made.line)

    def _imported(self, target: Node, module: tree.Import) -> None:
        if target.type == "identifier":
            self.imports[text_of(target)] = module
        for one in inner_of(target) if target.type == "object_pattern" else []:
            key = one.child_by_field_name("key") or one
            value = one.child_by_field_name("value") or one
            if value.type in ("identifier", "shorthand_property_identifier_pattern"):
                self.imports[text_of(value)] = tree.Import(module.module, text_of(key))

    def import_(self, node: Node) -> Iterator[tree.Statement]:
        source = node.child_by_field_name("source")
        for clause in (one for one in inner_of(node) if one.type == "import_clause" and source is not None):
            for one in inner_of(clause):
                self._import_names(one, string_of(source) if source is not None else "")
        return iter(())

    def _import_names(self, node: Node, module: str) -> None:
        if node.type == "identifier":
            self.imports[text_of(node)] = tree.Import(module, "default")
        elif node.type == "namespace_import":
            self.imports[text_of(inner_of(node)[0])] = tree.Import(module)
        for one in inner_of(node) if node.type == "named_imports" else []:
            name = one.child_by_field_name("name")
            self.imports[text_of(one.child_by_field_name("alias") or name)] = tree.Import(module, text_of(name))

    def export(self, node: Node) -> Iterator[tree.Statement]:
        declaration, value = node.child_by_field_name("declaration"), node.child_by_field_name("value")
        source = node.child_by_field_name("source")
        if declaration is not None:
            yield from self._statement(declaration)
            if any(one.type == "default" for one in node.children):
                self.exports["default"] = tree.Name(text_of(declaration.child_by_field_name("name")))
        elif value is not None:
            self.exports["default"] = self.expression(value)
        for clause in (one for one in inner_of(node) if one.type == "export_clause"):
            for one in inner_of(clause):
                name = text_of(one.child_by_field_name("name"))
                shown = text_of(one.child_by_field_name("alias")) or name
                if source is not None:
                    self.imports[shown] = tree.Import(string_of(source), name)
                elif shown != name:
                    self.exports[shown] = tree.Name(name)

    def expression_statement(self, node: Node) -> Iterator[tree.Statement]:
        inner = inner_of(node)[0] if inner_of(node) else None
        if inner is None or inner.type != "assignment_expression":
            yield from (tree.Evaluate(self.expression(one)) for one in inner_of(node))
            return
        left, right = inner.child_by_field_name("left"), inner.child_by_field_name("right")
        if left is None or right is None:
            return
        value, name = self.expression(right), text_of(left)
        if name.startswith(("exports.", "module.exports.")):
            self.exports[name.rpartition(".")[2]] = value
            if isinstance(value, tree.Function):
                yield tree.Bind(tree.Name(name.rpartition(".")[2]), value)
        elif name == "module.exports":
            self.exports |= dict(value.members) if isinstance(value, tree.Made) else {"module.exports": value}
        else:
            yield tree.Bind(self.pattern(left), value)

    def function_statement(self, node: Node) -> Iterator[tree.Statement]:
        yield tree.Define(text_of(node.child_by_field_name("name")), self.function(node))

    def class_(self, node: Node) -> Iterator[tree.Statement]:
        body = node.child_by_field_name("body")
        for one in inner_of(body) if body is not None else []:
            name = text_of(one.child_by_field_name("name"))
            value = one.child_by_field_name("value")
            if one.type == "method_definition":
                self.methods.setdefault(name, []).append(self.function(one))
            elif value is not None and value.type in _FUNCTIONS:
                self.methods.setdefault(name, []).append(self.function(value))
        return iter(())

    def if_(self, node: Node) -> Iterator[tree.Statement]:
        test = self._field(node, "condition")
        ways = (
            self._body(node.child_by_field_name("consequence")),
            self._body(node.child_by_field_name("alternative")),
        )
        yield tree.If(test, ways)

    def switch(self, node: Node) -> Iterator[tree.Statement]:
        body, ways, values = node.child_by_field_name("body"), list[tuple[tree.Statement, ...]](), list[tree.Literal]()
        for one in inner_of(body) if body is not None else []:
            value = one.child_by_field_name("value")
            ways.append(self.block([inner for inner in inner_of(one) if inner != value]))
            made = None if value is None else self.expression(value)
            values += [made] if isinstance(made, tree.Literal) else []
        test = self._field(node, "value")
        subject = tree.Compares(test, tuple(values)) if values else test
        yield tree.If(tree.Several((subject,), is_text=True), tuple(ways))  # its cases are no test of it

    def for_in(self, node: Node) -> Iterator[tree.Statement]:
        left, of = node.child_by_field_name("left"), self._field(node, "right")
        is_of = any(one.type == "of" for one in node.children)
        target = self.pattern(left) if left is not None and is_of else None
        yield tree.Loop(target, of, self._body(node.child_by_field_name("body")))

    def while_(self, node: Node) -> Iterator[tree.Statement]:
        parts = [node.child_by_field_name(name) for name in ("initializer", "condition", "increment")]
        for one in parts[:1]:
            yield from self._statement(one) if one is not None else ()
        test = tree.Several(tuple(self.expression(one) for one in parts[1:] if one is not None), is_text=True)
        yield tree.If(test, (self._body(node.child_by_field_name("body")), ()))

    def try_(self, node: Node) -> Iterator[tree.Statement]:
        handler, last = node.child_by_field_name("handler"), node.child_by_field_name("finalizer")
        caught = () if handler is None else self._body(handler.child_by_field_name("body"))
        final = () if last is None else self._body(last.child_by_field_name("body"))
        body = self._body(node.child_by_field_name("body"))
        yield tree.Try(body, (caught,), final)

    def leave(self, node: Node) -> Iterator[tree.Statement]:
        inner = inner_of(node)
        value = self.expression(inner[0]) if inner else tree.Literal(None)
        yield tree.Leave(value, is_failure=node.type == "throw_statement")

    def nested(self, node: Node) -> Iterator[tree.Statement]:
        yield from self.block(inner_of(node))

    def interface(self, node: Node) -> Iterator[tree.Statement]:
        body = node.child_by_field_name("body") or node.child_by_field_name("value")
        shape = tree.Shape() if body is None else shape_of(body)
        parents = [one for clause in inner_of(node) if clause.type == "extends_type_clause" for one in inner_of(clause)]
        name = text_of(parents[0]) if parents else shape.name
        made = tree.Shape(shape.types, shape.members, shape.items, shape.values, name)
        self.shapes[text_of(node.child_by_field_name("name"))] = made
        return iter(())

    def enum(self, node: Node) -> Iterator[tree.Statement]:
        body = node.child_by_field_name("body")
        values = [one.child_by_field_name("value") for one in (inner_of(body) if body is not None else [])]
        texts = [string_of(one) for one in values if one is not None and one.type == "string"]
        if texts and len(texts) == len(values):
            shape = tree.Shape(frozenset({"string"}), values=tuple(texts))
            self.shapes[text_of(node.child_by_field_name("name"))] = shape
        return iter(())

    # --- expressions

    def _field(self, node: Node, name: str) -> tree.Expression:
        found = node.child_by_field_name(name)
        return tree.Several() if found is None else self.expression(found)

    def expression(self, node: Node) -> tree.Expression:
        """Return an expression."""
        if node.type in _FUNCTIONS:
            return self.function(node)
        if node.type in _TRANSPARENT:
            inner = inner_of(node)
            return self.expression(inner[0 if node.type != "type_assertion" else -1]) if inner else tree.Several()
        kind = _EXPRESSIONS.get(node.type)
        return (
            kind(self, node)
            if kind is not None
            else tree.Several(tuple(self.expression(one) for one in inner_of(node)))
        )

    def function(self, node: Node) -> tree.Function:
        """Return a function."""
        given = node.child_by_field_name("parameters")
        single = node.child_by_field_name("parameter")
        parameters = [tree.Parameter(self.pattern(single))] if single is not None else []
        parameters += [self._parameter(one) for one in (inner_of(given) if given is not None else [])]
        body = node.child_by_field_name("body")
        if body is not None and body.type != "statement_block":
            return tree.Function(tuple(parameters), (tree.Leave(self.expression(body)),), (), line_of(node))
        return tree.Function(tuple(parameters), self._body(body), (), line_of(node))

    def _parameter(self, node: Node) -> tree.Parameter:
        if node.type in ("required_parameter", "optional_parameter"):
            pattern, annotation = node.child_by_field_name("pattern"), node.child_by_field_name("type")
            declared = None if annotation is None else shape_of(inner_of(annotation)[0])
            return tree.Parameter(None if pattern is None else self.pattern(pattern), declared)
        return tree.Parameter(self.pattern(node))

    def member(self, node: Node) -> tree.Expression:
        is_guarded = any(one.type == "optional_chain" for one in node.children)
        key = node.child_by_field_name("property")
        if node.type == "subscript_expression":
            made = self._field(node, "index")
        else:
            made = tree.Literal(text_of(key), line_of(node) if key is None else line_of(key))
        return tree.Get(self._field(node, "object"), made, line_of(node), is_guarded=is_guarded)

    def call(self, node: Node) -> tree.Expression:
        callee = node.child_by_field_name("function") or node.child_by_field_name("constructor")
        given = node.child_by_field_name("arguments")
        arguments = [self.expression(one) for one in (inner_of(given) if given is not None else [])]
        if text_of(callee) == "Array.isArray" and arguments:
            return tree.TypeTest(arguments[0], frozenset({"array"}))
        return tree.Call(
            tree.Several() if callee is None else self.expression(callee), tuple(arguments), line=line_of(node)
        )

    def object(self, node: Node) -> tree.Expression:
        members: dict[str, tree.Expression] = {}
        spread: list[tree.Expression] = []
        parts: list[tree.Expression] = []
        for one in inner_of(node):
            key, value = one.child_by_field_name("key"), one.child_by_field_name("value")
            if one.type == "spread_element":
                spread += [self.expression(inner) for inner in inner_of(one)]
            elif one.type == "shorthand_property_identifier":
                members[text_of(one)] = tree.Name(text_of(one), line_of(one))
            elif one.type == "method_definition":
                members[text_of(one.child_by_field_name("name"))] = self.function(one)
            elif key is not None and value is not None and key.type in ("property_identifier", "string"):
                members[string_of(key) if key.type == "string" else text_of(key)] = self.expression(value)
            else:
                parts += [self.expression(inner) for inner in inner_of(one)]
        return tree.Made(members, tuple(spread), tuple(parts))

    def binary(self, node: Node) -> tree.Expression:
        operator = text_of(node.child_by_field_name("operator"))
        left, right = self._field(node, "left"), self._field(node, "right")
        if operator in ("||", "??"):
            return tree.Branch(left, (right,), is_value=True)
        if operator == "&&":
            return tree.Branch(left, (right,), is_both=True)
        if operator == "in":
            return tree.Holds(right, left, line_of(node))
        for one, other, name in ((left, right, "right"), (right, left, "left")):
            if operator in _EQUALITIES and isinstance(other, tree.Literal):
                is_missing = _is_missing(node.child_by_field_name(name), operator)
                made = _equal(one, other, is_missing=is_missing)
                return tree.Not(made) if operator.startswith("!") else made
            if operator in _ORDERS and isinstance(other, tree.Literal) and type(other.value) in (int, float):
                return tree.Needs(one, _NUMERIC)
        return tree.Several((left, right), is_text=True)

    def unary(self, node: Node) -> tree.Expression:
        argument = self._field(node, "argument")
        operator = text_of(node.child_by_field_name("operator"))
        if operator == "typeof":
            return tree.TypeTest(argument)
        if operator == "!":
            return tree.Not(argument)
        return tree.Several((argument,), is_text=True)

    def ternary(self, node: Node) -> tree.Expression:
        ways = (self._field(node, "consequence"), self._field(node, "alternative"))
        return tree.Branch(self._field(node, "condition"), ways)

    def template(self, node: Node) -> tree.Expression:
        return tree.Several(
            tuple(self.expression(one) for part in inner_of(node) for one in inner_of(part)), is_text=True
        )

    def number(self, node: Node) -> tree.Expression:
        try:
            value = ast.literal_eval(text_of(node))
        except (SyntaxError, ValueError):
            return tree.Several()
        return tree.Literal(value, line_of(node)) if isinstance(value, int | float) else tree.Several()

    def assigned(self, node: Node) -> tree.Expression:
        return self._field(node, "right")

    # --- patterns

    def pattern(self, node: Node) -> tree.Pattern:
        """Return what is bound."""
        match node.type:
            case "identifier" | "shorthand_property_identifier_pattern":
                return tree.Name(text_of(node), line_of(node))
            case "object_pattern":
                return self._fields(node)
            case "array_pattern":
                return tree.Items(tuple(self.pattern(one) for one in inner_of(node)))
            case "assignment_pattern":
                left = node.child_by_field_name("left")
                return None if left is None else self.pattern(left)
            case "member_expression" | "subscript_expression":
                made = self.member(node)
                return made if isinstance(made, tree.Get) else None
            case _:
                return None

    def _fields(self, node: Node) -> tree.Fields:
        fields: list[tree.Field] = []
        rest: str | None = None
        for one in inner_of(node):
            key, value = one.child_by_field_name("key"), one.child_by_field_name("value")
            left, right = one.child_by_field_name("left"), one.child_by_field_name("right")
            if one.type == "rest_pattern":
                rest = text_of(inner_of(one)[0])
            elif one.type == "shorthand_property_identifier_pattern":
                fields.append(tree.Field(text_of(one), self.pattern(one)))
            elif one.type == "object_assignment_pattern" and left is not None and right is not None:
                fields.append(tree.Field(text_of(left), self.pattern(left), self.expression(right)))
            elif key is not None and value is not None and key.type in ("property_identifier", "string"):
                default = value.child_by_field_name("right") if value.type == "assignment_pattern" else None
                name = string_of(key) if key.type == "string" else text_of(key)
                made = None if default is None else self.expression(default)
                fields.append(tree.Field(name, self.pattern(value), made))
        return tree.Fields(tuple(fields), rest, line_of(node))


def _equal(value: tree.Expression, other: tree.Literal, *, is_missing: bool) -> tree.Expression:
    """Return the test whether a value equals one that is written out; `is_missing`: as a missing one does."""
    if isinstance(value, tree.TypeTest):
        name = str(other.value)
        return tree.Lacks(value.of) if name == "undefined" else tree.TypeTest(value.of, _TYPEOF.get(name, frozenset()))
    return tree.Lacks(value) if is_missing else tree.Compares(value, (other,))


def _is_missing(node: Node | None, operator: str) -> bool:
    kind = "" if node is None else node.type
    return kind == "undefined" or (kind == "null" and operator in ("==", "!="))


def _required(node: Node) -> tree.Import | None:
    """Return what `require("./module")` imports."""
    match node.type:
        case "call_expression" if text_of(node.child_by_field_name("function")) == "require":
            given = node.child_by_field_name("arguments")
            inner = inner_of(given) if given is not None else []
            return tree.Import(string_of(inner[0])) if inner and inner[0].type == "string" else None
        case "member_expression":
            of = node.child_by_field_name("object")
            found = None if of is None else _required(of)
            return None if found is None else tree.Import(found.module, text_of(node.child_by_field_name("property")))
        case _:
            return None


_STATEMENTS: Final[dict[str, Callable[[Any, Node], Iterator[tree.Statement]]]] = {
    **dict.fromkeys(("lexical_declaration", "variable_declaration"), _Reader.variables),
    "import_statement": _Reader.import_,
    "export_statement": _Reader.export,
    "expression_statement": _Reader.expression_statement,
    **dict.fromkeys(("function_declaration", "generator_function_declaration"), _Reader.function_statement),
    **dict.fromkeys(("class_declaration", "abstract_class_declaration"), _Reader.class_),
    "if_statement": _Reader.if_,
    "switch_statement": _Reader.switch,
    "for_in_statement": _Reader.for_in,
    **dict.fromkeys(("while_statement", "do_statement", "for_statement"), _Reader.while_),
    "try_statement": _Reader.try_,
    **dict.fromkeys(("return_statement", "throw_statement"), _Reader.leave),
    **dict.fromkeys(("statement_block", "else_clause", "labeled_statement"), _Reader.nested),
    **dict.fromkeys(("interface_declaration", "type_alias_declaration"), _Reader.interface),
    "enum_declaration": _Reader.enum,
}
_EXPRESSIONS: Final[dict[str, Callable[[Any, Node], tree.Expression]]] = {
    **dict.fromkeys(
        ("identifier", "this", "shorthand_property_identifier"),
        lambda _reader, node: tree.Name(text_of(node), line_of(node)),
    ),
    "string": lambda _reader, node: tree.Literal(string_of(node), line_of(node)),
    "number": _Reader.number,
    "true": lambda _reader, node: tree.Literal(value=True, line=line_of(node)),
    "false": lambda _reader, node: tree.Literal(value=False, line=line_of(node)),
    **dict.fromkeys(("null", "undefined"), lambda _reader, node: tree.Literal(None, line_of(node))),
    **dict.fromkeys(("member_expression", "subscript_expression"), _Reader.member),
    **dict.fromkeys(("call_expression", "new_expression"), _Reader.call),
    "object": _Reader.object,
    "binary_expression": _Reader.binary,
    "unary_expression": _Reader.unary,
    "ternary_expression": _Reader.ternary,
    "template_string": _Reader.template,
    "assignment_expression": _Reader.assigned,
}
