"""The intrinsic functions of CloudFormation: resolve template values to plain data.

Pure: a `Lookup` resolves names and attributes. `AWS::NoValue` removes the property or list entry that has it as value.
"""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

from stepwire_local.errors import TemplateError

NO_VALUE = object()

_PLACEHOLDER = re.compile(r"\$\{(!?)([^}]*)\}")


class Lookup(Protocol):
    """Resolves the names in a template."""

    def reference(self, name: str) -> Any:
        """Return the Ref value of a parameter, a resource or a pseudo parameter."""
        ...

    def attribute(self, name: str, attribute: str) -> Any:
        """Return the Fn::GetAtt value of a resource's attribute."""
        ...

    def imported(self, name: str) -> str:
        """Return the Fn::ImportValue of an export of another stack."""
        ...

    def mapped(self, name: str, key: str, attribute: str) -> Any:
        """Return the Fn::FindInMap value of a mapping."""
        ...

    def condition(self, name: str) -> bool:
        """Return whether the named condition holds."""
        ...


def resolve(value: Any, lookup: Lookup) -> Any:
    """Return the value with every intrinsic function replaced by its result."""
    if isinstance(value, list):
        items = [resolve(item, lookup) for item in cast("list[Any]", value)]
        return [item for item in items if item is not NO_VALUE]
    if not isinstance(value, Mapping):
        return value
    entries = cast("Mapping[str, Any]", value)
    if len(entries) == 1:
        ((name, argument),) = entries.items()
        if name in _FUNCTIONS:
            return _FUNCTIONS[name](argument, lookup)
        if name.startswith("Fn::") or name == "Condition":
            return _unknown(name, argument, lookup)
    resolved = {name: resolve(entry, lookup) for name, entry in entries.items()}
    return {name: entry for name, entry in resolved.items() if entry is not NO_VALUE}


def holds(expression: Any, lookup: Lookup) -> bool:
    """Return whether the expression of a condition is true."""
    if isinstance(expression, Mapping) and len(entries := cast("Mapping[str, Any]", expression)) == 1:
        ((name, argument),) = entries.items()
        if name in _CONDITIONS:
            return _CONDITIONS[name](argument, lookup)
    raise TemplateError(f"This is not a condition that the local stack understands: {expression}")


def check_rules(rules: Mapping[str, Any]) -> None:
    """Refuse a section Rules with a function that is none of those that CloudFormation takes there.

    Raises:
        TemplateError: it has one, so CloudFormation would refuse the template.
    """
    if refused := sorted(_functions_in([*rules.values()]) - _IN_RULES):
        raise TemplateError(f"CloudFormation takes no {' and no '.join(refused)} in Rules, and refuses the template.")


def _functions_in(value: Any) -> set[str]:
    match value:
        case dict():
            entries = cast("dict[str, Any]", value)
            named = {name for name in entries if name.startswith("Fn::") or name == "Condition"}
            return named.union(*map(_functions_in, entries.values()))
        case list():
            return set[str]().union(*map(_functions_in, cast("list[Any]", value)))
        case _:
            return set()


def _unknown(name: str, argument: Any, lookup: Lookup) -> Any:
    if name == "Condition" and not isinstance(argument, str):
        # A policy statement has a key named Condition too.
        return {name: resolve(argument, lookup)}
    raise TemplateError(f"The local stack does not understand {name}.")


def _reference(name: str, lookup: Lookup) -> Any:
    return NO_VALUE if name == "AWS::NoValue" else lookup.reference(name)


def _attribute(path: str | list[str], lookup: Lookup) -> Any:
    name, attribute = path.split(".", 1) if isinstance(path, str) else (path[0], ".".join(path[1:]))
    return lookup.attribute(name, attribute)


def _substitute(argument: Any, lookup: Lookup) -> str:
    text: str = argument if isinstance(argument, str) else argument[0]
    values: dict[str, Any] = {} if isinstance(argument, str) else resolve(argument[1], lookup)

    def replacement(match: re.Match[str]) -> str:
        literal, name = match[1], match[2].strip()
        if literal:
            return f"${{{match[2]}}}"
        if name in values:
            return text_of(values[name])
        return text_of(_attribute(name, lookup) if "." in name else _reference(name, lookup))

    return _PLACEHOLDER.sub(replacement, text)


