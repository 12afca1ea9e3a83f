"""The functions of CloudFormation, as far as a template tells their values before it is deployed.

The rule: what only a deployment knows stays a text that names it: `${Ship}`, `${Ship.Arn}`, `${AWS::Region}`.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from stepwire.json_text import Json, JsonObject, as_list, as_object

_VARIABLE: Final = re.compile(r"\$\{(!?)([^{}]*)\}")
_NOTHING: Final = "${AWS::NoValue}"
_DEEPEST: Final = 60
Values = Mapping[str, Json]


@dataclass(frozen=True)
class Resolver:
    """Resolves the functions in the values of one template."""

    parameters: Values = field(default_factory=dict[str, Json])
    """What the template is given, or its defaults."""
    mappings: JsonObject = field(default_factory=dict[str, Json])

    def value(self, value: Json, depth: int = 0) -> Json:
        """Return a value with its functions resolved."""
        if depth > _DEEPEST:
            return None
        if isinstance(value, list):
            found = [self.value(one, depth + 1) for one in cast(list[Json], value)]
            return [one for one in found if one != _NOTHING]
        if not isinstance(value, dict):
            return value
        members = cast(JsonObject, value)
        if len(members) == 1 and (function := _FUNCTIONS.get(name := next(iter(members)))) is not None:
            given = members[name]
            return function(self, given if name == "Fn::Sub" else self.value(given, depth + 1))
        found = {name: self.value(one, depth + 1) for name, one in members.items()}
        return {name: one for name, one in found.items() if one != _NOTHING}

    def text(self, value: Json) -> str:
        """Return a value as text; empty if it is none."""
        found = self.value(value)
        return "" if found is None or isinstance(found, dict | list) else _text(found)

    def reference(self, name: str) -> Json:
        """Return the value of a parameter; else the text that names what is meant."""
        return self.parameters.get(name, f"${{{name}}}")

    def substituted(self, given: Json) -> Json:
        """Return what `Fn::Sub` gives."""
        parts = [*as_list(given), None] if isinstance(given, list) else [given, None]
        text, own = parts[0], as_object(self.value(parts[1]))

        def one(found: re.Match[str]) -> str:
            name = found[2].strip()
            return f"${{{name}}}" if found[1] else _text(own[name] if name in own else self.reference(name))

        return _VARIABLE.sub(one, text) if isinstance(text, str) else text

    def mapped(self, given: Json) -> Json:
        """Return what `Fn::FindInMap` gives; of several, the first."""
        found: Json = self.mappings
        for name in as_list(given)[:3]:
            members = as_object(found)
            found = members.get(str(name), next(iter(members.values()), None))
        return found


def referred(value: Json) -> Iterator[str]:
    """Yield the names of the parameters and the resources that a value refers to."""
    if isinstance(value, list):
        for one in cast(list[Json], value):
            yield from referred(one)
    for name, one in as_object(value).items():
        parts = as_list(one) or [one]
        if name == "Fn::Sub" and isinstance(text := parts[0], str):
            inner = as_object(parts[1]) if len(parts) > 1 else {}
            found = [each[2].strip() for each in _VARIABLE.finditer(text) if not each[1]]
            yield from (each.partition(".")[0] for each in found if each not in inner)
            yield from referred(inner)
        elif name in ("Ref", "Fn::GetAtt"):
            yield str(parts[0]).partition(".")[0]
        else:
            yield from referred(one)


def _pair(given: Json) -> tuple[Json, Json]:
    """Return the two arguments of a function."""
    found = [*as_list(given), "", ""]
    return found[0], found[1]


def _text(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, dict | list) else str(value)


def _reference(resolver: Resolver, given: Json) -> Json:
    return resolver.reference(str(given))


def _attribute(_resolver: Resolver, given: Json) -> Json:
    return f"${{{'.'.join(map(str, as_list(given) or [given]))}}}"


def _joined(_resolver: Resolver, given: Json) -> Json:
    between, parts = _pair(given)
    return str(between).join(_text(one) for one in as_list(parts))


def _selected(_resolver: Resolver, given: Json) -> Json:
    number, choices = _pair(given)
    place = int(number) if str(number).isdecimal() else 0
    return next(iter(as_list(choices)[place:]), "")


def _split(_resolver: Resolver, given: Json) -> Json:
    between, text = _pair(given)
    return list[Json](str(text).split(str(between) or None))


def _either(_resolver: Resolver, given: Json) -> Json:
    """Return the first of two values that is one: whether its condition holds, only a deployment knows."""
    return next((one for one in as_list(given)[1:3] if one != _NOTHING), None)


def _imported(_resolver: Resolver, given: Json) -> Json:
    return f"${{{given}}}" if isinstance(given, str) else "${ImportValue}"


_FUNCTIONS: Final[Mapping[str, Callable[[Resolver, Json], Json]]] = {
    "Ref": _reference,
    "Fn::GetAtt": _attribute,
    "Fn::Sub": Resolver.substituted,
    "Fn::Join": _joined,
    "Fn::Select": _selected,
    "Fn::Split": _split,
    "Fn::If": _either,
    "Fn::FindInMap": Resolver.mapped,
    "Fn::ImportValue": _imported,
    "Fn::Base64": lambda _resolver, given: given,
    "Fn::ToJsonString": lambda _resolver, given: _text(given),
}


def substituted(value: Json, names: Values) -> Json:
    """Return a definition with its substitutions; a text that is nothing but one may become a number."""
    if isinstance(value, dict):
        members = cast(JsonObject, value)
        return {str(substituted(name, names)): substituted(one, names) for name, one in members.items()}
    if isinstance(value, list):
        return [substituted(one, names) for one in cast(list[Json], value)]
    if not isinstance(value, str) or "${" not in value:
        return value
    whole = _VARIABLE.fullmatch(value)
    if whole is not None and isinstance(number := names.get(whole[2].strip()), int | float):
        return number
    return _VARIABLE.sub(lambda found: _text(names.get(found[2].strip(), found[0])), value)
