"""A question's form as plain HTML controls, and what a person has filled in as the question's content.

Controls are named by their place, and choices by theirs: no name or value of a workflow is part of the protocol between
page and server. What was typed is kept as it is, so that a form with a fault comes back as it was sent.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast

from msgspec import Struct

from stepwire.extras.approvals.page.markup import LINE_ENDS, Markup, Node, h, verbatim
from stepwire.json_text import Json, JsonObject, JsonTextError, load_json, parse, write
from stepwire.schemas.validation import violations_of
from stepwire.visible_text import visible

Typed: TypeAlias = Mapping[str, Sequence[str]]
"""What a form sends: the values of each control."""
Attributes: TypeAlias = Mapping[str, str | bool | None]
_LONG: Final = 200  # characters, from which on a text has several lines
_ON: Final = "on"
_MINUTE: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?")
_MISSING: Final = "Please fill this in."
_CHOOSE: Final = "Please choose one."


class Wrong(Exception):
    """What was filled in is not of the field's kind; the message says what would be right."""


class Option(Struct, frozen=True):
    """A choice."""

    value: str
    title: str


class Field(Struct, frozen=True):
    """A field of a form."""

    name: str
    place: int
    schema: Mapping[str, Any]
    is_required: bool

    @property
    def control(self) -> str:
        """The name and the id of its control."""
        return f"field-{self.place}"

    @property
    def title(self) -> str:
        """What it is called."""
        return self.schema.get("title") or self.name

    @property
    def options(self) -> tuple[Option, ...]:
        """What can be chosen."""
        schema = self.schema.get("items", self.schema)
        if titled := schema.get("oneOf") or schema.get("anyOf"):
            return tuple(Option(one["const"], one["title"]) for one in titled)
        values: Sequence[str] = schema["enum"]
        names: Sequence[str] = schema.get("enumNames") or ()
        titles = [*names, *values[len(names) :]]
        return tuple(Option(*one) for one in zip(values, titles, strict=False))

    def shown(self, value: Json) -> str:
        """Return a value of it as a person reads it: a choice by its title."""
        match value:
            case bool():
                return "yes" if value else "no"
            case str() | list() if _kind_of(self) in (_CHOICE, _CHOICES):
                chosen = [value] if isinstance(value, str) else cast("list[str]", value)
                titles = {one.value: one.title for one in self.options}
                return ", ".join(titles[one] for one in chosen) or "none"
            case str():
                return value
            case _:
                return write(value)


class Filled(Struct, frozen=True):
    """A form that was sent."""

    content: JsonObject
    faults: Mapping[str, str]
    """What is wrong, by the names of the fields."""


class _Kind(Struct, frozen=True):
    """How one kind of field is drawn, begun and read."""

    draw: Callable[[Field, Sequence[str], Attributes], Node]
    """Its controls, with these values and attributes."""
    begin: Callable[[Field, Any], Sequence[str]]
    """The values for a default."""
    read: Callable[[Field, Sequence[str]], Json]
    """The value of what was sent; None: nothing was filled in. Raises `Wrong`."""
    is_group: bool = False
    """Whether it has several controls, under a legend."""


def fields_of(schema: JsonObject) -> tuple[Field, ...]:
    """Return the fields of a question's schema."""
    required = frozenset(schema.get("required", ()))
    named = enumerate(schema["properties"].items())
    return tuple(Field(name, place, one, name in required) for place, (name, one) in named)


def begun(schema: JsonObject) -> Typed:
    """Return a form with the defaults of its schema."""
    with_default = [one for one in fields_of(schema) if "default" in one.schema]
    return {one.control: _kind_of(one).begin(one, one.schema["default"]) for one in with_default}


def filled(schema_text: str, given: Typed) -> Filled:
    """Return what was filled in, with everything that is wrong with it."""
    schema, content, faults = load_json(schema_text), dict[str, Json](), dict[str, str]()
    for field in fields_of(schema):
        try:
            value = _kind_of(field).read(field, given.get(field.control, ()))
        except Wrong as wrong:
            faults[field.name] = str(wrong)
            continue
        if value is not None:
            content[field.name] = value
        elif field.is_required:
            faults[field.name] = _CHOOSE if _kind_of(field) is _CHOICE else _MISSING
    for one in violations_of(schema_text, content):
        name = one.pointer.split("/")[1].replace("~1", "/").replace("~0", "~") if one.pointer else ""
        if name in content:
            faults.setdefault(name, one.expected)
    return Filled(content, faults)


