"""Calls: into functions of the program, which are followed, and of what the language has, which is known."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from stepwire_wrap.code import methods, tree
from stepwire_wrap.code.notes import DEEPEST, Notes
from stepwire_wrap.code.values import (
    ANYTHING,
    JSON_TEXT,
    At,
    Class,
    Code,
    Converted,
    File,
    Known,
    Object,
    Scope,
    Value,
    either,
    item,
    merged,
    or_default,
    paths_of,
)

_OF_SAME: Final = ("filter", "sort")  # methods of a list that return such a list


class Calls(Notes):
    """Follows calls."""

    @abstractmethod
    def value(self, node: tree.Expression, scope: Scope) -> Value:
        """Return what an expression may be, and note what it reads."""

    @abstractmethod
    def bind(self, target: tree.Pattern, value: Value, scope: Scope) -> None:
        """Give a value to names."""

    @abstractmethod
    def block(self, statements: Sequence[tree.Statement], scope: Scope) -> bool:
        """Follow statements, and tell whether the function may end in them without an error."""

    def called(self, node: tree.Call, scope: Scope) -> Value:
        """Follow a call, and return what it may give."""
        name = dotted(node.callee)
        if name is not None and (name in methods.LOGS or name.partition(".")[0] in methods.LOGS):
            return self._logged(node, scope)
        function = self._callee(node, scope)
        if function is not None:
            return self._follow(function, node, scope)
        known = self._of_the_language(name, node, scope) if name is not None else None
        if known is not None:
            return known
        if isinstance(node.callee, tree.Get | tree.Attribute):
            return self._method(node, scope)
        self.value(node.callee, scope)
        return self._unknown(node, scope)

    def _logged(self, node: tree.Call, scope: Scope) -> Value:
        was, self.is_quiet = self.is_quiet, True
        for one in (*node.arguments, *node.named.values()):
            self.value(one, scope)
        self.is_quiet = was
        return ANYTHING

    def _callee(self, node: tree.Call, scope: Scope) -> Code | Class | None:
        """Return the function of the program that is called."""
        match node.callee:
            case tree.Name():
                value = self.named(node.callee.name, scope)
            case tree.Attribute(of=tree.Name()) | tree.Get(of=tree.Name(), key=tree.Literal()):
                value = self.value(node.callee, scope) if self._is_file(node.callee.of, scope) else ()
            case tree.Function():
                value = self.value(node.callee, scope)
            case _:
                return None
        return next((one for one in value if isinstance(one, Code | Class)), None)

    def _is_file(self, node: tree.Expression, scope: Scope) -> bool:
        return any(isinstance(one, File) for one in self.value(node, scope))

    def _follow(self, called: Code | Class, node: tree.Call, scope: Scope) -> Value:
        given = [self.value(one, scope) for one in node.arguments]
        named = {name: self.value(one, scope) for name, one in node.named.items()}
        if isinstance(called, Class):
            for value in (self.value(one, scope) for one in node.spread):
                self.declared(value, called.shape, called.scope)
            for value in (*given, *named.values()):
                self.escape(value, node.line, scope)
            return ANYTHING
        for one in node.spread:
            self.escape(self.value(one, scope), node.line, scope)
        return self.run(called, given, named)

    def run(self, code: Code, given: Sequence[Value], named: Mapping[str, Value] | None = None) -> Value:
        """Follow a function with these arguments, and return what it may return."""
        if len(self.calls) >= DEEPEST or code.function in self.calls:
            for one in (*given, *(named or {}).values()):
                self.escape(one, code.function.line, code.scope)
            return ANYTHING
        scope = Scope({}, code.scope.program, code.scope.place, code.scope)
        for number, one in enumerate(code.function.parameters):
            value = given[number] if number < len(given) else ANYTHING
            if isinstance(one.target, tree.Name) and named:
                value = named.get(one.target.name, value)
            if one.declared is not None:
                self.declared(value, one.declared, code.scope.outermost, is_checked=False)
            self.bind(one.target, value, scope)
        self.calls.append(code.function)
        self.returned.append([])
        self.block(code.function.body, scope)
        self.calls.pop()
        return either(*self.returned.pop()) or ANYTHING

    def _of_the_language(self, name: str, node: tree.Call, scope: Scope) -> Value | None:
        """Return what a known function of the language gives; None if it is none."""
        last = name.rpartition(".")[2]
        if last in methods.EVENT_PARSERS and (made := self._parsed(name, node, scope)):
            return made
        for names, act in self._known().items():
            if name in names:
                values = [self.value(one, scope) for one in (*node.arguments, *node.named.values())]
                return act(values, node, scope)
        return None

    def _known(self) -> "Mapping[frozenset[str], Callable[[list[Value], tree.Call, Scope], Value]]":
        return {
            methods.SAME: self._same,
            frozenset({methods.MERGES}): self._merged,
            methods.PARSES: self._from_json,
            methods.KEYS: self._keys,
            methods.TYPE_TESTS: self._type_tested,
            frozenset(methods.NUMBERS): self._number,
            methods.HARMLESS: lambda _values, _node, _scope: ANYTHING,
            frozenset(methods.TEXTS): self._texts,
        }

    def _same(self, values: list[Value], _node: tree.Call, _scope: Scope) -> Value:
        return either(*values) or ANYTHING

    def _merged(self, values: list[Value], _node: tree.Call, _scope: Scope) -> Value:
        into = values[0] if values else ANYTHING
        for one in values[1:]:
            self._change(into, one)
            into = merged(into, one)
        return into

    def _change(self, value: Value, given: Value = ANYTHING) -> None:
        """Note that a value gets the members of another one."""
        made = given[0] if len(given) == 1 else None
        names = [(name,) for name, _ in made.members] if isinstance(made, Object) and not made.base else [()]
        self.changed |= {(*path, *name) for path in paths_of(value) for name in names}

    def _from_json(self, values: list[Value], node: tree.Call, scope: Scope) -> Value:
        if not values:
            return ANYTHING
        self.note(values[0], node.line, scope, types=frozenset({"string"}))
        return tuple(At((*one.path, JSON_TEXT)) if isinstance(one, At) else ANYTHING[0] for one in values[0])

    def _keys(self, values: list[Value], node: tree.Call, scope: Scope) -> Value:
        for one in values:
            self.note(one, node.line, scope, types=frozenset({"object"}), passed_on=True)
        return ANYTHING

    def _type_tested(self, values: list[Value], _node: tree.Call, _scope: Scope) -> Value:
        self.type_tested |= {path for value in values[:1] for path in paths_of(value)}
        return ANYTHING

    def _number(self, values: list[Value], node: tree.Call, scope: Scope) -> Value:
        value = values[0] if values else ANYTHING
        self.note(value, node.line, scope, types=methods.NUMBERS[dotted(node.callee) or ""])
        return tuple(Converted(one.path) if isinstance(one, At) else one for one in value)

    def _texts(self, values: list[Value], node: tree.Call, scope: Scope) -> Value:
        for one in values:
            self.note(one, node.line, scope, types=frozenset({"string"}))
        return ANYTHING

    def _parsed(self, name: str, node: tree.Call, scope: Scope) -> Value | None:
        """Return what comes of a value that a model checks: `Order.model_validate(event)`, `parse(event, Order)`."""
        values = [self.value(one, scope) for one in (*node.arguments, *node.named.values())]
        owner = node.callee.of if isinstance(node.callee, tree.Attribute) else None
        values += [self.value(owner, scope)] if owner is not None else []
        classes = [one for value in values for one in value if isinstance(one, Class)]
        if not classes or not name:
            return None
        for value in values:
            self.declared(value, classes[0].shape, classes[0].scope)
        return ANYTHING

    def _method(self, node: tree.Call, scope: Scope) -> Value:
        callee = node.callee
        if not isinstance(callee, tree.Get | tree.Attribute):
            return ANYTHING
        value = self.value(callee.of, scope)
        name = callee.name if isinstance(callee, tree.Attribute) else getattr(callee.key, "value", "")
        is_guarded = isinstance(callee, tree.Get) and callee.is_guarded
        if not any(isinstance(one, At | Object) for one in value):
            return self._unknown(node, scope, str(name))
        if name in methods.CHANGES:
            given = [self.value(one, scope) for one in node.arguments[:1]]
            self._change(value, *(given if name == "update" else []))
        if name in methods.MEMBERS:
            return self._member_or(value, str(name), node, scope)
        if name in methods.OF_ITEMS:
            return self._each(value, node, scope)
        types = methods.NEEDS.get(str(name), frozenset({"object"}) if name in methods.OF_KEYS else frozenset[str]())
        if name in methods.OF_KEYS:
            self.escape(value, node.line, scope)
        if not is_guarded:
            self.needed(value, node.line, scope, types)
        self._unknown(node, scope, followed=False)
        return value if name == "copy" else ANYTHING

    def _member_or(self, value: Value, method: str, node: tree.Call, scope: Scope) -> Value:
        keys = [self.value(one, scope) for one in node.arguments]
        key = keys[0][0] if keys and len(keys[0]) == 1 else None
        self.needed(value, node.line, scope, frozenset())
        if not isinstance(key, Known) or not isinstance(key.value, str):
            self.escape(value, node.line, scope)
            return ANYTHING
        is_strict = method == "pop" and len(keys) == 1
        inner = self.read(value, key.value, node.line, scope, must=is_strict)
        if not is_strict:
            default = node.arguments[1] if len(node.arguments) > 1 else tree.Literal(None)
            self.missing(inner, default, node.line, scope)
        return or_default(inner, either(*keys[1:]))

    def _each(self, value: Value, node: tree.Call, scope: Scope) -> Value:
        with self.perhaps():
            for one in node.arguments:
                for code in (found for found in self.value(one, scope) if isinstance(found, Code)):
                    self.escape(self.run(code, [item(value)]), node.line, scope)
        self.needed(value, node.line, scope, frozenset({"array"}))
        name = (dotted(node.callee) or "").rpartition(".")[2]
        return value if name in _OF_SAME else ANYTHING

    def _unknown(self, node: tree.Call, scope: Scope, method: str = "", *, followed: bool = True) -> Value:
        """Follow what a function gets that is not part of the program, or that a method of one of its classes is."""
        given = [self.value(one, scope) for one in (*node.arguments, *node.spread)]
        named = {name: self.value(one, scope) for name, one in node.named.items()}
        own = scope.outermost.program.methods.get(method) if followed else None
        if own is not None and any(isinstance(one, At) for value in (*given, *named.values()) for one in value):
            return self.run(Code(own, scope.outermost), given, named)
        for value in (*given, *named.values()):
            self.escape(value, node.line, scope)
            for code in (one for one in value if isinstance(one, Code)):
                with self.perhaps():
                    self.run(code, [])
        return ANYTHING


def dotted(node: tree.Expression) -> str | None:
    """Return a callee as it is written, such as `json.loads`; None if it is more than names."""
    match node:
        case tree.Name():
            return node.name
        case tree.Attribute():
            of = dotted(node.of)
            return None if of is None else f"{of}.{node.name}"
        case tree.Get(key=tree.Literal(value=str(name))):
            of = dotted(node.of)
            return None if of is None else f"{of}.{name}"
        case _:
            return None
