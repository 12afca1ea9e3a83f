"""What Step Functions refuses in a definition, as far as it spoils a tool: states that lead nowhere."""

from collections.abc import Iterator
from typing import Final

from stepwire.json_text import JsonObject, as_object, objects_in
from stepwire.manifests.definitions import inside

_DEEPEST: Final = 8  # levels of states inside states
_SHOWN: Final = 80  # characters of a name


def faults_of(definition: JsonObject, depth: int = 0) -> Iterator[str]:
    """Yield why Step Functions refuses a definition."""
    states = {name: as_object(one) for name, one in as_object(definition.get("States")).items()}
    start = definition.get("StartAt")
    if not isinstance(start, str) or start not in states:
        yield f"StartAt names no state: {str(start)[:_SHOWN]!r}"
    for name, state in states.items():
        if "Type" not in state:
            yield f"{name[:_SHOWN]!r} among its states has no Type"
        yield from (
            f"state {name[:_SHOWN]} leads to no state: {to[:_SHOWN]!r}" for to in _ways(state) if to not in states
        )
        for one in inside(state) if depth < _DEEPEST else ():
            yield from faults_of(one, depth + 1)


def _ways(state: JsonObject) -> Iterator[str]:
    rules = [*objects_in(state.get("Choices")), *objects_in(state.get("Catch")), state]
    yield from (str(rule[name]) for rule in rules for name in ("Next", "Default") if name in rule)