def drawn(schema: JsonObject, given: Typed, faults: Mapping[str, str]) -> list[Markup]:
    """Return the fields as HTML; the first one with a fault has the focus."""
    first = next(iter(faults), None)
    return [
        _field(one, given.get(one.control, ()), faults.get(one.name), has_focus=one.name == first)
        for one in fields_of(schema)
    ]


def _field(field: Field, values: Sequence[str], fault: str | None, *, has_focus: bool) -> Markup:
    kind, name = _kind_of(field), field.control
    more: str | None = field.schema.get("description")
    notes = [f"{name}-more" if more else None, f"{name}-fault" if fault else None]
    attributes = {
        "aria_describedby": " ".join(filter(None, notes)) or None,
        "aria_invalid": "true" if fault else None,
        "autofocus": has_focus,
    }
    title: list[Node] = [field.title, None if field.is_required else h("span", " (optional)", class_="quiet")]
    is_tick = kind is _BOOLEAN
    parts: list[Node] = [
        None if is_tick else h("legend", *title) if kind.is_group else h("label", *title, for_=name),
        kind.draw(field, values, attributes),
        h("small", more, id=f"{name}-more") if more else None,
        h("p", fault, id=f"{name}-fault", class_="wrong") if fault else None,
    ]
    return h("fieldset" if kind.is_group else "div", *parts, class_="field")


def _kind_of(field: Field) -> _Kind:
    schema = field.schema
    if "enum" in schema or "oneOf" in schema:
        return _CHOICE
    if schema["type"] == "string":
        return _MOMENT if schema.get("format") == "date-time" else _TEXT
    return _KINDS[schema["type"]]


# ---------------------------------------------------------------------------------------------------------------- kinds


_INPUTS: Final = MappingProxyType({"email": "email", "uri": "url", "date": "date"})


def _draw_text(field: Field, values: Sequence[str], attributes: Attributes) -> Node:
    schema, value = field.schema, "".join(values[-1:])
    longest = schema.get("maxLength")
    more = {"id": field.control, "name": field.control, "required": field.is_required, **attributes}
    more |= {"maxlength": None if longest is None else str(longest)}
    if "format" not in schema and (longest is None or longest > _LONG):
        # The first line break after the tag is no part of the text.
        return h("textarea", verbatim(f"\n{value}"), rows="3", **more)
    kind = _INPUTS.get(schema.get("format", ""), "text")
    return h("input", type=kind, value=verbatim(value), autocomplete="off", **more)


def _read_text(_field: Field, values: Sequence[str]) -> Json:
    return "".join(values[-1:]).replace("\r\n", "\n") or None


def _draw_moment(field: Field, values: Sequence[str], attributes: Attributes) -> Node:
    more = {"id": field.control, "name": field.control, "required": field.is_required, **attributes}
    value = "".join(values[-1:])
    return [h("small", "In UTC."), h("input", type="datetime-local", step="1", value=value, **more)]


