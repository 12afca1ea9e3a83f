"""Follow an event through the functions of a program, and note what is read of it.

The rule: a read counts as needed only where nothing can come before it: no test, no loop, no early return, no handler
of errors. What is followed nowhere else is noted as passed on.
"""

from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import nullcontext
from typing import Any, Final

from stepwire_wrap.code import tree
from stepwire_wrap.code.calls import Calls, dotted
from stepwire_wrap.code.checks import SIZES, Fact, facts, fails
from stepwire_wrap.code.values import (
    ANYTHING,
    At,
    Code,
    Converted,
    File,
    Known,
    Object,
    Scope,
    Value,
    either,
    item,
    member,
    or_default,
    paths_of,
    put_together,
    with_member,
)
from stepwire_wrap.definitions.values import EACH

_MOST_STEPS: Final = 60_000  # expressions, of all functions
_EXPORTS: Final = ("exports", "module.exports")
_BOTH: Final = 2  # ways, one of which runs
_INDEX_NAMES: Final = frozenset({"i", "j", "k", "n", "idx", "index"})


class Following(Calls):
    """One walk through a program."""

    def block(self, statements: Sequence[tree.Statement], scope: Scope) -> bool:
        """Follow statements, and tell whether the function may end in them without an error."""
        may_end, was = False, (self.is_certain, self.is_chosen)
        for one in statements:
            may_end |= _STATEMENTS[type(one)](self, one, scope)
            self.is_certain &= not may_end
            self.is_chosen |= may_end
        self.is_certain, self.is_chosen = was
        return may_end

    def assign(self, one: tree.Bind, scope: Scope) -> bool:
        """Follow an assignment."""
        self.bind(one.target, self.value(one.value, scope), scope)
        return False

    def evaluate(self, one: tree.Evaluate, scope: Scope) -> bool:
        """Follow an expression whose value is not kept."""
        self.value(one.value, scope)
        return False

    def define(self, one: tree.Define, scope: Scope) -> bool:
        """Give a function its name."""
        scope.names[one.name] = (Code(one.function, scope),)
        return False

    def leave(self, one: tree.Leave, scope: Scope) -> bool:
        """Follow the end of a function."""
        value = self.value(one.value, scope)
        if self.returned and not one.is_failure:
            self.returned[-1].append(value)
        if len(self.calls) == 1:
            self.note(value, 0, scope)
        return not one.is_failure

    def test(self, one: tree.If, scope: Scope) -> bool:
        """Follow a test, and what comes of it."""
        type_tested = set(self.type_tested)
        self.value(one.test, scope)
        for holds, way in zip((True, False), one.ways, strict=False):
            if self.is_certain and fails(way):
                self._passed(facts(one.test, holds=not holds), type_tested, scope)
        return self._ways(one.ways, scope, is_chosen=True)

    def _passed(self, known: Iterable[Fact], type_tested: Set[tuple[str, ...]], scope: Scope) -> None:
        """Note what each run has that goes on after a test."""
        for one in known:
            given = [self._checked(inner) for inner in one.given]
            value = self._checked(one.of)
            if given and value not in given:
                continue
            was_converted = any(isinstance(part, Converted) for part in value)
            value = tuple(At(part.path) if isinstance(part, Converted) else part for part in value)
            self.type_tested -= {path for path in paths_of(value) if one.types and path not in type_tested}
            must = not given and not any(EACH in path for path in paths_of(value))
            types = frozenset[str]() if was_converted else one.types
            self.note(value, 0, scope, must=must, checked=must, types=types, held=isinstance(one.of, tree.Holds))

    def _checked(self, node: tree.Expression) -> Value:
        """Return the value that a test is about, once that was evaluated."""
        if not isinstance(node, tree.Holds):
            return self.evaluated.get(id(node), ANYTHING)
        value, key = self._checked(node.of), self._checked(node.key)
        is_name = len(key) == 1 and isinstance(key[0], Known) and isinstance(key[0].value, str)
        return member(value, str(key[0].value)) if is_name and isinstance(key[0], Known) else ANYTHING

    def loop(self, one: tree.Loop, scope: Scope) -> bool:
        """Follow a loop."""
        self.bind(one.target, item(self.value(one.of, scope)), scope)
        return self._ways((one.body,), scope)

    def attempt(self, one: tree.Try, scope: Scope) -> bool:
        """Follow what may fail."""
        hides_errors = not all(map(fails, one.handlers))
        ended = self._ways((one.body,), scope) if hides_errors else self.block(one.body, scope)
        ended |= self._ways(one.handlers, scope)
        return self.block(one.last, scope) or ended

    def _ways(self, ways: Sequence[Sequence[tree.Statement]], scope: Scope, *, is_chosen: bool = False) -> bool:
        """Follow statements of which only some may run; what they assign may be so or otherwise afterwards."""
        before, after, may_end = dict(scope.names), list[dict[str, Value]](), False
        with self.perhaps(is_chosen=is_chosen):
            for one in ways:
                scope.names = dict(before)
                may_end |= self.block(one, scope)
                after.append(scope.names)
        ends = after if len(ways) == _BOTH else [before, *after]
        names = {name: None for one in ends for name in one}
        scope.names = {name: either(*(one[name] for one in ends if name in one)) for name in names}
        return may_end

    def bind(self, target: tree.Pattern, value: Value, scope: Scope) -> None:
        """Give a value to names, and note what is taken apart."""
        match target:
            case tree.Name():
                scope.names[target.name] = value
            case tree.Fields():
                self._take_apart(target, value, scope)
            case tree.Items():
                for one in target.targets:
                    self.bind(one, item(value), scope)
            case tree.Get():
                self._write(target, value, scope)
            case None:
                pass

    def _take_apart(self, target: tree.Fields, value: Value, scope: Scope) -> None:
        self.needed(value, target.line, scope, frozenset())
        for one in target.fields:
            inner = self.read(value, one.name, target.line, scope)
            if one.default is not None:
                self.missing(inner, one.default, target.line, scope)
                inner = or_default(inner, self.value(one.default, scope))
            self.bind(one.target, inner, scope)
        if target.rest is not None:
            scope.names[target.rest] = value

    def _write(self, target: tree.Get, value: Value, scope: Scope) -> None:
        key, of = self.value(target.key, scope), self.value(target.of, scope)
        known = key[0].value if len(key) == 1 and isinstance(key[0], Known) else None
        name = known if isinstance(known, str) else None
        for path in paths_of(of):
            self.changed.add(path if name is None else (*path, name))
            if name is not None and self.is_certain:
                self.written.add((*path, name))
        if isinstance(target.of, tree.Name) and all(isinstance(one, Object) for one in of):
            scope.names[target.of.name] = with_member(of, name, value)
        else:
            self.escape(value, target.line, scope)

    def value(self, node: tree.Expression, scope: Scope) -> Value:
        """Return what an expression may be, and note what it reads."""
        self.steps += 1
        if self.steps > _MOST_STEPS:
            return ANYTHING
        self.evaluated[id(node)] = found = _VALUES[type(node)](self, node, scope)
        return found

    def literal(self, node: tree.Literal, _scope: Scope) -> Value:
        """Return a value that is written out."""
        return (Known(node.value),)

    def name(self, node: tree.Name, scope: Scope) -> Value:
        """Return what a name means."""
        return self.named(node.name, scope)

    def function(self, node: tree.Function, scope: Scope) -> Value:
        """Return a function that is written out."""
        return (Code(node, scope),)

    def needs(self, node: tree.Needs, scope: Scope) -> Value:
        """Note a type that is needed."""
        self.note(self.value(node.of, scope), 0, scope, types=node.types)
        return ANYTHING

    def compared(self, node: tree.Compares, scope: Scope) -> Value:
        """Note a comparison."""
        self.note(self.value(node.of, scope), 0, scope, compared=tuple(one.value for one in node.values))
        return ANYTHING

    def negated(self, node: tree.Not | tree.Lacks, scope: Scope) -> Value:
        """Follow a test that a value is false or missing."""
        self.value(node.of, scope)
        return ANYTHING

    def type_test(self, node: tree.TypeTest, scope: Scope) -> Value:
        """Note that a type is tested."""
        self.type_tested |= set(paths_of(self.value(node.of, scope)))
        return ANYTHING

    def each_item(self, node: tree.Each, scope: Scope) -> Value:
        """Follow a loop inside an expression."""
        self.bind(node.target, item(self.value(node.of, scope)), scope)
        with self.perhaps():
            for one in node.body:
                self.escape(self.value(one, scope), 0, scope)
        return ANYTHING

    def several(self, node: tree.Several, scope: Scope) -> Value:
        """Follow the parts of anything else."""
        for one in node.parts:
            value = self.value(one, scope)
            if not node.is_text:
                self.escape(value, 0, scope)
        return ANYTHING

    def attribute(self, node: tree.Attribute, scope: Scope) -> Value:
        """Return an attribute, which only files have."""
        value = self.value(node.of, scope)
        files = tuple(one for one in value if isinstance(one, File))
        return either(*(self.named(node.name, one.scope) for one in files)) if files else ANYTHING

    def got(self, node: tree.Get, scope: Scope) -> Value:
        """Return a member or an item."""
        value, key = self.value(node.of, scope), self.value(node.key, scope)
        known = key[0].value if len(key) == 1 and isinstance(key[0], Known) else None
        if dotted(node) in _EXPORTS:
            return (File(scope.outermost),)
        files = tuple(one for one in value if isinstance(one, File))
        if files and isinstance(known, str):
            return either(*(self.named(known, one.scope) for one in files))
        if not node.is_guarded:
            self.needed(value, node.line, scope, frozenset())
        if known in SIZES and not node.is_strict and all(paths_of(value)):
            return ANYTHING
        if isinstance(known, str):
            with self.perhaps(is_chosen=node.is_guarded) if node.is_guarded else nullcontext():
                return self.read(value, known, node.line, scope, must=node.is_strict)
        if isinstance(known, int) or (isinstance(node.key, tree.Name) and node.key.name in _INDEX_NAMES):
            return item(value)
        self.escape(value, node.line, scope)
        return ANYTHING

    def made(self, node: tree.Made, scope: Scope) -> Value:
        """Return an object that is written out."""
        members = tuple((name, self.value(one, scope)) for name, one in node.members.items())
        for one in node.parts:
            self.escape(self.value(one, scope), 0, scope)
        base = either(*(self.value(one, scope) for one in node.spread)) if node.spread else ()
        return put_together(members, base)

    def branch(self, node: tree.Branch, scope: Scope) -> Value:
        """Return what one of several expressions gives."""
        first = self.value(node.always, scope)
        if node.is_value:
            for one in node.maybe:
                self.missing(first, one, 0, scope)
        with self.perhaps(is_chosen=True):
            others = [self.value(one, scope) for one in node.maybe]
        return either(*([first] if node.is_value else []), *others)

    def held(self, node: tree.Holds, scope: Scope) -> Value:
        """Note a test for a member."""
        value, key = self.value(node.of, scope), self.value(node.key, scope)
        if len(key) == 1 and isinstance(key[0], Known) and isinstance(key[0].value, str):
            self.note(member(value, key[0].value), node.line, scope, tested=True, held=True)
        return ANYTHING


