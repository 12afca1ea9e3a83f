"""One state whose query language is JSONPath."""

from dataclasses import replace
from typing import Final

from stepwire.json_text import JsonObject, as_object, objects_in
from stepwire_wrap.definitions import rules
from stepwire_wrap.definitions.paths import reference_of
from stepwire_wrap.definitions.payloads import dynamic, filled, read_path
from stepwire_wrap.definitions.reads import Use
from stepwire_wrap.definitions.scopes import Scope
from stepwire_wrap.definitions.services import parameters_of
from stepwire_wrap.definitions.values import EACH, UNKNOWN, Value, literal, part, record, replaced
from stepwire_wrap.definitions.visits import (
    FIELDS,
    ITEMS,
    Exit,
    Rule,
    Visit,
    assigned,
    called,
    fields_in,
    next_of,
    repeated,
    side_by_side,
    takes_of,
)

_PATHS: Final = {f"{name}Path": use for name, use in FIELDS.items()}


def visited(state: JsonObject, scope: Scope) -> Visit:
    """Return what a state does, and note what it reads in the scope."""
    visit, raw = Visit(), scope.data
    scope = scope.with_data(_selected(state, "InputPath", scope))
    for name, text in fields_in(state):
        if isinstance(text, str) and (use := _PATHS.get(name)) is not None:
            _ = dynamic(text, scope) if text.startswith("States.") else read_path(text, scope, use)
    if state.get("Type") == "Choice":
        _choose(state, scope, visit)
        return visit
    result = _worked(state, scope, visit)
    if state.get("Type") != "Fail":
        _leave(state, scope.exiting(result), raw, visit)
    for handler in objects_in(state.get("Catch")):
        variables = assigned(handler, scope.with_data(UNKNOWN), filled)
        caught = _put(handler, _without_result(state, raw), UNKNOWN)
        visit.exits.append(Exit(next_of(handler), caught, variables, is_error=True))
    return visit


def _worked(state: JsonObject, scope: Scope, visit: Visit) -> Value:
    """Return what a state's work gives, before `ResultSelector`."""
    kind, given, result = state.get("Type"), scope.data, UNKNOWN
    if kind == "Map":
        _enter_map(state, scope, visit)
        return UNKNOWN
    if "Parameters" in state:
        given = filled(state["Parameters"], scope, takes_of(state, scope))
    if kind == "Task":
        result = called(state, given, scope)
    if kind == "Parallel":
        visit.branches += side_by_side(state, given, scope)
    filled(state.get("Credentials", {}), scope)
    if kind == "Pass":
        return literal(state["Result"]) if "Result" in state else given
    return given if kind in ("Wait", "Succeed") else result


def _enter_map(state: JsonObject, scope: Scope, visit: Visit) -> None:
    reader, writer = as_object(state.get("ItemReader")), as_object(state.get("ResultWriter"))
    filled(reader.get("Parameters", {}), scope, parameters_of(reader.get("Resource")))
    filled(writer.get("Parameters", {}), scope)
    filled(as_object(state.get("ItemBatcher")).get("BatchInput", {}), scope)
    path = state.get("ItemsPath", "$")
    items = UNKNOWN if reader or not isinstance(path, str) else read_path(path, scope, ITEMS)
    item = part(items, (EACH,))
    template = state.get("ItemSelector", state.get("Parameters"))
    given = item if template is None else filled(template, replace(scope, item=item))
    visit.branches.append(repeated(state, given, item, items, scope.variables))


def _choose(state: JsonObject, scope: Scope, visit: Visit) -> None:
    out = _selected(state, "OutputPath", scope)
    for number, rule in enumerate(objects_in(state.get("Choices"))):
        condition = rules.condition_of(rule, scope, must=not number)
        to = str(rule.get("Next"))
        visit.rules.append(Rule(condition, to))
        visit.exits.append(Exit(to, out, assigned(rule, scope, filled)))
    if isinstance(default := state.get("Default"), str):
        visit.default = default
        visit.exits.append(Exit(default, out, assigned(state, scope, filled)))


def _leave(state: JsonObject, scope: Scope, raw: Value, visit: Visit) -> None:
    result = scope.result
    if "ResultSelector" in state:
        result = filled(state["ResultSelector"], scope.with_data(result))
    value = _put(state, raw, result) if state.get("Type") not in ("Wait", "Succeed") else scope.data
    out = _selected(state, "OutputPath", scope.with_data(value))
    visit.exits.append(Exit(next_of(state), out, assigned(state, scope.with_data(scope.result), filled)))


def _put(state: JsonObject, raw: Value, result: Value) -> Value:
    """Return the raw input with the result where `ResultPath` says."""
    path = state.get("ResultPath", "$")
    if path is None:
        return raw
    reference = reference_of(path) if isinstance(path, str) else None
    return UNKNOWN if reference is None else replaced(raw, reference.path, result)


def _without_result(state: JsonObject, raw: Value) -> Value:
    """Return the raw input of a state that failed: what its result would have replaced is its own, not the caller's."""
    return _put(state, raw, UNKNOWN) if state.get("ResultPath", "$") not in ("$", None) else raw


def _selected(state: JsonObject, name: str, scope: Scope) -> Value:
    """Return the part of the data that `InputPath` or `OutputPath` selects."""
    path = state.get(name, "$")
    if path is None:
        return record({})
    if not isinstance(path, str):
        return UNKNOWN
    return scope.data if path == "$" else read_path(path, scope, Use(must=True))
