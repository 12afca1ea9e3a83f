"""One state whose query language is JSONata."""

from dataclasses import replace

from stepwire.json_text import Json, JsonObject, as_object, objects_in
from stepwire_wrap.definitions.conditions import Opaque
from stepwire_wrap.definitions.expressions import condition_of, evaluated, expression_in, filled
from stepwire_wrap.definitions.scopes import Scope
from stepwire_wrap.definitions.services import parameters_of
from stepwire_wrap.definitions.values import EACH, UNKNOWN, Value, part
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


def visited(state: JsonObject, scope: Scope) -> Visit:
    """Return what a state does, and note what it reads in the scope."""
    visit = Visit()
    for name, value in fields_in(state):
        if (use := FIELDS.get(name)) is not None and (text := expression_in(value)) is not None:
            evaluated(text, scope, use)
    if state.get("Type") == "Choice":
        _choose(state, scope, visit)
        return visit
    result = _worked(state, scope, visit)
    if state.get("Type") != "Fail":
        leaving = scope.exiting(result)
        visit.exits.append(_out(state, leaving, next_of(state), result))
    for handler in objects_in(state.get("Catch")):
        caught = _out(handler, replace(scope, at_exit=True), next_of(handler), UNKNOWN, must=False)
        visit.exits.append(replace(caught, is_error=True))
    return visit


def _worked(state: JsonObject, scope: Scope, visit: Visit) -> Value:
    """Return what a state's work gives: `$states.result`, or the input where there is no work."""
    kind = state.get("Type")
    if kind == "Map":
        _enter_map(state, scope, visit)
        return UNKNOWN
    given = filled(state["Arguments"], scope, takes_of(state, scope)) if "Arguments" in state else scope.data
    filled(state.get("Credentials", {}), scope)
    if kind == "Parallel":
        visit.branches += side_by_side(state, given, scope)
    elif kind == "Task":
        return called(state, given, scope)
    return scope.data if kind in ("Pass", "Wait", "Succeed") else UNKNOWN


def _enter_map(state: JsonObject, scope: Scope, visit: Visit) -> None:
    reader, writer = as_object(state.get("ItemReader")), as_object(state.get("ResultWriter"))
    filled(reader.get("Arguments", {}), scope, parameters_of(reader.get("Resource")))
    filled(writer.get("Arguments", {}), scope)
    filled(as_object(state.get("ItemBatcher")).get("BatchInput", {}), scope)
    items = UNKNOWN if reader else _items(state.get("Items"), scope)
    item = part(items, (EACH,))
    given = item
    if "ItemSelector" in state:
        given = filled(state["ItemSelector"], replace(scope, item=item))
    visit.branches.append(repeated(state, given, item, items, scope.variables))


def _items(field: Json, scope: Scope) -> Value:
    if field is None:
        scope.note(scope.data, ITEMS)
        return scope.data
    text = expression_in(field)
    return filled(field, scope) if text is None else evaluated(text, scope, ITEMS)


def _choose(state: JsonObject, scope: Scope, visit: Visit) -> None:
    for rule in objects_in(state.get("Choices")):
        text, to = expression_in(rule.get("Condition")), next_of(rule)
        condition = Opaque() if text is None else condition_of(text, scope)
        visit.rules.append(Rule(condition, str(to)))
        visit.exits.append(_out(rule, scope, to, scope.data, must=False))
    if isinstance(default := state.get("Default"), str):
        visit.default = default
        visit.exits.append(_out(state, scope, default, scope.data, must=False))


def _out(state: JsonObject, scope: Scope, to: str | None, result: Value, *, must: bool = True) -> Exit:
    """Return a way out, after `Output` and `Assign`."""

    def fill(template: Json, scope: Scope) -> Value:
        return filled(template, scope, must=must)

    value = fill(state["Output"], scope) if "Output" in state else result
    return Exit(to, value, assigned(state, scope, fill))
