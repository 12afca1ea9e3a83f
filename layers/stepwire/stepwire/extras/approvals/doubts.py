"""The questions that definitions ask, held against those for which a manifest has approvers. Pure.

The rule: what only a run can tell is no doubt: a key or a form that an expression computes, a question that another
state machine asks for the task. A key that approvers do not name is its caller's, so a mistyped one lets the caller
decide. A field that asks for the decision again is what `tasks.decision_fields` says.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from stepwire.extras.approvals.decision_fields import ANSWERABLE, AmbiguousDecision, doubtful_in, form_of
from stepwire.hooks import Doubt
from stepwire.json_text import JsonObject, as_object
from stepwire.manifests.definitions import WAITS, given_to, payload_of, states_in
from stepwire.manifests.faults import nearest
from stepwire.tasks.inputs import KEY_PATTERN

_INVOKES: Final = ":lambda:invoke"
_STARTS_ANOTHER: Final = (":states:startExecution", ":aws-sdk:sfn:startExecution")


class AskedKeys(Struct, frozen=True):
    """The keys of the questions that definitions ask."""

    states: Mapping[str, str]
    """By the key, the name of the first state that asks it."""
    is_all: bool
    """Whether no run can ask with another key."""


_NOBODY_DECIDES: Final = Doubt(
    "approvers: no state asks anything, so nobody decides anything",
    "add a state that asks (docs/extras/approvals.md), or leave approvers out",
)


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


def doubts(questions: Sequence[str], definitions: Sequence[JsonObject]) -> Iterator[Doubt]:
    """Hold the keys that a manifest names, or all if it names none, against the definitions of its state machines."""
    asked = asked_keys(definitions)
    left = {key: state for key, state in asked.states.items() if questions and key not in questions}
    unasked = tuple(key for key in questions if key not in asked.states) if asked.is_all else ()
    if not questions and not asked.states and asked.is_all:
        yield _NOBODY_DECIDES
        return
    found = [*([_nobody_asks(unasked, left)] if unasked else []), *_restated(questions, definitions)]
    yield from found
    if left and not found:
        yield Doubt(
            f"approvers.questions leaves {_callers(left)} to the caller",
            "name it there too, unless the caller may decide it",
            is_advice=True,
        )


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
    return resource.endswith(WAITS) and _INVOKES in resource and is_computed


def _meant(near: str | None) -> str:
    return f" (did you mean {near}?)" if near else ""
