"""The values of a template's parameters: given, default or made up, with CloudFormation's checks."""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from stepwire_local.errors import TemplateError

ParameterValue = str | list[str]
Stored = Callable[[str], str]
"""Returns the value of a Systems Manager parameter."""

_LISTS: Final = ("CommaDelimitedList", "List<Number>")
_STORED: Final = re.compile(r"AWS::SSM::Parameter::Value<(?P<kind>.+)>")
# Types that are ids or names of what nothing here has: their values are texts.
_TEXTS: Final = ("AWS::EC2::", "AWS::Route53::", "AWS::SSM::Parameter::Name")


def parameter_values(
    declared: Mapping[str, Any], given: Mapping[str, str], stored: Stored = str
) -> dict[str, ParameterValue]:
    """Return the value of each declared parameter.

    Raises:
        TemplateError: a parameter is unknown, missing or violates its constraints. First failure wins.
    """
    if unknown := sorted(set(given) - set(declared)):
        raise TemplateError(
            f"The template has no parameter {', '.join(unknown)}; it has {', '.join(declared) or 'none'}."
        )
    if missing := without_value(declared, given):
        raise TemplateError(asked_for(missing))
    return {
        name: _value(name, declaration, given.get(name, declaration.get("Default", "")), stored)
        for name, declaration in declared.items()
    }


def without_value(declared: Mapping[str, Any], given: Iterable[str]) -> dict[str, Any]:
    """Return the declarations of the parameters that have neither a default nor a given value."""
    known = set(given)
    return {name: one for name, one in declared.items() if name not in known and "Default" not in one}


def asked_for(missing: Mapping[str, Any]) -> str:
    """Return the one line that asks for all missing parameters, with the options to copy."""
    options = " ".join(f"--parameter {_option(name, declaration)}" for name, declaration in missing.items())
    what = f"Parameter {next(iter(missing))} has" if len(missing) == 1 else f"Parameters {', '.join(missing)} have"
    return f"{what} no default. Give: {options} (or --make-up-parameters)"


def _option(name: str, declaration: Mapping[str, Any]) -> str:
    value = made_up(name, declaration)
    return f"{name}={'...' if value is None else shlex.quote(value)}"


def made_up(name: str, declaration: Mapping[str, Any]) -> str | None:
    """Return a value that a parameter could have; None where its pattern admits nothing that comes to mind."""
    kind: str = declaration.get("Type", "String")
    allowed = declaration.get("AllowedValues")
    if allowed:
        return _written(allowed[0])
    if "Number" in kind:
        return _written(declaration.get("MinValue", min(1, float(declaration.get("MaxValue", 1)))))
    return next((text for text in _texts(name, kind, declaration) if _is_fit(kind, declaration, text)), None)


def _texts(name: str, kind: str, declaration: Mapping[str, Any]) -> list[str]:
    """Return texts to try, the likeliest first: AWS takes most of them for names of resources too."""
    said = f"{name} {declaration.get('Description', '')}".casefold()
    plain = re.sub(r"[^a-z0-9]+", "-", re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).casefold()).strip("-")
    special = [text for word, text in _SAMPLES.items() if word in said or word in kind.casefold()]
    longer = plain.ljust(int(declaration.get("MinLength", 0)), "x")[: int(declaration.get("MaxLength", 1000))]
    return [*special, longer, plain.replace("-", ""), plain.replace("-", "").capitalize(), *_SAMPLES.values(), "1", "a"]


_SAMPLES: Final = {
    "email": "someone@example.com",
    "vpc": "vpc-0123456789abcdef0",
    "subnet": "subnet-0123456789abcdef0",
    "securitygroup": "sg-0123456789abcdef0",
    "image::id": "ami-0123456789abcdef0",
    "keypair": "key",
    "phone": "+12065550100",
    "url": "https://example.com",
    "cidr": "10.0.0.0/16",
    "account": "123456789012",
    "region": "us-east-1",
    "arn": "arn:aws:s3:::example",
    "date": "2026-01-31",
    "s3 uri": "s3://example/key",
    "hex": "0123456789abcdef",
    "version": "1.0.0",
    "cron": "rate(1 day)",
    "parameter::": "/example/name",
    "domain": "example.com",
    "password": "Example1Passw0rd",
}


def _is_fit(kind: str, declaration: Mapping[str, Any], text: str) -> bool:
    try:
        _check("", kind, declaration, text)
    except (TemplateError, re.error):
        return False
    return True


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _value(name: str, declaration: Mapping[str, Any], given: object, stored: Stored) -> ParameterValue:
    kind: str = declaration.get("Type", "String")
    text = _written(given)
    if found := _STORED.fullmatch(kind):  # its value is the name of what has the value
        kind, text = found["kind"], stored(text)
        declaration = {}
    kind = _plain(kind)
    if kind not in ("String", "Number", *_LISTS):
        raise TemplateError(f"Parameter {name}: the local stack does not serve the type {kind}.")
    values = [part.strip() for part in text.split(",")] if kind in _LISTS else [text]
    for value in values:
        _check(name, kind, declaration, value)
    return values if kind in _LISTS else text


def _plain(kind: str) -> str:
    """Return the type as which the local stack treats one."""
    if kind.startswith("List<") and kind != "List<Number>":
        return "CommaDelimitedList"
    return "String" if kind.startswith(_TEXTS) else kind


def _check(name: str, kind: str, declaration: Mapping[str, Any], value: str) -> None:
    """Check 1. AllowedValues, 2. the type and range of a number, 3. the length of a string, 4. its pattern."""
    allowed = [_written(entry) for entry in declaration.get("AllowedValues", ())]
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
