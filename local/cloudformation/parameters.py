"""The values of a template's parameters: given or default, with CloudFormation's checks."""

import re
from collections.abc import Mapping
from typing import Any

from local.errors import TemplateError

ParameterValue = str | list[str]


def parameter_values(declared: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, ParameterValue]:
    """Return the value of each declared parameter.

    Raises:
        TemplateError: a parameter is unknown, missing or violates its constraints. First failure wins.
    """
    if unknown := sorted(set(given) - set(declared)):
        raise TemplateError(
            f"The template has no parameter {', '.join(unknown)}; it has {', '.join(declared) or 'none'}."
        )
    return {name: _value(name, declaration, given.get(name)) for name, declaration in declared.items()}


def _value(name: str, declaration: Mapping[str, Any], given: str | None) -> ParameterValue:
    kind: str = declaration.get("Type", "String")
    if kind.startswith(("AWS::EC2::", "AWS::Route53::", "List<AWS::")):  # ids of resources that nothing here has
        kind = "CommaDelimitedList" if "List<" in kind else "String"
    if kind not in ("String", "Number", "CommaDelimitedList", "List<Number>"):
        raise TemplateError(f"Parameter {name}: the local stack does not serve the type {kind}.")
    if given is None and "Default" not in declaration:
        allowed = declaration.get("AllowedValues")
        hint = f" (one of {', '.join(map(str, allowed))})" if allowed else ""
        raise TemplateError(f"Parameter {name} has no default: give it with --parameter {name}=...{hint}.")
    text = str(declaration["Default"]) if given is None else given
    values = [part.strip() for part in text.split(",")] if kind in ("CommaDelimitedList", "List<Number>") else [text]
    for value in values:
        _check(name, kind, declaration, value)
    return values if kind in ("CommaDelimitedList", "List<Number>") else text


def _check(name: str, kind: str, declaration: Mapping[str, Any], value: str) -> None:
    """Check 1. AllowedValues, 2. the type and range of a number, 3. the length of a string, 4. its pattern."""
    allowed = [str(entry) for entry in declaration.get("AllowedValues", ())]
    if allowed and value not in allowed:
        raise TemplateError(f"Parameter {name} is {value!r}, but must be one of {', '.join(allowed)}.")
    if kind in ("Number", "List<Number>"):
        _check_range(f"Parameter {name}", _number(name, value), declaration, "MinValue", "MaxValue")
    else:
        _check_range(f"The length of parameter {name}", len(value), declaration, "MinLength", "MaxLength")
    pattern = declaration.get("AllowedPattern")
    if pattern and not re.fullmatch(pattern, value):
        raise TemplateError(f"Parameter {name} is {value!r}, but must match {pattern}.")


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise TemplateError(f"Parameter {name} is {value!r}, but must be a number.") from None


def _check_range(what: str, value: float, declaration: Mapping[str, Any], least: str, most: str) -> None:
    if least in declaration and value < float(declaration[least]):
        raise TemplateError(f"{what} is {value:g}, but must be at least {declaration[least]}.")
    if most in declaration and value > float(declaration[most]):
        raise TemplateError(f"{what} is {value:g}, but must be at most {declaration[most]}.")
