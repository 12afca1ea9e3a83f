"""Examples of what tasks answer, made from what a definition reads of their results. No I/O.

Every way through a definition is walked, the shortest one to a successful end first: its Choices decide which values
the examples have.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from stepwire.json_text import objects_in
from stepwire_local.account.tasks import Task
from stepwire_local.survey.expressions import Scope, steps_of
from stepwire_local.survey.shapes import MOMENT, Shape

_FAR: Final = 10_000  # more steps than a definition has states
_DEEPEST: Final = 8  # levels of states inside states
_VISITS: Final = 6  # of each state, by different ways; inside other states fewer, as those are visited so often

Answers = Callable[[Task], Shape | None]
"""Returns the shape of a task's answer; None if its result is nobody's to make up."""
Reader = Callable[[Task, Shape], None]
"""Lets the event of the function that a task calls have what its code reads."""


@dataclass
class Examples:
    """What one state machine reads. Answers are always the same for what has one stub."""

    machine: str
    answers: Answers
    reader: Reader = lambda _task, _event: None
    given: Shape = field(default_factory=Shape)
    """The input of its executions."""

    def read(self, definition: Mapping[str, Any]) -> None:
        """Walk through a definition."""
        self._run(definition, Scope(self.given, self.given), 0)

    def _run(self, program: Mapping[str, Any], scope: Scope, depth: int) -> Shape:
        """Return what a program ends with."""
        states = cast("Mapping[str, Any]", program.get("States", {}))
        far = _distances(states)
        waiting, visits, ends = [(str(program.get("StartAt")), scope)], dict[str, int](), list[Shape]()
        while waiting and depth < _DEEPEST:
            name, at = waiting.pop()
            state: Any = states.get(name)
            if not isinstance(state, Mapping) or visits.get(name, 0) >= max(1, _VISITS >> depth):
                continue
            visits[name] = visits.get(name, 0) + 1
            ways = list(self._visit(name, cast("dict[str, Any]", state), at, far, depth))
            ends += [after.data for to, after in ways if to is None]
            onward = [(to, after) for to, after in ways if to is not None]
            waiting += sorted(onward, key=lambda way: far.get(way[0], _FAR))[::-1]  # the last is taken first
        return ends[0] if ends else Shape()

    def _visit(
        self, name: str, state: dict[str, Any], scope: Scope, far: Mapping[str, int], depth: int
    ) -> Iterator[tuple[str | None, Scope]]:
        """Yield where a state leads to, and what is known there."""
        kind = state.get("Type")
        within = _path(scope, state.get("InputPath", "$"))
        if kind == "Choice":
            yield from _chosen(state, within, far)
            return
        for caught in objects_in(state.get("Catch")):
            error = Shape.of({"Error": "Error", "Cause": "cause"})
            after = _put(scope, caught.get("ResultPath", "$"), error)
            yield caught.get("Next"), after
        if kind == "Fail":
            return
        after = self._after(name, state, within, depth)
        yield (None if state.get("End") or kind == "Succeed" else state.get("Next")), after

    def _after(self, name: str, state: dict[str, Any], scope: Scope, depth: int) -> Scope:
        """Return what is known after a state."""
        result = self._result(name, state, scope, depth)
        finished = Scope(scope.data, scope.given, scope.variables, scope.item, result)
        if "ResultSelector" in state:
            result = scope.with_data(result).evaluated(state["ResultSelector"])
        assigned = {key.removesuffix(".$"): one for key, one in cast("dict[str, Any]", state.get("Assign", {})).items()}
        seen = finished if "Output" in state or "{%" in str(assigned) else scope.with_data(result)
        variables = {**scope.variables, **_members(seen, state.get("Assign", {}))}
        if "Output" in state:
            after = scope.with_data(finished.evaluated(state["Output"]))
        elif state.get("Type") in ("Wait", "Succeed"):
            after = scope
        else:
            after = _put(scope, state.get("ResultPath", "$"), result)
        after = _path(after, state.get("OutputPath", "$"))
        return Scope(after.data, scope.given, variables, scope.item)

    def _result(self, name: str, state: dict[str, Any], scope: Scope, depth: int) -> Shape:
        """Return what the work of a state gives."""
        kind = state.get("Type")
        if kind == "Map":
            return self._mapped(name, state, scope, depth)
        if kind == "Parallel":
            given = scope.with_data(_given(state, scope))
            outputs = [self._run(one, given, depth + 1) for one in objects_in(state.get("Branches"))]
            return Shape.array(*outputs)
        if kind == "Wait":
            _wait(state, scope)
        if kind == "Pass" and "Result" in state:
            return Shape.of(state["Result"])
        given = _given(state, scope)
        return self._answered(name, state, given) if kind == "Task" else given

    def _answered(self, name: str, state: dict[str, Any], given: Shape, *, is_reader: bool = False) -> Shape:
        parameters: Any = given.example()
        task = Task(self.machine, name, str(state.get("Resource", "")), _written(state, parameters), is_reader)
        if task.function is not None:
            self.reader(task, given.member("Payload") if task.is_integration else given)
        answer = self.answers(task) or Shape()
        if task.operation == "lambda.invoke" and task.is_integration and not task.awaits_token:
            return Shape.record({"Payload": answer, "StatusCode": Shape.of(200)})
        if task.nested is not None and ".sync" in task.resource:
            return Shape.record({"Output": answer, "Status": Shape.of("SUCCEEDED")})
        return answer

    def _mapped(self, name: str, state: dict[str, Any], scope: Scope, depth: int) -> Shape:
        for reader in objects_in(state.get("ItemReader")):
            items = self._answered(name, reader, scope.evaluated(reader.get("Parameters", {})), is_reader=True)
            break
        else:
            items = scope.at(state.get("ItemsPath", "$")) if "Items" not in state else scope.evaluated(state["Items"])
        item = items.item()
        inside = Scope(scope.data, scope.given, scope.variables, item)
        selector = state.get("ItemSelector", state.get("Parameters"))
        data = inside.evaluated(selector) if selector is not None else item
        for batcher in objects_in(state.get("ItemBatcher")):
            batch = {"Items": Shape.array(data), "BatchInput": scope.evaluated(batcher.get("BatchInput", {}))}
            data = Shape.record(batch)
        processors = (*objects_in(state.get("ItemProcessor")), *objects_in(state.get("Iterator")))
        return Shape.array(*(self._run(one, inside.with_data(data), depth + 1) for one in processors))


def _given(state: Mapping[str, Any], scope: Scope) -> Shape:
    """Return what a state's work is given."""
    template = state.get("Parameters", state.get("Arguments"))
    return scope.data if template is None else scope.evaluated(template)


