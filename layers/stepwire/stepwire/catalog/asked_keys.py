"""The keys of the questions that definitions ask, held against those for which a manifest has approvers. Pure.

The rule: what only a run can tell is no doubt: a key that an expression computes, a question that another state
machine asks for the task. A key that approvers do not name is its caller's, so a mistyped one lets the caller decide.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from stepwire.catalog.definitions import given_to, states_in
from stepwire.catalog.manifest_faults import nearest
from stepwire.json_text import JsonObject, as_object
from stepwire.tasks.inputs import KEY_PATTERN

KINDS: Final = ("elicitation", "sampling", "roots")
"""The members of a payload that ask; each is a kind of question."""
_WAITS: Final = ".waitForTaskToken"
_INVOKES: Final = ":lambda:invoke"
_STARTS_ANOTHER: Final = (":states:startExecution", ":aws-sdk:sfn:startExecution")


class AskedKeys(Struct, frozen=True):
    """The keys of the questions that definitions ask."""

    states: Mapping[str, str]
    """By the key, the name of the first state that asks it."""
    is_all: bool
    """Whether no run can ask with another key."""


class Doubts(Struct, frozen=True):
    """Where the keys that a manifest names and those that its workflow asks do not meet."""

    unasked: tuple[str, ...] = ()
    """What the manifest names, and no state asks."""
    left_to_caller: Mapping[str, str] = {}
    """What states ask, and the manifest does not name: by the key, the name of the state."""

    @property
    def words(self) -> str:
        """What is doubtful: nothing, unless the manifest names what nobody asks."""
        if not self.unasked:
            return ""
        known = list(self.left_to_caller)
        named = (f"{key}{_meant(nearest(key, known))}" for key in self.unasked)
        caller = f", and the caller answers {self.callers}" if self.left_to_caller else ""
        return f"approvers.questions: no state asks {' or '.join(named)}{caller}"

    @property
    def callers(self) -> str:
        """What the caller answers, in words."""
        return " and ".join(f"{key} (state {state})" for key, state in self.left_to_caller.items())


def payload_of(state: JsonObject) -> JsonObject | None:
    """Return what a state that asks through Stepwire sends to the function; None if it asks nothing."""
    if not str(state.get("Resource", "")).endswith(_WAITS):
        return None
    payload = as_object(given_to(state).get("Payload"))
    return payload if any(kind in payload or f"{kind}.$" in payload for kind in KINDS) else None


def asked_keys(definitions: Iterable[JsonObject]) -> AskedKeys:
    """Return the keys of the questions of some definitions."""
    states, is_all = dict[str, str](), True
    for found in (found for one in definitions for found in states_in(one)):
        payload = payload_of(found.state)
        key = None if payload is None else payload.get("key")
        if isinstance(key, str) and KEY_PATTERN.fullmatch(key):
            states.setdefault(key, found.name)
        elif payload is not None or _may_ask(found.state):
            is_all = False
    return AskedKeys(states, is_all)


def doubts(questions: Sequence[str], definitions: Iterable[JsonObject]) -> Doubts:
    """Hold the keys that a manifest names, if it names any, against the definitions of all its state machines."""
    if not questions:
        return Doubts()
    asked = asked_keys(definitions)
    unasked = tuple(key for key in questions if key not in asked.states) if asked.is_all else ()
    return Doubts(unasked, {key: state for key, state in asked.states.items() if key not in questions})


def _may_ask(state: JsonObject) -> bool:
    """Tell whether a state may ask although it is not written there what."""
    resource, given = str(state.get("Resource", "")), state.get("Arguments", state.get("Parameters"))
    if any(one in resource for one in _STARTS_ANOTHER):
        return True
    is_computed = isinstance(given, str) or isinstance(given_to(state).get("Payload", ""), str)
    return resource.endswith(_WAITS) and _INVOKES in resource and is_computed


def _meant(near: str | None) -> str:
    return f" (did you mean {near}?)" if near else ""
