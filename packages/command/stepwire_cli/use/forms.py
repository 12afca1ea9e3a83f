"""The form of a question: its fields, what they may have, and whether a typed text is a value of one.

The rule: a form is the server's, so nothing that it names is fetched or read. A field that refers to another schema is
refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from jsonschema import Draft202012Validator, FormatChecker, SchemaError
from mcp_types import ElicitRequestFormParams
from referencing import Registry

from stepwire_cli.exits import CommandError
from stepwire_cli.use.arguments import value_of
from stepwire_cli.visible_text import plain

Json = Mapping[str, Any]
_REFERENCES: Final = ("$ref", "$dynamicRef")
_VALUES: Final[Mapping[str, Sequence[str]]] = {
    "boolean": ("yes", "no"),
    "number": ("NUMBER",),
    "integer": ("NUMBER",),
}
_FEW: Final = 8  # choices that are shown
_NOTHING: Final = Registry[Any]()


@dataclass(frozen=True)
class Choice:
    """A value that a field may have, and its name."""

    value: str
    name: str


def fields_of(form: ElicitRequestFormParams) -> dict[str, Json]:
    """Return the fields of a form by their names.

    Raises:
        CommandError: the form cannot be filled in here; the message says why.
    """
    properties: Any = form.requested_schema.get("properties", {})
    if not isinstance(properties, dict):
        raise CommandError("The form cannot be filled in: it has no fields. The question can be declined.")
    fields = cast("dict[str, Any]", properties)
    for name, field in fields.items():
        if fault := _fault_of(field):
            raise CommandError(f"The form cannot be filled in: its field {name} {fault}. The question can be declined.")
    return fields


def required_in(form: ElicitRequestFormParams) -> Sequence[str]:
    """Return the names of the fields that an answer must have."""
    return [str(name) for name in _list(form.requested_schema.get("required"))]


def choices_of(field: Json) -> list[Choice]:
    """Return the values that a field, or each of its items, may have."""
    source = _object(field.get("items")) if field.get("type") == "array" else field
    for keyword in ("oneOf", "anyOf"):
        if named := [one for one in map(_object, _list(source.get(keyword))) if "const" in one]:
            return [Choice(str(one["const"]), str(one.get("title", one["const"]))) for one in named]
    values = _list(source.get("enum"))
    names = _list(source.get("enumNames")) or values
    return [Choice(str(value), str(name)) for value, name in zip(values, names, strict=False)]


def as_typed(form: ElicitRequestFormParams) -> str:
    """Return the values of an answer as they are typed: `amount=NUMBER [size=s|m|l]`; empty if it cannot be typed."""
    try:
        fields = fields_of(form)
    except CommandError:
        return ""
    required = required_in(form)
    words = {name: f"{name}={_values_of(field)}" for name, field in fields.items()}
    return plain(" ".join(one if name in required else f"[{one}]" for name, one in words.items()))


def _values_of(field: Json) -> str:
    values = [one.value for one in choices_of(field)] or _VALUES.get(field.get("type", ""), ("TEXT",))
    few = "|".join(values[:_FEW])
    return few if len(values) <= _FEW else f"{few}|..."


def checked(text: str, name: str, field: Json, choices: Sequence[Choice] = ()) -> Any:
    """Return a typed text as a value of a field.

    Raises:
        CommandError: it is none; the message says why.
    """
    value: Any
    if field.get("type") == "array":
        value = [_chosen(part.strip(), choices) for part in text.split(",") if part.strip()]
    elif choices:
        value = _chosen(text, choices)
    else:
        value = value_of(text, field, name)
    validator: Any = Draft202012Validator(dict(field), format_checker=FormatChecker(), registry=_NOTHING)
    for error in validator.iter_errors(value):
        raise CommandError(f"{name}: {plain(error.message)}.")
    return value


def _fault_of(field: object) -> str | None:
    """Return why a field cannot be asked for; None if it can."""
    if not isinstance(field, dict):
        return "has no schema"
    if found := next((word for word in _words_in(cast(Json, field)) if word in _REFERENCES), None):
        return f"refers to another schema ({found}), and nothing that a server names is read"
    try:
        Draft202012Validator.check_schema(cast("dict[str, Any]", field))
    except SchemaError as error:
        return f"has a schema that is wrong ({plain(error.message)})"
    return None


def _words_in(value: object) -> Iterator[str]:
    """Yield the names of all members, at any depth."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        yield from _object(one)
        waiting += [*_object(one).values(), *_list(one)]


def _chosen(text: str, choices: Sequence[Choice]) -> str:
    """Return the value that a number, a name or the value itself says."""
    if text.isdecimal() and 1 <= int(text) <= len(choices) and text not in {one.value for one in choices}:
        return choices[int(text) - 1].value
    return next((one.value for one in choices if text in (one.value, one.name)), text)


def _object(value: object) -> Json:
    return cast(Json, value) if isinstance(value, dict) else {}


def _list(value: object) -> Sequence[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else ()
