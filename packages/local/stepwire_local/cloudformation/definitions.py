"""Definitions of state machines as text: read from files, with their substitutions, as Step Functions takes them. Pure.

The rules are AWS's: what DefinitionSubstitutions replace is text, so a placeholder may stand without quotes where a
number belongs; and a number may be written as text, as a substitution in quotes leaves it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, cast

from stepwire.json_text import objects_in
from stepwire.manifests.definitions import inside, states_in
from stepwire.manifests.yaml_text import read_template

_PLACEHOLDER: Final = re.compile(r"\$\{(\w+)\}")
# `"total": ${total}` is no JSON. It is read as a text that no definition contains, and replaced with its quotes.
_TEXT_OR_PLACEHOLDER: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\$\{(\w+)\}')
_MARKED: Final = re.compile(r'"\$\{(\w+):unquoted\}"')
# The names of errors that Step Functions itself reports. It keeps the prefix for these.
_OWN_ERRORS: Final = frozenset(
    f"States.{name}"
    for name in (
        "ALL",
        "BranchFailed",
        "DataLimitExceeded",
        "ExceedToleratedFailureThreshold",
        "HeartbeatTimeout",
        "Http.Socket",
        "Http.StatusCode",
        "IntrinsicFailure",
        "ItemReaderFailed",
        "NoChoiceMatched",
        "ParameterPathFailure",
        "Permissions",
        "QueryEvaluationError",
        "ResultPathMatchFailure",
        "ResultWriterFailed",
        "Runtime",
        "TaskFailed",
        "Timeout",
    )
)

# What is a number, by the part of a state that has it.
_NUMBERS: Final[Mapping[str, tuple[str, ...]]] = {
    "": (
        "Seconds",
        "TimeoutSeconds",
        "HeartbeatSeconds",
        "MaxConcurrency",
        "ToleratedFailureCount",
        "ToleratedFailurePercentage",
    ),
    "Retry": ("IntervalSeconds", "MaxAttempts", "MaxDelaySeconds", "BackoffRate"),
    "ItemBatcher": ("MaxItemsPerBatch", "MaxInputBytesPerBatch"),
    "ReaderConfig": ("MaxItems",),
}


def read_definition(text: str) -> Any:
    """Return the content of a definition's file, which is JSON or YAML; placeholders may stand without quotes.

    Raises:
        ValueError: it is neither.
    """
    if not text.lstrip().startswith(("{", "[")):
        return read_template(text)
    marked = _TEXT_OR_PLACEHOLDER.sub(lambda found: f'"${{{found[1]}:unquoted}}"' if found[1] else found[0], text)
    with suppress(ValueError):  # JSON may be indented with tabs, which YAML forbids
        return json.loads(marked)
    return read_template(marked)


def substituted(definition: str, substitutions: Mapping[str, Any]) -> str:
    """Return a definition's JSON text with its placeholders replaced."""

    def bare(match: re.Match[str]) -> str:
        name = match[1]
        return _text(substitutions[name]) if name in substitutions else f'"${{{name}}}"'

    def quoted(match: re.Match[str]) -> str:
        name = match[1]
        # Inside a JSON string, so quotes and backslashes of the value are escaped.
        return json.dumps(_text(substitutions[name]))[1:-1] if name in substitutions else match[0]

    return _PLACEHOLDER.sub(quoted, _MARKED.sub(bare, definition))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def with_numbers(program: dict[str, Any]) -> dict[str, Any]:
    """Return a definition whose numbers are numbers, where they were texts."""
    for state in (one.state for one in states_in(program)):
        for part, names in _NUMBERS.items():
            for holder in _holders(state, part):
                for name in names:
                    holder.update({name: _number(holder[name])} if name in holder else {})
    return program


def _holders(state: dict[str, Any], part: str) -> list[dict[str, Any]]:
    if not part:
        return [state]
    holders = objects_in(state.get("ItemReader")) if part == "ReaderConfig" else [state]
    return [one for holder in holders for one in objects_in(holder.get(part))]


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    for kind in (int, float):
        with suppress(ValueError):
            return kind(value)
    return value


def reserved_names(program: Mapping[str, Any]) -> list[str]:
    """Return the names of errors that a definition invents with Step Functions' own prefix."""
    found = [name for one in states_in(program) for name in _error_names(one.state)]
    return [name for name in dict.fromkeys(found) if name.startswith("States.") and name not in _OWN_ERRORS]


def _error_names(state: dict[str, Any]) -> Iterator[str]:
    for part in ("Retry", "Catch"):
        for one in _holders(state, part):
            names: Any = one.get("ErrorEquals")
            yield from (str(name) for name in (cast("list[Any]", names) if isinstance(names, list) else ()))
    if state.get("Type") == "Fail" and isinstance(state.get("Error"), str):
        yield state["Error"]


def fault_in(program: object) -> str | None:
    """Return what is wrong with the shape of a definition, or leads to a missing state; None if nothing is."""
    if not isinstance(program, Mapping):
        return "the definition is no object"
    given = cast("Mapping[str, Any]", program)
    states: Any = given.get("States")
    if not isinstance(states, Mapping):
        return "the definition has no States"
    known = cast("Mapping[str, Any]", states)
    for name, state in known.items():
        if not isinstance(state, Mapping) or not isinstance(cast("Mapping[str, Any]", state).get("Type"), str):
            return f"the state {name!r} has no Type"
    wanted = {"StartAt": given.get("StartAt"), **_transitions(known)}
    missing = ((where, to) for where, to in wanted.items() if to is not None and to not in known)
    for where, to in missing:
        return f"{where} names the state {to!r}, which does not exist"
    inner = (fault_in(one) for state in known.values() for one in inside(state))
    return next((fault for fault in inner if fault), None)


def _transitions(states: Mapping[str, Any]) -> dict[str, Any]:
    """Return the states that each state leads to, by the place that names them."""
    found: dict[str, Any] = {}
    for name, state in states.items():
        found |= {f"{name}.{key}": state.get(key) for key in ("Next", "Default")}
        for rule in ("Catch", "Choices"):
            for index, entry in enumerate(_holders(state, rule)):
                found[f"{name}.{rule}[{index}].Next"] = entry.get("Next")
    return found
