"""What is known of a value once a test of it has not stopped a function: `if (!x) throw`, `if "x" not in event: raise`.

The rule: only what every run that goes on has passed. One of several tests joined by `or` says nothing, and a test that
stands behind another one says at most a type.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from stepwire_wrap.code import tree

SIZES: Final = frozenset({"length", "size"})  # of a text or a list in JavaScript
_NO_NUMBER: Final = frozenset({"isNaN", "Number.isNaN"})


@dataclass(frozen=True)
class Fact:
    """What a function relies on from here on: that a value is there, and of which types it is."""

    of: tree.Expression
    types: frozenset[str] = frozenset()
    given: "tuple[tree.Expression, ...]" = ()
    """The types hold if one of these is there and is the same value: it may be missing. Empty: it is there."""


def fails(statements: Sequence[tree.Statement]) -> bool:
    """Tell whether statements can end with an error alone."""
    *before, last = statements or (None,)
    return isinstance(last, tree.Leave) and last.is_failure and not any(map(_may_return, before))


def _may_return(one: tree.Statement | None) -> bool:
    match one:
        case tree.Leave():
            return not one.is_failure
        case tree.If():
            return any(_may_return(inner) for way in one.ways for inner in way)
        case tree.Loop():
            return any(map(_may_return, one.body))
        case tree.Try():
            return any(_may_return(inner) for way in (one.body, *one.handlers, one.last) for inner in way)
        case _:
            return False


def facts(test: tree.Expression, *, holds: bool) -> Iterator[Fact]:
    """Yield what is so if a test holds, or does not."""
    match test:
        case tree.Not():
            yield from facts(test.of, holds=not holds)
        case tree.Branch(is_value=True) if not holds:
            yield from (fact for one in (test.always, *test.maybe) for fact in facts(one, holds=False))
        case tree.Branch(is_both=True):
            yield from _of_both(test, holds=holds)
        case tree.Lacks():
            yield from () if holds else (Fact(test.of),)
        case tree.Call() if _is_no_number(test):
            yield from () if holds else (Fact(test.arguments[0]),)
        case _ if holds:
            yield from _if_true(test)
        case _:
            pass


def _of_both(test: tree.Branch, *, holds: bool) -> Iterator[Fact]:
    if holds:
        yield from (fact for one in (test.always, *test.maybe) for fact in facts(one, holds=True))
    elif len(test.maybe) == 1:  # `x is not None and not isinstance(x, str)` fails
        given = tuple(one.of for one in facts(test.always, holds=True))
        inner = [one for one in facts(test.maybe[0], holds=False) if one.types and not one.given]
        yield from (replace(one, types=one.types | {"null"}, given=given) for one in inner if given)


def _if_true(test: tree.Expression) -> Iterator[Fact]:
    match test:
        case tree.Compares():
            if all(one.value is not None for one in test.values):
                yield Fact(test.of, _type_of_texts(test.values))
        case tree.TypeTest() | tree.Needs():
            if test.types:
                yield Fact(test.of, test.types)
        case tree.Get(key=tree.Literal(value=str(name))) if name in SIZES:
            yield Fact(test.of)
        case tree.Name() | tree.Get() | tree.Call() | tree.Holds():
            yield Fact(test)
        case _:
            pass


def _type_of_texts(values: Sequence[tree.Literal]) -> frozenset[str]:
    """Return the type of what equals one of some values; JavaScript's `==` takes "5" for 5."""
    are_texts = all(isinstance(one.value, str) and any(map(str.isalpha, one.value)) for one in values)
    return frozenset({"string"}) if are_texts else frozenset()


def _is_no_number(call: tree.Call) -> bool:
    match call.callee:
        case tree.Name(name):
            named = name
        case tree.Get(of=tree.Name(owner), key=tree.Literal(value=str(name))):
            named = f"{owner}.{name}"
        case _:
            return False
    return named in _NO_NUMBER and bool(call.arguments)