_STATEMENTS: Final[dict[type, Callable[[Following, Any, Scope], bool]]] = {
    tree.Bind: Following.assign,
    tree.Evaluate: Following.evaluate,
    tree.Define: Following.define,
    tree.Leave: Following.leave,
    tree.If: Following.test,
    tree.Loop: Following.loop,
    tree.Try: Following.attempt,
}
_VALUES: Final[dict[type, Callable[[Following, Any, Scope], Value]]] = {
    tree.Literal: Following.literal,
    tree.Name: Following.name,
    tree.Attribute: Following.attribute,
    tree.Get: Following.got,
    tree.Call: Following.called,
    tree.Made: Following.made,
    tree.Branch: Following.branch,
    tree.Needs: Following.needs,
    tree.Compares: Following.compared,
    tree.Not: Following.negated,
    tree.Lacks: Following.negated,
    tree.Holds: Following.held,
    tree.TypeTest: Following.type_test,
    tree.Each: Following.each_item,
    tree.Function: Following.function,
    tree.Several: Following.several,
}


def scope_of(program: tree.Program, place: str) -> Scope:
    """Return the scope of a file, with its functions and constants."""
    scope = Scope({}, program, place)
    for one in program.body:
        match one:
            case tree.Define():
                scope.names[one.name] = (Code(one.function, scope),)
            case tree.Bind(target=tree.Name(name), value=tree.Function() as function):
                scope.names[name] = (Code(function, scope),)
            case tree.Bind(target=tree.Name(name), value=tree.Literal(value)):
                scope.names[name] = (Known(value),)
            case tree.Bind(target=tree.Name(name), value=tree.Name() | tree.Get() as value) if (
                dotted(value) in _EXPORTS
            ):
                scope.names[name] = (File(scope),)
            case _:
                pass
    return scope
