"""What `stepwire doctor` doubts of who decides: a caller who decides for somebody else, or chooses who does."""

from collections.abc import Iterable, Iterator
from typing import Final

from stepwire.extras.approvals.rules import Approvers
from stepwire.json_text import JsonObject, as_object
from stepwire.manifests.definitions import PlacedState, payload_of
from stepwire.manifests.manifest import Manifest
from stepwire.tasks.inputs import KEY_PATTERN
from stepwire_wrap.definitions.people import said_in, somebody_else, words_of
from stepwire_wrap.definitions.questions import is_computed, places_of_questions
from stepwire_wrap.findings import Finding

_WHO: Final = frozenset({"scope", "claim", "has", "role", "escalate"})
"""What of an audience says who is of it."""


def of_questions(manifest: Manifest, definitions: Iterable[JsonObject]) -> Iterator[Finding]:
    """Yield the questions that the caller answers, although their words name somebody else."""
    for place in (place for one in definitions for place in places_of_questions(one)):
        payload = as_object(payload_of(place.state))
        key, message = str(payload.get("key")), as_object(payload.get("elicitation")).get("message")
        is_known = KEY_PATTERN.fullmatch(key) is not None
        if (policy := manifest.tool().kept_by("approvals", Approvers)) is not None and (
            not is_known or policy.is_for(key)
        ):
            continue
        texts = (place.name, str(place.state.get("Comment", "")), key if is_known else "", *said_in(message))
        if other := somebody_else(words_of(*texts)):
            yield Finding(
                "",
                f"state {place.name} asks the caller, and its words name somebody else ({other}): whoever calls the "
                "tool decides, on their own request too",
                "add approvers to the manifest, who decide it instead (docs/extras/approvals.md); if the caller is "
                "meant, name nobody else in the state",
            )


def of_audiences(manifest: Manifest, name: str, definition: JsonObject) -> Iterator[Finding]:
    """Yield the questions of a state machine whose callers may choose who decides them."""
    if (policy := manifest.tool().kept_by("approvals", Approvers)) is None or policy.audience.conditions:
        return
    for place in _computed_audiences(definition):
        yield Finding(
            "",
            f"{name}: state {place.name} computes who decides its question, and approvers bounds nobody: "
            "made of an argument, the caller chooses who decides",
            "give approvers in the manifest a scope, a claim or a role, which the question then narrows",
        )


def _computed_audiences(definition: JsonObject) -> list[PlacedState]:
    """Return the states that compute who decides their question, perhaps of what a caller has given."""
    return [one for one in places_of_questions(definition) if _computes_who(payload_of(one.state) or {})]


def _computes_who(payload: JsonObject) -> bool:
    audience = payload.get("audience")
    second = as_object(as_object(audience).get("escalate"))
    members = [*as_object(audience).items(), *second.items()]
    whole = "audience.$" in payload or is_computed(audience)
    return whole or any(is_computed(one) or name.endswith(".$") for name, one in members if _says_who(name))


def _says_who(name: str) -> bool:
    return name.removesuffix(".$") in _WHO
