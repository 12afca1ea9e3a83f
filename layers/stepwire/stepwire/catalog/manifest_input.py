"""The fields of a manifest about the workflow's input: `input` and `context`, with the checks that keep names apart."""

from collections.abc import Iterator
from typing import Annotated, Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from stepwire.json_text import Json, JsonObject, as_object, write
from stepwire.schemas.defaults import resolved
from stepwire.schemas.validation import violations_of

LARGEST_ADDITION: Final = 8_192  # bytes of JSON
# Keywords whose schemas describe the same object.
_SAME_PLACE: Final = ("allOf", "anyOf", "oneOf")
_SAME_PLACE_ALONE: Final = ("if", "then", "else")

MemberName = Annotated[str, Field(min_length=1, max_length=64)]


class ContextFields(BaseModel):
    """Who calls, as a member of the workflow's input."""

    model_config = ConfigDict(extra="forbid")

    input_key: MemberName
    claims: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(default_factory=list[str], max_length=20)

    @model_validator(mode="before")
    @classmethod
    def takes_a_name(cls, value: Any) -> Any:
        """Read the short form: the name of the member alone."""
        return {"input_key": value} if isinstance(value, str) else value

    @field_validator("claims")
    @classmethod
    def check_claims(cls, claims: list[str]) -> list[str]:
        """Check that no claim is listed twice."""
        twice = next((name for name in claims if claims.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"{twice!r} is listed twice")
        return claims


class InputFields(BaseModel):
    """What is merged into the workflow's input."""

    model_config = ConfigDict(extra="forbid")

    constants: dict[MemberName, Any] = Field(default_factory=dict[str, Any])
    defaults: dict[MemberName, Any] = Field(default_factory=dict[str, Any])

    @model_validator(mode="after")
    def check_size(self) -> "InputFields":
        """Check that a call has room for arguments beside what is added to them."""
        for name in ("constants", "defaults"):
            if len(write(getattr(self, name)).encode()) > LARGEST_ADDITION:
                raise ValueError(f"at {name}: larger than {LARGEST_ADDITION} bytes of JSON")
        return self


def added_faults(
    input_schema: JsonObject, shape: InputFields | None, context: ContextFields | None, confirm_key: str | None
) -> Iterator[str]:
    """Yield why the names that the server sets do not fit: each is one thing, and nothing that callers send."""
    shape = shape or InputFields()
    added = {f"input.constants.{name}": name for name in shape.constants}
    added |= {"context.input_key": context.input_key} if context else {}
    offered = set(offered_names(input_schema))
    taken: dict[str, str] = {confirm_key: "confirm.input_key"} if confirm_key else {}
    for field, name in added.items():
        if name in offered:
            yield f"at {field}: {name!r} is a property of input_schema, which callers set: choose another name"
        elif name in taken:
            yield f"at {field}: {name!r} is also the name in {taken[name]}"
        taken.setdefault(name, field)
    for name, value in shape.defaults.items():
        if name in taken:
            yield f"at input.defaults.{name}: {name!r} is also the name in {taken[name]}"
        yield from (f"at input.defaults.{name}: {fault}" for fault in _default_faults(input_schema, name, value))


def _default_faults(input_schema: JsonObject, name: str, value: Json) -> Iterator[str]:
    if name not in as_object(input_schema.get("properties")):
        return
    only: JsonObject = {key: input_schema[key] for key in ("$defs", "$schema") if key in input_schema}
    schema = {**only, "type": "object", "properties": {name: input_schema["properties"][name]}}
    yield from (str(fault) for fault in violations_of(write(schema), {name: value})[:1])


def offered_names(schema: JsonObject) -> Iterator[str]:
    """Yield the names of the properties that a schema describes at its top, also by what it refers to."""
    waiting, seen = [schema], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield from as_object(one.get("properties"))
        yield from cast(list[str], one.get("required", []))
        parts = [part for keyword in _SAME_PLACE for part in cast(list[Json], one.get(keyword, []))]
        parts += [one[keyword] for keyword in _SAME_PLACE_ALONE if keyword in one]
        parts += as_object(one.get("dependentSchemas")).values()
        waiting += [as_object(part) for part in parts]
        waiting += [resolved(schema, one["$ref"])] if "$ref" in one else []
