"""The questions that definitions ask, held against those for which a manifest has approvers. Pure.

The rule: what only a run can tell is no doubt: a key or a form that an expression computes, a question that another
state machine asks for the task. A key that approvers do not name is its caller's, so a mistyped one lets the caller
decide. A field that asks for the decision again is what `tasks.decision_fields` says.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from stepwire.json_text import JsonObject, as_object
from stepwire.manifests.definitions import given_to, states_in
from stepwire.manifests.faults import nearest
from stepwire.tasks.decision_fields import ANSWERABLE, AmbiguousDecision, doubtful_in, form_of
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


class Doubt(Struct, frozen=True):
    """One thing that is doubtful."""

    words: str
    fix: str


_NOBODY_DECIDES: Final = Doubt(
    "approvers: no state asks anything, so nobody decides anything",
    "add a state that asks (docs/extras/approvals.md), or leave approvers out",
)


class Doubts(Struct, frozen=True):
    """Where the questions for which a manifest has approvers, and those that its workflow asks, do not meet."""

    found: tuple[Doubt, ...] = ()
    """What is doubtful."""
    left_to_caller: Mapping[str, str] = {}
    """What states ask, and the manifest does not name: by the key, the name of the state."""

    @property
    def callers(self) -> str:
        """What the caller answers, in words."""
        return _callers(self.left_to_caller)


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
    """Hold the keys that a manifest names, or all if it names none, against the definitions of its state machines."""
    whole = list(definitions)
    restated, asked = tuple(_restated(questions, whole)), asked_keys(whole)
    if not questions:
        return Doubts(restated if asked.states or not asked.is_all else (_NOBODY_DECIDES,))
    left = {key: state for key, state in asked.states.items() if key not in questions}
    unasked = tuple(key for key in questions if key not in asked.states) if asked.is_all else ()
    return Doubts((*((_nobody_asks(unasked, left),) if unasked else ()), *restated), left)


def _nobody_asks(unasked: Sequence[str], left_to_caller: Mapping[str, str]) -> Doubt:
    named = (f"{key}{_meant(nearest(key, list(left_to_caller)))}" for key in unasked)
    caller = f", and the caller answers {_callers(left_to_caller)}" if left_to_caller else ""
    return Doubt(
        f"approvers.questions: no state asks {' or '.join(named)}{caller}",
        "write the key as the state has it, or leave questions out: then approvers decide all of them",
    )


def _callers(states: Mapping[str, str]) -> str:
    return " and ".join(f"{key} (state {state})" for key, state in states.items())


def _restated(questions: Sequence[str], definitions: Iterable[JsonObject]) -> Iterator[Doubt]:
    """Yield the questions for approvers whose form asks, or may ask, for their decision a second time."""
    for found in (found for one in definitions for found in states_in(one)):
        payload = payload_of(found.state)
        if payload is None or (questions and payload.get("key") not in questions):
            continue
        try:
            form = form_of(as_object(as_object(payload.get("elicitation")).get("requestedSchema")))
        except AmbiguousDecision as error:
            yield Doubt(
                f"approvers: the question of state {found.name} is refused, so its run fails: {error}",
                ANSWERABLE,
            )
            continue
        for name in doubtful_in(form.shown):
            yield Doubt(
                f"approvers: the form of state {found.name} requires {name}, which may ask for the decision again: "
                f"the buttons decide, whatever {name} says",
                f"leave {name} out of the form if it does, or call it approved: then it is not shown, and the buttons "
                "answer it",
            )


def _may_ask(state: JsonObject) -> bool:
    """Tell whether a state may ask although it is not written there what."""
    resource, given = str(state.get("Resource", "")), state.get("Arguments", state.get("Parameters"))
    if any(one in resource for one in _STARTS_ANOTHER):
        return True
    is_computed = isinstance(given, str) or isinstance(given_to(state).get("Payload", ""), str)
    return resource.endswith(_WAITS) and _INVOKES in resource and is_computed


def _meant(near: str | None) -> str:
    return f" (did you mean {near}?)" if near else ""
