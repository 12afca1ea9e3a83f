"""Short definitions of state machines, and what is inferred from them."""

from typing import Any, Final

from stepwire.json_text import Json, JsonObject
from stepwire.manifests.reading import read_manifest
from stepwire_wrap.definitions.drafts import Draft, History, Machine, draft
from stepwire_wrap.definitions.samples import seen_in

ARN: Final = "arn:aws:states:eu-central-1:123456789012:stateMachine:Orders"


def machine(**states: JsonObject) -> JsonObject:
    """Return a definition with these states, the first of which is the start."""
    return {"StartAt": next(iter(states)), "States": states}


def in_jsonata(**states: JsonObject) -> JsonObject:
    """Return a definition with these states in JSONata."""
    return {"QueryLanguage": "JSONata", **machine(**states)}


def passed(to: str | None = None, **more: Any) -> JsonObject:
    """Return a Pass state."""
    return {"Type": "Pass", **more, **({"Next": to} if to else {"End": True})}


def task(to: str | None = None, resource: str = "lambda:invoke", **more: Any) -> JsonObject:
    """Return a Task state."""
    return {
        "Type": "Task",
        "Resource": f"arn:aws:states:::{resource}",
        **more,
        **({"Next": to} if to else {"End": True}),
    }


def drafted(definition: JsonObject, inputs: list[Json] | None = None, **history: Any) -> Draft:
    """Return the draft of a definition, which the compiler accepts."""
    made = draft("orders", Machine(ARN, "Orders", definition), History(inputs=seen_in(inputs or []), **history))
    assert read_manifest(made.text).input_schema == made.manifest["input_schema"], "the text must equal the draft"
    return made


def schema_of(definition: JsonObject, inputs: list[Json] | None = None) -> JsonObject:
    """Return the inferred schema of the input."""
    return drafted(definition, inputs).manifest["input_schema"]


def properties_of(definition: JsonObject, inputs: list[Json] | None = None) -> JsonObject:
    """Return the properties of the inferred schema."""
    return schema_of(definition, inputs).get("properties", {})
