"""State machines as graphs: the states of a definition and the ways between them.

Pure. The rule: each state is there once, also one that no way leads to; a way to a state that is not there is left out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, cast

from stepwire.manifests.definitions import inside

START: Final = "(start)"
END: Final = "(end)"

Kind = Literal["next", "choice", "default", "catch"]
Json = Mapping[str, Any]

_COMPARED: Final = frozenset(("Next", "Comment", "Variable", "Assign", "Output"))


@dataclass(frozen=True)
class Way:
    """A way from a state to another of the same scope."""

    source: str
    target: str
    kind: Kind = "next"
    number: int = 0
    """Of a rule of a Choice, from 1; else 0."""
    words: str = ""
    """The condition, or the names of the errors."""


@dataclass(frozen=True)
class State:
    """A state; a Map has one inner scope, a Parallel one a branch."""

    name: str
    type: str
    action: str = ""
    """What a Task calls: the end of its `Resource`."""
    scopes: tuple["Scope", ...] = ()


@dataclass(frozen=True)
class Scope:
    """The states of a definition, of a branch or of a Map's items."""

    start: str
    states: tuple[State, ...]
    ways: tuple[Way, ...]


def whole(definition: Json) -> Scope:
    """Return the graph of a definition, with `START` and `END` as states of their own."""
    scope = scope_of(definition)
    states = _states(definition)
    last = [Way(name, END) for name, state in states.items() if state.get("End") or state.get("Type") == "Succeed"]
    first = [Way(START, scope.start)] if scope.start in states else []
    ends = (State(END, "End"),) if last else ()
    return Scope(START, (State(START, "Start"), *scope.states, *ends), (*first, *scope.ways, *last))


def drawable(scope: Scope) -> dict[str, Any]:
    """Return a scope for the page, which lays it out (`static/layout.js`)."""
    return {
        "start": scope.start,
        "states": [
            {"name": one.name, "type": one.type, "action": one.action, "scopes": list(map(drawable, one.scopes))}
            for one in scope.states
        ],
        "ways": [asdict(way) for way in scope.ways],
    }


def scope_of(definition: Json) -> Scope:
    """Return the graph of a definition, or of a part of one that has states."""
    states = _states(definition)
    known = tuple(_state(name, state) for name, state in states.items())
    ways = tuple(way for name, state in states.items() for way in _ways(name, state) if way.target in states)
    return Scope(str(definition.get("StartAt", "")), known, ways)


def _states(definition: Json) -> Mapping[str, Json]:
    return cast("Mapping[str, Json]", definition.get("States") or {})


def _state(name: str, state: Json) -> State:
    action = str(state.get("Resource", "")).rpartition(":::")[2].rpartition(":function:")[2]
    return State(name, str(state.get("Type", "")), action, tuple(map(scope_of, inside(state))))


def _ways(name: str, state: Json) -> Iterator[Way]:
    if "Next" in state:
        yield Way(name, str(state["Next"]))
    for number, rule in enumerate(state.get("Choices", ()), 1):
        yield Way(name, str(rule.get("Next", "")), "choice", number, condition_of(rule))
    if "Default" in state:
        yield Way(name, str(state["Default"]), "default", 0, "otherwise")
    for catcher in state.get("Catch", ()):
        yield Way(name, str(catcher.get("Next", "")), "catch", 0, ", ".join(map(str, catcher.get("ErrorEquals", ()))))


def condition_of(rule: Json) -> str:
    """Return a rule of a Choice in words: JSONata as it is, JSONPath as `$.a NumericEquals 1`."""
    if "Condition" in rule:
        return str(rule["Condition"]).removeprefix("{%").removesuffix("%}").strip()
    for joint in ("And", "Or"):
        if joint in rule:
            return f" {joint.lower()} ".join(f"({condition_of(one)})" for one in rule[joint])
    if "Not" in rule:
        return f"not ({condition_of(rule['Not'])})"
    compared = [f"{name} {value}" for name, value in rule.items() if name not in _COMPARED]
    return f"{rule.get('Variable', '')} {' '.join(compared)}".strip()