def _written(state: Mapping[str, Any], parameters: Any) -> Mapping[str, Any]:
    """Return the parameters as the definition writes them, for names of functions and state machines."""
    for found in objects_in(state.get("Parameters", state.get("Arguments"))) or objects_in(parameters):
        return found
    return {}


def _members(scope: Scope, template: Any) -> dict[str, Shape]:
    shape = scope.evaluated(template)
    return {name.removesuffix(".$"): shape.member(name.removesuffix(".$")) for name in cast("dict[str, Any]", template)}


def _path(scope: Scope, path: Any) -> Scope:
    if path is None:
        return scope.with_data(Shape.of({}))
    return scope if path == "$" else scope.with_data(scope.at(str(path)))


def _put(scope: Scope, path: Any, part: Shape) -> Scope:
    return scope if path is None else scope.with_data(scope.data.with_part(steps_of(str(path)), part))


def _wait(state: Mapping[str, Any], scope: Scope) -> None:
    if "SecondsPath" in state:
        scope.at(state["SecondsPath"]).prefer(1)
    if "TimestampPath" in state:
        scope.at(state["TimestampPath"]).prefer(MOMENT)
    if isinstance(seconds := state.get("Seconds"), str):
        scope.evaluated(seconds).prefer(1)


# ------------------------------------------------------------------------------------------------------------ Choices


