"""JSONPath: the rules of Choice states, as conditions."""

import re
from dataclasses import replace
from typing import Final, cast

from stepwire.json_text import Json, JsonObject, as_object, write
from stepwire_wrap.definitions.conditions import All, AnyOf, Compares, Condition, IsThere, Not, Opaque
from stepwire_wrap.definitions.paths import reference_of
from stepwire_wrap.definitions.payloads import read_path
from stepwire_wrap.definitions.reads import FLAG, NUMBER, TEXT, Use
from stepwire_wrap.definitions.scopes import Scope
from stepwire_wrap.definitions.values import UNKNOWN, Value

_COMPARISON: Final = re.compile(
    r"(?P<type>String|Numeric|Boolean|Timestamp)(?P<order>Equals|LessThanEquals|LessThan|GreaterThanEquals|GreaterThan)"
    r"(?P<path>Path)?"
)
_TYPES: Final = {"String": TEXT, "Numeric": NUMBER, "Boolean": FLAG, "Timestamp": TEXT}
_OPERATORS: Final = {
    "Equals": "=",
    "LessThan": "<",
    "LessThanEquals": "<=",
    "GreaterThan": ">",
    "GreaterThanEquals": ">=",
}
_TESTS: Final = frozenset({"IsNull", "IsString", "IsNumeric", "IsBoolean", "IsTimestamp"})


def condition_of(rule: JsonObject, scope: Scope, *, must: bool) -> Condition:
    """Return the condition of a rule, and note what it reads.

    `must`: the rule is evaluated whenever the state is entered.
    """
    for word, kind in (("And", All), ("Or", AnyOf)):
        if word in rule:
            return kind(_parts(rule[word], scope, must=must))
    if "Not" in rule:
        return Not(condition_of(as_object(rule["Not"]), scope, must=must))
    variable = rule.get("Variable")
    return Opaque() if not isinstance(variable, str) else _atom(rule, variable, scope, must=must)


def _parts(rules: Json, scope: Scope, *, must: bool) -> tuple[Condition, ...]:
    parts: list[Condition] = []
    for one in cast(list[Json], rules) if isinstance(rules, list) else []:
        parts.append(condition_of(as_object(one), scope, must=must))
        must = False  # what follows may not be evaluated
    return tuple(parts)


def _atom(rule: JsonObject, variable: str, scope: Scope, *, must: bool) -> Condition:
    value = _value_at(variable, scope)
    if "IsPresent" in rule:
        scope.note(value, Use(tested=True))
        there = IsThere(value)
        return there if rule["IsPresent"] else Not(there)
    use = Use(must=must)
    if "StringMatches" in rule:
        read_path(variable, scope, replace(use, types=TEXT))
    elif not _TESTS.isdisjoint(rule):
        read_path(variable, scope, use)
    for name, wanted in rule.items():
        if (comparison := _COMPARISON.fullmatch(name)) is not None:
            return _compared(comparison, wanted, variable, scope, use)
    return Opaque()


def _compared(comparison: re.Match[str], wanted: Json, variable: str, scope: Scope, use: Use) -> Condition:
    types = _TYPES[comparison["type"]]
    is_time = comparison["type"] == "Timestamp"
    use = replace(use, types=types, format="date-time" if is_time else None)
    value = read_path(variable, scope, use)
    if comparison["path"]:
        if isinstance(wanted, str):
            read_path(wanted, scope, use)
        return Opaque()
    operator = _OPERATORS[comparison["order"]]
    if operator == "=" and not is_time:
        scope.note(value, Use(types=types, compared=write(wanted)))
    return Opaque() if is_time else Compares(value, operator, write(wanted))


def _value_at(path: str, scope: Scope) -> Value:
    reference = reference_of(path)
    return scope.look_up(reference) if reference is not None else UNKNOWN