def _join(argument: Any, lookup: Lookup) -> str:
    separator, parts = argument
    return separator.join(text_of(part) for part in resolve(parts, lookup))


def _select(argument: Any, lookup: Lookup) -> Any:
    index, items = resolve(argument, lookup)
    try:
        return items[int(index)]
    except (IndexError, ValueError):
        raise TemplateError(f"Fn::Select asks for item {index} of {len(items)}.") from None


def _split(argument: Any, lookup: Lookup) -> list[str]:
    separator, text = resolve(argument, lookup)
    return text.split(separator)


def _import(argument: Any, lookup: Lookup) -> str:
    return lookup.imported(text_of(resolve(argument, lookup)))


def _find_in_map(argument: Any, lookup: Lookup) -> Any:
    name, key, attribute, *more = resolve(argument, lookup)
    try:
        return lookup.mapped(text_of(name), text_of(key), text_of(attribute))
    except TemplateError:
        if more and "DefaultValue" in more[0]:
            return more[0]["DefaultValue"]
        raise


def _length(argument: Any, lookup: Lookup) -> int:
    return len(resolve(argument, lookup))


def _json_text(argument: Any, lookup: Lookup) -> str:
    return json.dumps(resolve(argument, lookup), separators=(",", ":"))


def _zones(argument: Any, lookup: Lookup) -> list[str]:
    region = text_of(resolve(argument, lookup)) or lookup.reference("AWS::Region")
    return [f"{region}{letter}" for letter in "abc"]


def _base64(argument: Any, lookup: Lookup) -> str:
    return b64encode(text_of(resolve(argument, lookup)).encode()).decode()


def _if(argument: Any, lookup: Lookup) -> Any:
    name, then, otherwise = argument
    return resolve(then if lookup.condition(name) else otherwise, lookup)


def _equals(argument: Any, lookup: Lookup) -> bool:
    left, right = resolve(argument, lookup)
    return text_of(left) == text_of(right)


def _contains(argument: Any, lookup: Lookup) -> bool:
    members, wanted = resolve(argument, lookup)
    return wanted in members


def _each_member_equals(argument: Any, lookup: Lookup) -> bool:
    members, wanted = resolve(argument, lookup)
    return all(member == wanted for member in members)


def _each_member_in(argument: Any, lookup: Lookup) -> bool:
    members, wanted = resolve(argument, lookup)
    return set(members) <= set(wanted)


def text_of(value: Any) -> str:
    """Return a value as CloudFormation writes it into a text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


_FUNCTIONS: Mapping[str, Callable[[Any, Lookup], Any]] = {
    "Ref": _reference,
    "Fn::GetAtt": _attribute,
    "Fn::Sub": _substitute,
    "Fn::Join": _join,
    "Fn::Select": _select,
    "Fn::Split": _split,
    "Fn::If": _if,
    "Fn::ImportValue": _import,
    "Fn::FindInMap": _find_in_map,
    "Fn::GetAZs": _zones,
    "Fn::Base64": _base64,
    # of the transform AWS::LanguageExtensions
    "Fn::Length": _length,
    "Fn::ToJsonString": _json_text,
}

_CONDITIONS: Mapping[str, Callable[[Any, Lookup], bool]] = {
    "Fn::Equals": _equals,
    "Fn::Not": lambda argument, lookup: not holds(argument[0], lookup),
    "Fn::And": lambda argument, lookup: all(holds(part, lookup) for part in argument),
    "Fn::Or": lambda argument, lookup: any(holds(part, lookup) for part in argument),
    "Condition": lambda argument, lookup: lookup.condition(argument),
    "Fn::Contains": _contains,
    "Fn::EachMemberEquals": _each_member_equals,
    "Fn::EachMemberIn": _each_member_in,
}

# CloudFormation's list of the functions that Rules take is closed.
_IN_RULES = frozenset(
    f"Fn::{name}"
    for name in (
        *("And", "Contains", "EachMemberEquals", "EachMemberIn", "Equals", "Not", "Or", "RefAll", "ValueOf"),
        "ValueOfAll",
    )
)
