"""The questions of a definition to a user or a client, checked before a run asks them.

A state with `.waitForTaskToken` that sends `elicitation`, `sampling` or `roots` asks through Stepwire. What an
expression computes is not known before the run: a harmless text stands for it, so only the rest is judged.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, cast

from stepwire.json_text import Json, JsonObject
from stepwire.manifests.definitions import ASKING, PlacedState, payload_of, states_in
from stepwire.tasks.inputs import KEY_PATTERN, InvalidQuestion, asked_of

_COMPUTED: Final = re.compile(r"\s*\{%.*%\}\s*", re.DOTALL)
_TEXT: Final = "https://example.com/computed"  # fits where a text or a URL is wanted
_FORM: Final[JsonObject] = {"type": "object", "properties": {}}
# What fits in the place of a computed member; where only a text does, nothing is named.
_STAND_INS: Final[dict[str, Json]] = {
    **dict.fromkeys(("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "maxTokens"), 1),
    **dict.fromkeys(("temperature", "costPriority", "speedPriority", "intelligencePriority"), 1),
    **{name: ["computed"] for name in ("enum", "enumNames")},
    **{name: list[Json]() for name in ("required", "stopSequences", "hints")},
    "requestedSchema": _FORM,
    "properties": {},
}
_LEFT_OUT: Final = frozenset({"default"})


@dataclass(frozen=True)
class BadQuestion:
    """A question that clients could not show."""

    state: str
    """Name of the state that asks it."""
    where: str
    """The state's place in the definition."""
    fault: str


def bad_questions(definition: JsonObject) -> list[BadQuestion]:
    """Return what is wrong with the questions of a definition."""
    return [BadQuestion(one.name, one.where, fault) for one in states_in(definition) for fault in _faults(one.state)]


def asking_states(definition: JsonObject) -> list[str]:
    """Return the names of the states that ask through Stepwire."""
    return [one.name for one in places_of_questions(definition)]


def places_of_questions(definition: JsonObject) -> list[PlacedState]:
    """Return the states that ask through Stepwire."""
    return [one for one in states_in(definition) if payload_of(one.state) is not None]


def _faults(state: JsonObject) -> Iterator[str]:
    payload = payload_of(state)
    if payload is None:
        return
    for member in ("execution_arn", "task_token"):
        if member not in payload and f"{member}.$" not in payload:
            yield f"its Payload has no {member}, so nobody knows which task asks"
    key = payload.get("key")
    if isinstance(key, str) and not _COMPUTED.fullmatch(key) and not KEY_PATTERN.fullmatch(key):
        yield f"key: {key[:80]!r} must match {KEY_PATTERN.pattern}"
    asked = {kind: payload[kind] for kind in ASKING if kind in payload}
    if any(is_computed(value) for value in asked.values()) or not asked:
        return
    try:
        asked_of({kind: _stood_in(value) for kind, value in asked.items()})
    except InvalidQuestion as error:
        yield str(error)


def is_computed(value: Json) -> bool:
    """Tell whether an expression computes a value."""
    return isinstance(value, str) and _COMPUTED.fullmatch(value) is not None


def _stood_in(value: Json) -> Json:
    """Return what a run would send, with a text for each value that it computes."""
    if isinstance(value, dict):
        members = cast(JsonObject, value)
        kept = {name: one for name, one in members.items() if not _is_left_out(name, one)}
        return {name.removesuffix(".$"): _member(name, one) for name, one in kept.items()}
    if isinstance(value, list):
        return [_stood_in(one) for one in cast(list[Json], value)]
    return _TEXT if is_computed(value) else value


def _member(name: str, value: Json) -> Json:
    if name.endswith(".$") or is_computed(value):
        return _STAND_INS.get(name.removesuffix(".$"), _TEXT)
    return _stood_in(value)


def _is_left_out(name: str, value: Json) -> bool:
    return name.removesuffix(".$") in _LEFT_OUT and (name.endswith(".$") or is_computed(value))