def _begin_moment(_field: Field, default: Any) -> Sequence[str]:
    with suppress(ValueError, OverflowError):  # no time; or, in UTC, one of no year that can be written
        return [datetime.fromisoformat(default).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")]
    return []


def _read_moment(_field: Field, values: Sequence[str]) -> Json:
    value = "".join(values[-1:]).strip()
    if not value:
        return None
    found = _MINUTE.fullmatch(value)
    return value if found is None else f"{value}Z" if found[1] else f"{value}:00Z"


def _draw_number(field: Field, values: Sequence[str], attributes: Attributes) -> Node:
    schema, is_whole = field.schema, field.schema["type"] == "integer"
    bounds = {name: write(schema[f"{name}imum"]) for name in ("min", "max") if f"{name}imum" in schema}
    more = {"id": field.control, "name": field.control, "required": field.is_required, **attributes, **bounds}
    return h("input", type="number", step="1" if is_whole else "any", value="".join(values[-1:]), **more)


def _read_number(field: Field, values: Sequence[str]) -> Json:
    text = "".join(values[-1:]).strip()
    if not text:
        return None
    with suppress(JsonTextError):
        number = parse(_as_json(text))
        if isinstance(number, int | float) and not isinstance(number, bool):
            is_whole = field.schema["type"] == "integer" and isinstance(number, float) and number.is_integer()
            return int(number) if is_whole else number
    raise Wrong("Please give a whole number." if field.schema["type"] == "integer" else "Please give a number.")


def _as_json(text: str) -> str:
    """Return a number of a form, which may have zeros before its digits or none before its point, as JSON has it."""
    return re.sub(r"^(-?)0+(?=\d)", r"\1", re.sub(r"^(-?)\.", r"\g<1>0.", text))


def _draw_boolean(field: Field, values: Sequence[str], attributes: Attributes) -> Node:
    box = h(
        "input", type="checkbox", id=field.control, name=field.control, value=_ON, checked=bool(values), **attributes
    )
    return h("label", box, h("span", field.title), class_="choice")


def _read_boolean(_field: Field, values: Sequence[str]) -> Json:
    return bool(values)


def _draw_choice(field: Field, values: Sequence[str], attributes: Attributes) -> Node:
    more = {"id": field.control, "name": field.control, "required": field.is_required, **attributes}
    none = h("option", "Choose ...", value="")
    chosen = "".join(values[-1:])
    options = [
        h("option", one.title, value=str(place), selected=str(place) == chosen)
        for place, one in enumerate(field.options)
    ]
    return h("select", none, options, **more)


def _read_choice(field: Field, values: Sequence[str]) -> Json:
    value = "".join(values[-1:])
    return _chosen(field.options, value) if value else None


def _draw_choices(field: Field, values: Sequence[str], attributes: Attributes) -> Node:
    chosen = frozenset(values)
    boxes = [
        h(
            "label",
            h(
                "input",
                type="checkbox",
                name=field.control,
                value=str(place),
                checked=str(place) in chosen,
                **(attributes if place == 0 else {**attributes, "autofocus": False}),
            ),
            h("span", one.title),
            class_="choice",
        )
        for place, one in enumerate(field.options)
    ]
    return h("div", boxes)


def _read_choices(field: Field, values: Sequence[str]) -> Json:
    options = field.options
    chosen = [_chosen(options, one) for one in dict.fromkeys(values)]
    # An empty list is an answer only where one must be given.
    return chosen if chosen or field.is_required else None


def _chosen(options: Sequence[Option], value: str) -> str:
    if value.isascii() and value.isdecimal() and len(value) <= len(str(len(options))) and int(value) < len(options):
        return options[int(value)].value
    raise Wrong(_CHOOSE)


def _begin_choice(field: Field, default: Any) -> Sequence[str]:
    wanted: Sequence[str] = [default] if isinstance(default, str) else default
    return [str(place) for place, one in enumerate(field.options) if one.value in wanted]


def _begin_text(_field: Field, default: Any) -> Sequence[str]:
    # A workflow's text hides nothing: what is sent is what the approver sees.
    return [visible(default, LINE_ENDS) if isinstance(default, str) else write(default)]


def _begin_boolean(_field: Field, default: Any) -> Sequence[str]:
    return [_ON] if default is True else []


_TEXT: Final = _Kind(_draw_text, _begin_text, _read_text)
_MOMENT: Final = _Kind(_draw_moment, _begin_moment, _read_moment)
_NUMERIC: Final = _Kind(_draw_number, _begin_text, _read_number)
_BOOLEAN: Final = _Kind(_draw_boolean, _begin_boolean, _read_boolean)
_CHOICE: Final = _Kind(_draw_choice, _begin_choice, _read_choice)
_CHOICES: Final = _Kind(_draw_choices, _begin_choice, _read_choices, is_group=True)
_KINDS: Final = MappingProxyType({"number": _NUMERIC, "integer": _NUMERIC, "boolean": _BOOLEAN, "array": _CHOICES})