def _distances(states: Mapping[str, Any]) -> dict[str, int]:
    """Return how many states lie between each state and a successful end; those with none are left out."""
    known = {name: state for name, one in states.items() for state in objects_in(one)}
    leads = {name: _leads_to(one) for name, one in known.items()}
    far = {name: 0 for name, one in known.items() if one.get("End") or one.get("Type") == "Succeed"}
    for step in range(1, len(states) + 1):
        for name, ways in leads.items():
            if name not in far and any(far.get(way, _FAR) == step - 1 for way in ways):
                far[name] = step
    return far


def _leads_to(state: Any) -> list[str]:
    """Return the states that follow a state unless it fails."""
    found = [state.get("Next"), state.get("Default"), *(one.get("Next") for one in objects_in(state.get("Choices")))]
    return [one for one in found if isinstance(one, str)]


def _chosen(state: dict[str, Any], scope: Scope, far: Mapping[str, int]) -> Iterator[tuple[str | None, Scope]]:
    """Yield the ways of a Choice, after asking for values that take the shortest one to a successful end."""
    rules = objects_in(state.get("Choices"))
    ways = [str(rule.get("Next")) for rule in rules]
    best = min(range(len(rules)), key=lambda at: far.get(ways[at], _FAR), default=None)
    default = far.get(str(state.get("Default")), _FAR)
    if best is not None and far.get(ways[best], _FAR) <= default:
        _ask(rules[best], scope, wanted=True)
        rules = rules[:best] + rules[best + 1 :]
    for rule in rules:
        _ask(rule, scope, wanted=False)
    after = scope.with_data(scope.evaluated(state["Output"])) if "Output" in state else scope
    for way in (*ways, state.get("Default")):
        if isinstance(way, str):
            yield way, after


def _ask(rule: Mapping[str, Any], scope: Scope, *, wanted: bool) -> None:
    """Ask for values with which a rule holds, or does not."""
    if "Condition" in rule:
        for shape, operator, value in scope.comparisons(str(rule["Condition"])):
            holds = wanted is not operator.startswith("!")
            shape.prefer(_value(operator.lstrip("!"), value, wanted=holds))
        return
    for name, together in (("And", True), ("Or", False)):
        inner = objects_in(rule.get(name))
        for one in inner if wanted is together else inner[:1]:
            _ask(one, scope, wanted=wanted)
    for one in objects_in(rule.get("Not")):
        _ask(one, scope, wanted=not wanted)
    for operator, value in rule.items() if "Variable" in rule else ():
        if operator not in ("Variable", "Next", "Comment", "Assign", "Output"):
            _ask_of(scope.at(str(rule["Variable"])), operator, value, scope, wanted=wanted)


def _ask_of(shape: Shape, operator: str, value: Any, scope: Scope, *, wanted: bool) -> None:
    if operator == "IsPresent":
        shape.is_absent = shape.is_absent or (wanted is not value)
        return
    if operator.endswith("Path"):
        operator, other = operator.removesuffix("Path"), scope.at(str(value))
        other.prefer(_first(operator))
        value = other.value
    shape.prefer(_value(operator, value, wanted=wanted))


def _first(operator: str) -> Any:
    """Return a value that an operator can compare."""
    kinds = {"Numeric": 1, "Boolean": True, "Timestamp": MOMENT}
    return next((value for kind, value in kinds.items() if operator.startswith(kind)), "text")


_EXAMPLES: Final = {"IsNull": None, "IsString": "text", "IsNumeric": 1, "IsBoolean": True, "IsTimestamp": MOMENT}


def _value(operator: str, value: Any, *, wanted: bool) -> Any:
    """Return a value with which a comparison holds, or does not."""
    if operator in _EXAMPLES:
        holds = wanted is (value is True)
        return _EXAMPLES[operator] if holds else (None if operator != "IsNull" else "text")
    if operator == "StringMatches":
        return str(value).replace("*", "") if wanted else "other"
    if operator.startswith("Boolean"):
        return value if wanted else not value
    if operator.startswith("Numeric") and isinstance(value, int | float):
        near = {"NumericGreaterThan": 1, "NumericLessThan": -1}.get(operator, 0)
        past = {"NumericEquals": 1, "NumericGreaterThanEquals": -1, "NumericLessThanEquals": 1}.get(operator, 0)
        return value + (near if wanted else past)
    is_equal = operator.endswith("Equals")
    return value if wanted is is_equal else f"{value}~"
